//! The short form of a query's parameters, used in lists of operations.

use mcp_aql_core::internal::operation::BriefParameters;

use super::entry::QueryTable;
use super::field_info::FieldInfo;
use super::options::QueryControl;
use super::read::{QuerySurface, preset_names};
use super::value::ValueKind;

/// The parameters that every query is assumed to have. The short form names the ones an operation lacks.
const COMMON: [&str; 9] =
    ["filter", "sort", "fields", "aggregate", "include_items", "first", "after", "last", "before"];

/// The parts of a query that an operation can lack. Each is the name of a parameter.
const PARTS: [&str; 4] = ["filter", "sort", "fields", "aggregate"];

/// The presets of every resource. They are explained once, in the meaning of `fields`.
const STANDARD_PRESETS: [&str; 3] = ["minimal", "standard", "full"];

/// The meanings of the parameters, shared by all queries. They therefore contain no names of a particular
/// resource.
const MEANINGS: [(&str, &str); 9] = [
    (
        "filter",
        "filter { field: value, [values] or { eq|ne|gt|gte|lt|lte|in|nin|contains|starts_with|exists: … } }, \
         combined by and, or, not",
    ),
    ("sort", "sort { field, order: asc|desc } or a list"),
    ("order", "order asc|desc if sort is only a field"),
    ("fields", "fields minimal|standard|full or a list"),
    ("preset", "preset, extended by fields"),
    (
        "aggregate",
        "aggregate { label: { group_by: field, count: true, sum|avg|min|max: field } }, with \
         include_items: true also rows",
    ),
    ("first", "first with after, last with before: pages by cursor"),
    ("limit", "limit with offset"),
    ("page", "page with page_size"),
];

/// Returns the short form of a query's parameters, for example:
///
/// ```text
/// query parameters without aggregate over title, status open|closed; sort also priority
/// ```
///
/// The parameter `query` is not part of it: its description depends on the resource.
pub(super) fn of(surface: &QuerySurface<'_>, table: &QueryTable) -> BriefParameters {
    let names: Vec<_> =
        table.parameters.iter().map(|it| it.name).filter(|name| *name != "query").collect();
    let is_collection = names.contains(&"first");
    let others = names.iter().filter(|name| !is_collection || !COMMON.contains(name));
    let others: Vec<_> = others.map(|name| format!("{name}?")).collect();
    let mut text = others.join(", ");
    if is_collection {
        text.push_str(if text.is_empty() { "" } else { ", " });
        text.push_str("query parameters");
        let lacking: Vec<_> = PARTS.into_iter().filter(|part| !names.contains(part)).collect();
        if !lacking.is_empty() {
            text.push_str(" without ");
            text.push_str(&lacking.join(", "));
        }
        text.push_str(&fields(surface));
    }
    let meanings = MEANINGS.iter().filter(|(name, _)| names.contains(name));
    BriefParameters { meanings: meanings.map(|(_, meaning)| *meaning).collect(), names, text }
}

/// Lists the fields accepted by a query, with their types.
fn fields(surface: &QuerySurface<'_>) -> String {
    let all = &surface.table.fields;
    let filtered = surface.has(QueryControl::Filter);
    let sorts = |field: &FieldInfo| surface.has(QueryControl::Sort) && surface.sorts(field);
    let is_listed = |field: &&FieldInfo| match filtered {
        true => surface.filters(field),
        false => sorts(field),
    };
    let listed: Vec<_> = all.iter().filter(is_listed).map(with_type).collect();
    let sorted_only = |field: &&FieldInfo| filtered && sorts(field) && !surface.filters(field);
    let sorted: Vec<_> = all.iter().filter(sorted_only).map(|it| it.path.as_str()).collect();
    let selected = |field: &&FieldInfo| {
        field.computed && !surface.filters(field) && surface.selects(&field.path)
    };
    let selected = all.iter().filter(selected).map(|it| it.path.as_str());
    let presets =
        preset_names(surface.table).into_iter().filter(|it| !STANDARD_PRESETS.contains(it));
    let selected: Vec<_> = match surface.has(QueryControl::Fields) {
        true => presets.chain(selected).collect(),
        false => Vec::new(),
    };
    let mut text = String::new();
    for (label, names) in [
        (" over ", listed.join(", ")),
        ("; sort also ", sorted.join(", ")),
        ("; fields also ", selected.join(", ")),
    ] {
        if !names.is_empty() {
            text.push_str(label);
            text.push_str(&names);
        }
    }
    text
}

fn with_type(field: &FieldInfo) -> String {
    let kind = match field.kind {
        ValueKind::Boolean => "boolean",
        ValueKind::Integer => "integer",
        ValueKind::Number => "number",
        ValueKind::Text => "string",
        ValueKind::Choice => &field.choices.join("|"),
        ValueKind::Date => "date",
        ValueKind::Instant => "date-time",
        ValueKind::Json => "any",
    };
    match (field.list, field.kind) {
        (false, ValueKind::Text) => field.path.clone(),
        (true, ValueKind::Choice) => format!("{} ({kind})[]", field.path),
        (true, _) => format!("{} {kind}[]", field.path),
        (false, _) => format!("{} {kind}", field.path),
    }
}
