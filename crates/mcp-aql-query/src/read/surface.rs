//! Determines the query capabilities of a resource in an operation.

use mcp_aql_core::internal::schema::Projection;

use crate::capabilities::Capabilities;
use crate::field_info::FieldInfo;
use crate::model::{MemberTree, ResourceSchema};
use crate::options::{QueryControl, QueryOptions, TextSearch};

/// The query capabilities of a resource in an operation: the intersection of the resource, the operation's
/// options and the backend.
pub(crate) struct QuerySurface<'a> {
    pub(crate) table: &'a ResourceSchema,
    pub(crate) options: &'a QueryOptions,
    capabilities: &'a Capabilities,
    /// If `true`, the author of the adapter writes the condition. It may then name every field.
    of_author: bool,
}

impl<'a> QuerySurface<'a> {
    pub(crate) fn new(
        table: &'a ResourceSchema,
        options: &'a QueryOptions,
        capabilities: &'a Capabilities,
    ) -> Self {
        Self { table, options, capabilities, of_author: false }
    }

    /// Returns the capabilities for a condition written by the author of the adapter.
    pub(crate) fn of_author(
        table: &'a ResourceSchema,
        options: &'a QueryOptions,
        capabilities: &'a Capabilities,
    ) -> Self {
        Self { of_author: true, ..Self::new(table, options, capabilities) }
    }

    /// Returns the problems to report when the adapter is built.
    pub(crate) fn problems(&self) -> Vec<String> {
        let name = self.table.name();
        let mut problems = self.table.problems.clone();
        for key in &self.table.default_sort {
            let field = self.table.index_of(key.field).and_then(|place| self.table.field(place));
            if field.is_some_and(|field| !field.id && !self.sorts(field)) {
                problems.push(format!(
                    "resource `{name}`: `default_sort` names `{}`, but rows cannot be sorted by it: \
                     mark it `sort`, and check that the backend can sort by it",
                    key.field
                ));
            }
        }
        let known_names = self.capabilities.problems().iter();
        problems.extend(known_names.map(|problem| format!("the backend of `{name}`: {problem}")));
        if self.options.text == TextSearch::Required && self.text() == TextSearch::None {
            problems.push(format!(
                "an operation searches `{name}`, but no field can be searched: mark a field \
                 `#[resource(search)]`, and check that the backend can search it"
            ));
        }
        problems
    }

    pub(crate) fn has(&self, control: QueryControl) -> bool {
        let table = self.table;
        let any = |wanted: &dyn Fn(&FieldInfo) -> bool| table.fields.iter().any(wanted);
        !self.options.without.contains(&control)
            && match control {
                QueryControl::Filter => any(&|field| self.filters(field)),
                QueryControl::Sort => any(&|field| self.sorts(field)),
                QueryControl::Fields => true,
                QueryControl::Aggregate => self.capabilities.can_aggregate(),
            }
    }

    /// Returns the availability of the parameter `query`.
    pub(crate) fn text(&self) -> TextSearch {
        let searched = self.table.fields.iter().any(|field| field.search);
        if searched && self.capabilities.can_search() {
            self.options.text
        } else {
            TextSearch::None
        }
    }

    /// Returns `true` if the search string is passed on unchanged.
    pub(crate) fn free_text(&self) -> bool {
        self.capabilities.has_free_text()
    }

    pub(crate) fn filters(&self, field: &FieldInfo) -> bool {
        (field.filter || self.of_author) && self.capabilities.can_filter(&field.path)
    }

    pub(crate) fn sorts(&self, field: &FieldInfo) -> bool {
        field.sort && self.capabilities.can_sort(&field.path)
    }

    pub(crate) fn selects(&self, path: &str) -> bool {
        self.capabilities.can_select(path)
    }

    /// Returns the selectable parts of a field, or of the whole row if the path is empty.
    pub(crate) fn all_of(&self, path: &str, members: &MemberTree) -> Projection {
        let whole = members.known.is_empty()
            || members.paths().iter().all(|inner| {
                self.selects(&if path.is_empty() {
                    inner.clone()
                } else {
                    format!("{path}.{inner}")
                })
            });
        if whole {
            return Projection::All;
        }
        let inner = members.known.iter().filter_map(|(name, inner)| {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            self.selects(&path).then(|| (name.clone(), self.all_of(&path, inner)))
        });
        Projection::Members(inner.collect())
    }

    /// Returns the paths of the fields with a certain capability.
    pub(crate) fn paths(&self, wanted: impl Fn(&FieldInfo) -> bool) -> Vec<&'a str> {
        let fields = self.table.fields.iter().filter(|field| wanted(field));
        fields.map(|field| field.path.as_str()).collect()
    }
}
