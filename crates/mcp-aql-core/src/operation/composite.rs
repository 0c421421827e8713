//! Arguments that stand for several parameters and read them together.

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
use crate::schema::argument::Argument;
use crate::schema::shape::Members;

/// The definition of such an argument in an operation's table, for example of a
/// `CollectionQuery`.
pub trait CompositeSpec: fmt::Debug + Sync {
    /// Determines the parameters when the adapter is built. `key` makes the cursors of pages.
    fn bind(&self, key: &CursorKey) -> CompositeTable;
}

/// The parameters of a composite argument, and their description for introspection.
pub struct CompositeTable {
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// Reads the parameters of a call.
    pub reader: Box<dyn CompositeReader>,
    /// Types that the parameters refer to and that have no Rust type.
    pub types: Vec<(String, Members)>,
    /// The texts for introspection.
    pub description: CompositeDescription,
    /// Problems to report when the adapter is built.
    pub problems: Vec<String>,
}

/// The description of composite arguments beyond their parameters.
#[derive(Debug, Default)]
pub struct CompositeDescription {
    /// Members of the operation's details.
    pub details: Vec<(&'static str, Members)>,
    /// The computed fields.
    pub computed: Vec<Members>,
    /// The controls that the operation does not support.
    pub note: Option<String>,
    /// The members of an example call that combines the controls, as JSON text.
    pub example: Option<String>,
    /// Capabilities to list in `_protocol`.
    pub capabilities: Vec<&'static str>,
    /// The ways to request a smaller reply, as in "a smaller 'first'".
    pub reductions: Vec<&'static str>,
    /// The short form of the parameters, where operations are listed with theirs.
    pub brief: BriefParameters,
}

/// The short form of parameters that several operations have in common.
#[derive(Debug, Default)]
pub struct BriefParameters {
    /// The names of the parameters.
    pub names: Vec<&'static str>,
    /// The text in place of the parameters.
    pub text: String,
    /// The meanings of parts of the text. Each is shown once for all operations.
    pub meanings: Vec<&'static str>,
}

impl BriefParameters {
    /// Whether the text stands for the parameter with this name.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    /// Adds those of a further argument.
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
    /// `keep` is set, the parameters keep their values, because a gate or the log reads them afterwards.
    ///
    /// # Errors
    /// All faults of the parameters, in one error.
    fn read(
        &self,
        parameters: &mut [Argument],
        caller: Option<&Principal>,
        keep: bool,
    ) -> Result<CompositeValue, OperationError>;

    /// The names that callers may send as parameters although they belong inside one of this argument's
    /// parameters. `sent` has the names of the call's parameters. It is only called to explain an error.
    fn nested_names(&self, sent: &[&str]) -> Vec<NestedName> {
        let _ = sent;
        Vec::new()
    }
}

/// A name that belongs inside a parameter, such as a field that a list can be filtered by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NestedName {
    /// The name that callers may send.
    pub name: String,
    /// The parameter that it belongs inside.
    pub parameter: &'static str,
    /// The member of the parameter.
    pub member: String,
    /// The only value with which callers mean the member, if other values mean something else.
    pub value: Option<Value>,
}

impl NestedName {
    /// Whether a caller means the member by the name with this value.
    pub(crate) fn accepts(&self, value: &Value) -> bool {
        self.value.as_ref().is_none_or(|only| only == value)
    }
}

/// A composite argument that was read.
pub struct CompositeValue {
    /// The argument of the function.
    pub value: Box<dyn Any + Send>,
    /// The warnings about the parameters.
    pub warnings: Vec<Warning>,
    /// The warnings that are known once the reply is written.
    pub late_warnings: Vec<Arc<dyn LateWarning>>,
}

/// The composite arguments of an operation.
#[derive(Default)]
pub struct Composites {
    /// The readers, with the indexes of their parameters in the operation's table.
    readers: Vec<(Range<usize>, Box<dyn CompositeReader>)>,
    /// The texts for introspection.
    pub description: CompositeDescription,
}

/// The composite arguments of a call, in the order of the function's arguments.
#[derive(Debug)]
pub(crate) struct CompositeValues {
    /// Each with the number of its parameters.
    values: std::vec::IntoIter<(Box<dyn Any + Send>, usize)>,
    late_warnings: Vec<Arc<dyn LateWarning>>,
    reductions: Vec<&'static str>,
}

impl Composites {
    /// Adds an argument, with its parameters.
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

    /// Whether the parameter at this index belongs to a composite argument.
    pub(crate) fn contains(&self, place: usize) -> bool {
        self.readers.iter().any(|(places, _)| places.contains(&place))
    }

    /// Reads the composite arguments of a call from its validated arguments, see
    /// [`CompositeReader::read`]. Adds the warnings about them to `warnings`.
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
        // The log of calls reads the arguments as well. Without a reader the values are moved.
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

    /// Whether the operation has no composite argument.
    pub(crate) fn is_empty(&self) -> bool {
        self.readers.is_empty()
    }

    /// The names that belong inside parameters of composite arguments, see
    /// [`CompositeReader::nested_names`].
    pub(crate) fn nested_names(&self, sent: &[&str]) -> Vec<NestedName> {
        self.readers.iter().flat_map(|(_, reader)| reader.nested_names(sent)).collect()
    }
}

impl CompositeValues {
    /// The ways to request a smaller result, such as "fewer 'fields'", joined by "or".
    pub(crate) fn reductions(&self) -> Option<String> {
        (!self.reductions.is_empty()).then(|| self.reductions.join(" or "))
    }

    /// Adds advice to the error for a result that does not fit in a reply.
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

    /// The warnings about a reply that was written.
    pub(crate) fn warnings_of_reply(&self) -> impl Iterator<Item = Warning> {
        self.late_warnings.iter().filter_map(|late| late.warning())
    }

    /// Returns the next argument and the number of its parameters.
    pub(crate) fn next<T: 'static>(&mut self) -> Option<(T, usize)> {
        let (value, parameters) = self.values.next()?;
        Some((*value.downcast::<T>().ok()?, parameters))
    }
}
