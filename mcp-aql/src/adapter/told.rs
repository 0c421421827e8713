//! What the adapter tells of its operations and types, written when somebody asks for it.

use super::Inner;
use crate::introspection::{self, Source};
use crate::router::EndpointMode;
use crate::shape::Members;

/// What introspection shows of one operation besides its table.
pub(crate) struct Shown {
    pub(crate) returns: Members,
    /// Calls, each a description and the JSON text of its `params`.
    pub(crate) examples: Vec<(String, String)>,
    /// The JSON text of a call's `params`, for those who want one in any case.
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
    /// A call of an operation, as the JSON text of its `params`.
    pub(crate) fn sample(&self, name: &str) -> Option<&str> {
        self.shown.get(self.registry.place_of(name)?)?.sample.as_deref()
    }
}
