//! Composite arguments: one argument of a function that stands for several parameters of the call.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use mcp_aql_protocol::ErrorCode;
use serde_json::Value;

use super::Parameter;
use crate::caller::principal::Principal;
use crate::error::OperationError;
use crate::error::warning::{LateWarning, Warning};
use crate::paging::CursorKey;
use crate::schema::Argument;
use crate::schema::shape::Members;

/// Defines a composite argument in an operation's table, for example a `CollectionQuery`.
pub trait CompositeSpec: fmt::Debug + Sync {
    /// Determines the parameters when the adapter is built. `key` signs the cursors of pages.
    fn bind(&self, key: &CursorKey) -> CompositeTable;
}

/// The parameters of a composite argument, and their description for introspection.
pub struct CompositeTable {
    /// The parameters that callers can send.
    pub parameters: Vec<Parameter>,
    /// Reads the parameters of a call.
    pub reader: Box<dyn CompositeReader>,
    /// Types that the parameters refer to, for which no Rust type exists.
    pub types: Vec<(String, Members)>,
    /// Description for introspection.
    pub description: CompositeDescription,
    /// Problems to report when the adapter is built.
    pub problems: Vec<String>,
}

/// Describes composite arguments beyond their parameters.
#[derive(Debug, Default)]
pub struct CompositeDescription {
    /// Members of the operation's details.
    pub details: Vec<(&'static str, Members)>,
    /// Computed fields.
    pub computed: Vec<Members>,
    /// A note on the controls that the operation does not support.
    pub note: Option<String>,
    /// Members of an example call that combines the controls, as JSON.
    pub example: Option<String>,
    /// Capabilities to list in `_protocol`.
    pub capabilities: Vec<&'static str>,
    /// Ways to request a smaller reply, for example "a smaller 'first'".
    pub reductions: Vec<&'static str>,
    /// Short form of the parameters, used in lists of operations with their parameters.
    pub brief: BriefParameters,
}

/// A short form that replaces parameters shared by several operations. It keeps lists of operations short.
#[derive(Debug, Default)]
pub struct BriefParameters {
    /// Names of the replaced parameters.
    pub names: Vec<&'static str>,
    /// String shown instead of the parameters.
    pub text: String,
    /// Explanations of parts of the string. Each one is shown once for all operations.
    pub meanings: Vec<&'static str>,
}

impl BriefParameters {
    /// Returns `true` if the short form replaces the parameter with this name.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    /// Adds the short form of another argument.
    fn extend(&mut self, other: Self) {
        self.names.extend(other.names);
        if !self.text.is_empty() && !other.text.is_empty() {
            self.text.push_str(", ");
        }
        self.text.push_str(&other.text);
        self.meanings.extend(other.meanings);
    }
}

/// Reads a composite argument from the parameters of a call.
pub trait CompositeReader: Send + Sync {
    /// Reads the argument from its validated parameters. `caller` is the authenticated caller, if there is one. If
    /// `keep` is `true`, the parameters keep their values, because a gate or the log reads them afterwards.
    ///
    /// # Errors
    ///
    /// Returns all mistakes in the parameters as one error.
    fn read(
        &self,
        parameters: &mut [Argument],
        caller: Option<&Principal>,
        keep: bool,
    ) -> Result<CompositeValue, OperationError>;

    /// Returns names that callers may send as parameters by mistake, although they belong inside a parameter of this
    /// argument.
    ///
    /// `sent` contains the names of the call's parameters. This method is only called to explain an error.
    fn nested_names(&self, sent: &[&str]) -> Vec<NestedName> {
        let _ = sent;
        Vec::new()
    }
}

/// A name that belongs inside a parameter, for example a field by which a list can be filtered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NestedName {
    /// Name that callers may send.
    pub name: String,
    /// Parameter that it belongs to.
    pub parameter: &'static str,
    /// Member of this parameter.
    pub member: String,
    /// If other values have another meaning, the only value with which callers mean the member.
    pub value: Option<Value>,
}

impl NestedName {
    /// Returns `true` if a caller who sends the name with this value means the member.
    pub(crate) fn accepts(&self, value: &Value) -> bool {
        self.value.as_ref().is_none_or(|only| only == value)
    }
}

/// A composite argument after it was read.
pub struct CompositeValue {
    /// Argument of the function.
    pub value: Box<dyn Any + Send>,
    /// Warnings about the parameters.
    pub warnings: Vec<Warning>,
    /// Warnings only known after the reply was written.
    pub late_warnings: Vec<Arc<dyn LateWarning>>,
}

/// The composite arguments of an operation.
#[derive(Default)]
pub struct Composites {
    /// Readers, with the indexes of their parameters in the operation's table.
    readers: Vec<(Range<usize>, Box<dyn CompositeReader>)>,
    /// Description for introspection.
    pub description: CompositeDescription,
}

