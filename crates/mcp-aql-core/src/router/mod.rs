//! Routing: finds an operation by its name, and checks the endpoint.

mod profile;

use std::cmp::Ordering;
use std::sync::Arc;

use mcp_aql_protocol::{ErrorCode, is_text_name, probable_operation, search_operation, snake_case};

pub use profile::{EndpointMode, EndpointProfile, Family};

use crate::error::OperationError;
use crate::error::warning::Deprecation;
use crate::gatekeeper::GatedOperation;
use crate::operation::{OperationSpec, RegisteredOperation};
use crate::text::clean;

/// The endpoint that received a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// The tool of an endpoint family. The field is its index in the profile.
    Family(usize),
    /// The unified tool, or a call in the same process.
    Unified,
}

/// All operations by name. The registry does not change after the adapter is built.
pub struct Registry {
    /// Endpoint families.
    pub profile: EndpointProfile,
    /// All operations. The built-in ones come first.
    pub entries: Vec<Arc<Entry>>,
    /// Index of each operation, sorted by [`name_order`].
    by_name: Vec<(Arc<str>, usize)>,
    /// `true` if an operation runs as an execution. Servers ask for it with each call of a client that follows tasks.
    pub(crate) has_executions: bool,
    /// Tool names by family, followed by the name of the unified tool.
    pub tool_names: Vec<String>,
}

/// Orders names for the binary search: first by length, because this decides most comparisons, then by bytes. For the
/// number of names in an adapter, such a search takes less time than computing the hash of a name.
fn name_order(one: &str, other: &str) -> Ordering {
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

/// An operation and its family.
pub struct Entry {
    /// The operation with its gates.
    pub operation: GatedOperation,
    /// Index of its endpoint family in the profile.
    pub family: usize,
}

impl Entry {
    /// Returns the family of the endpoint if it does not offer the operation.
    fn other_family(&self, endpoint: Endpoint) -> Option<usize> {
        match endpoint {
            Endpoint::Family(family) => Some(family).filter(|family| *family != self.family),
            Endpoint::Unified => None,
        }
    }
}

impl Registry {
    pub(crate) fn new(
        profile: EndpointProfile,
        entries: impl IntoIterator<Item = Arc<Entry>>,
        tool_names: Vec<String>,
    ) -> Self {
        let entries: Vec<_> = entries.into_iter().collect();
        let named =
            |(index, entry): (usize, &Arc<Entry>)| (Arc::clone(&entry.operation.name), index);
        let mut by_name: Vec<_> = entries.iter().enumerate().map(named).collect();
        by_name.sort_unstable_by(|(one, _), (other, _)| name_order(one, other));
        let has_executions = entries.iter().any(|entry| entry.operation.spec.lifecycle.is_some());
        Self { profile, entries, by_name, has_executions, tool_names }
    }

    pub(crate) fn family_name(&self, family: usize) -> &str {
        self.profile.families.get(family).map_or("", |family| family.name.as_str())
    }

    fn tool_name(&self, family: usize) -> &str {
        self.tool_names.get(family).map_or("", String::as_str)
    }

    /// Returns the index of an operation among the entries.
    pub(crate) fn index_of(&self, name: &str) -> Option<usize> {
        let found = self.by_name.binary_search_by(|(known, _)| name_order(known, name));
        self.by_name.get(found.ok()?).map(|(_, index)| *index)
    }

    /// Returns the operation with this name.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        Some(&**self.entries.get(self.index_of(name)?)?)
    }

    /// Returns the index of the operation with this name, if it may be called through this endpoint (REQ-EPT-03,
    /// REQ-EPT-16).
    pub(crate) fn route(&self, name: &str, endpoint: Endpoint) -> Result<usize, OperationError> {
        let index = self.index_of(name);
        let found = index.and_then(|index| Some((index, self.entries.get(index)?)));
        let (index, entry) = found.ok_or_else(|| self.unknown(name))?;
        match entry.other_family(endpoint) {
            Some(family) => Err(self.mismatch(&entry.operation, family, entry.family)),
            None => Ok(index),
        }
    }

    /// Returns the operation that searches the resources of a list operation, and the name of its search parameter.
    /// Returns `None` unless there is exactly one.
    pub(crate) fn search_operation(&self, name: &str) -> Option<(String, String)> {
        let names = self.entries.iter().map(|entry| &*entry.operation.name);
        let found = &self.get(search_operation(name, names)?)?.operation;
        let text = found.parameters.iter().find(|parameter| is_text_name(&parameter.name))?;
        Some((found.name.to_string(), text.name.to_string()))
    }

    /// Returns the deprecation of an operation. It only names a replacement that the caller of this registry may call.
    pub(crate) fn deprecation(&self, spec: &OperationSpec) -> Option<Deprecation> {
        let mut deprecation = spec.deprecated?;
        deprecation.replacement.take_if(|name| self.index_of(name).is_none());
        Some(deprecation)
    }

    /// Creates `NOT_FOUND_OPERATION`. The error directs the client to introspection (REQ-ERR-10).
    fn unknown(&self, name: &str) -> OperationError {
        let near = probable_operation(name, self.entries.iter().map(|it| &*it.operation.name));
        let words = snake_case(name).replace('_', " ");
        let name = clean(name);
        let step = match near {
            Some(near) => format!("Did you mean '{near}'? Call introspect to list the operations"),
            None if words.trim().is_empty() => "Call introspect to list the operations".to_owned(),
            None => format!(
                "Call introspect to list the operations, or to find one: \
                 {{ query: 'operations', search: '{}' }}",
                clean(words.trim())
            ),
        };
        let mut error = OperationError::new(
            ErrorCode::NotFoundOperation,
            format!("Unknown operation: '{name}'. {step}"),
        )
        .with_detail("operation", name);
        if let Some(near) = near {
            error = error.with_detail("suggestion", near);
        }
        error
    }

    fn mismatch(
        &self,
        operation: &RegisteredOperation,
        actual: usize,
        expected: usize,
    ) -> OperationError {
        let name = &operation.name;
        let (right, wrong) = (self.tool_name(expected), self.tool_name(actual));
        OperationError::new(
            ErrorCode::ValidationEndpointMismatch,
            format!("Operation '{name}' belongs to tool '{right}', not to '{wrong}'. Call it through '{right}'"),
        )
        .with_detail("operation", name.to_string())
        .with_detail("expected_endpoint", self.family_name(expected))
        .with_detail("actual_endpoint", self.family_name(actual))
    }
}
