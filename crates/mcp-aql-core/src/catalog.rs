//! The operations of an adapter with their descriptions.

use mcp_aql_rank::operations::OperationIndex;

use crate::introspection::{self, Introspection, Source};
use crate::router::{EndpointMode, Registry};
use crate::shape::{Members, Shapes};

/// The operations of an adapter, the shapes of their types, and their descriptions. It does not change after
/// the adapter is built.
pub(crate) struct Catalog {
    pub(crate) registry: Registry,
    pub(crate) shapes: Shapes,
    /// The descriptions in the order of the operations.
    pub(crate) descriptions: Vec<Description>,
    pub(crate) introspection: Introspection,
    pub(crate) mode: EndpointMode,
}

/// The parts of an operation's description that are not in its table.
pub(crate) struct Description {
    pub(crate) returns: Members,
    /// The examples: a description and the JSON text of `params`.
    pub(crate) examples: Vec<(String, String)>,
    /// The JSON text of `params` of a sample call, if there is one.
    pub(crate) sample: Option<String>,
}

impl Catalog {
    /// The JSON text of `params` of a sample call of an operation.
    pub(crate) fn sample(&self, name: &str) -> Option<&str> {
        self.descriptions.get(self.registry.place_of(name)?)?.sample.as_deref()
    }
}

/// Renders descriptions when they are first requested.
impl Source for Catalog {
    fn has(&self, name: &str) -> bool {
        self.registry.place_of(name).is_some()
    }

    fn in_brief(&self, index: usize) -> String {
        let entry = self.registry.entries.get(index);
        entry.map_or_else(String::new, |entry| {
            let family = self.registry.family_name(entry.family);
            introspection::list_entry_in_brief(&entry.operation, family, &self.shapes)
        })
    }

    fn in_full(&self, name: &str) -> Option<&str> {
        let index = self.registry.place_of(name)?;
        let listed = self.introspection.operations.get(index)?;
        let entry = self.registry.entries.get(index)?;
        let description = self.descriptions.get(index)?;
        Some(listed.in_full.get_or_init(|| {
            let tools = &self.registry.tool_names;
            let tool = match self.mode {
                EndpointMode::Single => tools.last(),
                EndpointMode::Semantic | EndpointMode::All => tools.get(entry.family),
            };
            introspection::details(
                &entry.operation,
                self.registry.family_name(entry.family),
                tool.map_or("", String::as_str),
                &description.returns,
                &description.examples,
                &self.shapes,
            )
        }))
    }

    fn search_index(&self) -> OperationIndex {
        let operations = self.registry.entries.iter().zip(&self.descriptions);
        OperationIndex::new(operations.map(|(entry, description)| {
            introspection::document(&entry.operation, &description.examples, &self.shapes)
        }))
    }
}