/// The composite arguments of a call, in the order of the function's arguments.
#[derive(Debug)]
pub(crate) struct CompositeValues {
    /// Each value with the number of its parameters.
    values: std::vec::IntoIter<(Box<dyn Any + Send>, usize)>,
    late_warnings: Vec<Arc<dyn LateWarning>>,
    reductions: Vec<&'static str>,
}

impl Composites {
    /// Adds an argument and its parameters.
    pub(crate) fn add(
        &mut self,
        parameters: Vec<Parameter>,
        reader: Box<dyn CompositeReader>,
        description: CompositeDescription,
        all: &mut Vec<Parameter>,
    ) {
        let start = all.len();
        all.extend(parameters);
        self.readers.push((start..all.len(), reader));
        let CompositeDescription {
            details,
            computed,
            note,
            example,
            capabilities,
            reductions,
            brief,
        } = description;
        let own = &mut self.description;
        own.details.extend(details);
        own.computed.extend(computed);
        own.note = note.or(own.note.take());
        own.example = example.or(own.example.take());
        own.capabilities.extend(capabilities);
        own.reductions.extend(reductions);
        own.brief.extend(brief);
    }

    /// Returns `true` if the parameter at this index belongs to a composite argument.
    pub(crate) fn contains(&self, place: usize) -> bool {
        self.readers.iter().any(|(places, _)| places.contains(&place))
    }

    /// Reads the composite arguments of a call from its validated arguments, see [`CompositeReader::read`]. Adds
    /// warnings about them to `warnings`.
    pub(crate) fn read(
        &self,
        arguments: &mut [Argument],
        caller: Option<&Principal>,
        keep: bool,
        warnings: &mut Vec<Warning>,
    ) -> Result<Option<Box<CompositeValues>>, OperationError> {
        if self.readers.is_empty() {
            return Ok(None);
        }
        // The debug log of calls reads the arguments later, so they must be kept. Without it, they are moved.
        let keep = keep || tracing::enabled!(tracing::Level::DEBUG);
        let mut values = Vec::with_capacity(self.readers.len());
        let mut late_warnings = Vec::new();
        for (places, reader) in &self.readers {
            let parameters = arguments.get_mut(places.clone()).unwrap_or_default();
            let count = parameters.len();
            let read = reader.read(parameters, caller, keep)?;
            values.push((read.value, count));
            warnings.extend(read.warnings);
            late_warnings.extend(read.late_warnings);
        }
        let reductions = self.description.reductions.clone();
        let values = values.into_iter();
        Ok(Some(Box::new(CompositeValues { values, late_warnings, reductions })))
    }

    /// Returns `true` if the operation has no composite argument.
    pub(crate) fn is_empty(&self) -> bool {
        self.readers.is_empty()
    }

    /// Returns the names that belong inside parameters of composite arguments, see [`CompositeReader::nested_names`].
    pub(crate) fn nested_names(&self, sent: &[&str]) -> Vec<NestedName> {
        self.readers.iter().flat_map(|(_, reader)| reader.nested_names(sent)).collect()
    }
}

impl CompositeValues {
    /// Returns the ways to request a smaller result, joined with "or". An example is "fewer 'fields'".
    pub(crate) fn reductions(&self) -> Option<String> {
        (!self.reductions.is_empty()).then(|| self.reductions.join(" or "))
    }

    /// Adds advice to the error for a result that does not fit into a reply.
    pub(crate) fn explain(&self, error: OperationError) -> OperationError {
        let details = error.details();
        let is_of_reply = error.code() == ErrorCode::ValidationPayloadTooLarge
            && details.contains_key("operation_ran");
        if !is_of_reply || details.contains_key("fitting_page_size") {
            return error;
        }
        let Some(reductions) = self.reductions() else { return error };
        error.with_next_step(format_args!("Ask for {reductions}")).with_detail(
            "hint",
            format!("the result does not fit in one reply: ask for {reductions}"),
        )
    }

    pub(crate) fn has_late_warnings(&self) -> bool {
        self.late_warnings.iter().any(|late| late.is_possible())
    }

    /// Returns the warnings about a reply after it was written.
    pub(crate) fn warnings_of_reply(&self) -> impl Iterator<Item = Warning> {
        self.late_warnings.iter().filter_map(|late| late.warning())
    }

    /// Returns the next argument and the number of its parameters.
    pub(crate) fn next<T: 'static>(&mut self) -> Option<(T, usize)> {
        let (value, parameters) = self.values.next()?;
        Some((*value.downcast::<T>().ok()?, parameters))
    }
}
