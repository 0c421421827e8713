//! The descriptions of operations and types for introspection, which are generated on demand.

use super::Inner;
use crate::introspection::{self, Source};
use crate::router::EndpointMode;
use crate::shape::Members;

/// The parts of an operation's description that are not in its table.
pub(crate) struct Shown {
    pub(crate) returns: Members,
    /// The examples: a description and the JSON text of `params`.
    pub(crate) examples: Vec<(String, String)>,
    /// The JSON text of `params` of a sample call, if there is one.
    pub(crate) sample: Option<String>,
}

impl Source for Inner {
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
        let shown = self.shown.get(index)?;
        Some(listed.in_full.get_or_init(|| {
            let tools = &self.registry.tool_names;
            let tool = match self.settings.mode {
                EndpointMode::Single => tools.last(),
                EndpointMode::Semantic | EndpointMode::All => tools.get(entry.family),
            };
            introspection::details(
                &entry.operation,
                self.registry.family_name(entry.family),
                tool.map_or("", String::as_str),
                &shown.returns,
                &shown.examples,
                &self.shapes,
            )
        }))
    }
}

impl Inner {
    /// The JSON text of `params` of a sample call of an operation.
    pub(crate) fn sample(&self, name: &str) -> Option<&str> {
        self.shown.get(self.registry.place_of(name)?)?.sample.as_deref()
    }
}
