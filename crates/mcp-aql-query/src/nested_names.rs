//! Names that callers send as parameters although they belong inside one.
//!
//! For example, the first call means the second one, and its error says so:
//!
//! ```json
//! { "status": "open" }
//! { "filter": { "status": "open" } }
//! ```

use mcp_aql_core::internal::operation::NestedName;
use serde_json::Value;

use super::read::{AGGREGATE_KEYS, QuerySurface};

fn nested(name: &str, parameter: &'static str, member: &str) -> NestedName {
    NestedName { name: name.to_owned(), parameter, member: member.to_owned(), value: None }
}

/// Returns the keys of `filter`.
pub(super) fn of_filter(surface: &QuerySurface<'_>) -> Vec<NestedName> {
    let paths = surface.paths(|field| surface.filters(field));
    let name = |name: &str, path: &str| nested(name, "filter", path);
    let groups = ["and", "or", "not"];
    let mut names: Vec<_> = paths.iter().chain(&groups).map(|path| name(path, path)).collect();
    for path in &paths {
        let Some((_, last)) = path.rsplit_once('.') else { continue };
        let is_unique = |path: &&&str| path.rsplit('.').next() == Some(last);
        if paths.iter().filter(is_unique).count() == 1 {
            names.push(name(last, path));
        }
    }
    names
}

/// Returns the members of `sort`, also under the names used by other APIs.
pub(super) fn of_sort() -> [NestedName; 4] {
    [("field", "field"), ("order", "order"), ("direction", "order"), ("sort_order", "order")]
        .map(|(name, member)| nested(name, "sort", member))
}

/// Returns the functions of `aggregate`.
pub(super) fn of_aggregate() -> [NestedName; AGGREGATE_KEYS.len()] {
    AGGREGATE_KEYS.map(|name| {
        // Other APIs call the size of a page `count`. For an aggregate its value can only be `true`.
        let value = (name == "count").then_some(Value::Bool(true));
        NestedName { value, ..nested(name, "aggregate.total", name) }
    })
}
