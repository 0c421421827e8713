//! Describes a query's parameters for introspection (REQ-COL-08, REQ-COL-11, REQ-COL-12).

use mcp_aql_core::constraint::Bound;
use mcp_aql_core::internal::schema::shape::{Checks, Kind, Members, ObjectShape, Rest, Shape};
use serde_json::{Value, json};

use super::brief;
use super::entry::{QueryParameter, QueryTable};
use super::example;
use super::field_info::FieldInfo;
use super::nested_names;
use super::options::{QueryControl, QueryOptions, TextSearch};

use super::read::{QuerySurface, filter_form, noun, operators, preset_names, sort_form};
use super::value::ValueKind;

/// Creates an optional parameter.
fn optional(name: &'static str, shape: Shape, description: impl Into<String>) -> QueryParameter {
    let description = description.into();
    QueryParameter { name, required: false, description, shape, type_name: None, default: None }
}

impl QueryTable {
    /// Adds an optional parameter.
    fn offer(&mut self, name: &'static str, shape: Shape, description: impl Into<String>) {
        self.parameters.push(optional(name, shape, description));
    }
}

fn text() -> Shape {
    Shape::of(Kind::String)
}

/// Returns the shape of an object whose members are validated by the query itself.
fn open_object() -> Shape {
    Shape::of(Kind::Object(Box::new(ObjectShape { rest: Rest::Open, ..ObjectShape::default() })))
}

/// Returns the shape of a row count.
fn count(least: i128) -> Shape {
    let checks =
        Checks { counts: least == 0, minimum: Some(Bound::Int(least)), ..Checks::default() };
    Shape { checks, ..Shape::of(Kind::Integer) }
}

fn either(one: Shape, other: Shape) -> Shape {
    Shape::of(Kind::Union(vec![one, other]))
}

fn array_of(entry: Shape) -> Shape {
    Shape::of(Kind::Array(Box::new(entry)))
}

/// Returns the parameters of a collection query.
pub(super) fn collection(surface: &QuerySurface<'_>) -> QueryTable {
    let table = surface.table;
    let name = table.name();
    let mut table = QueryTable { problems: surface.problems(), ..QueryTable::default() };
    let mut missing = Vec::new();
    match surface.text() {
        TextSearch::None => missing.push("query"),
        text_control => {
            table.parameters.push(QueryParameter {
                required: text_control == TextSearch::Required,
                ..query_parameter(surface)
            });
        }
    }
    if surface.has(QueryControl::Filter) {
        table.parameters.push(QueryParameter {
            type_name: Some(format!("{name}Filter")),
            ..optional(
                "filter",
                open_object().with_form(filter_form(surface)),
                filter_description(surface),
            )
        });
        table.nested_names.extend(nested_names::of_filter(surface));
        table.types.push((format!("{name}Filter"), filter_type(surface)));
    } else {
        missing.push("filter");
    }
    if surface.has(QueryControl::Sort) {
        sort(surface, &mut table);
    } else {
        missing.push("sort");
    }
    if surface.has(QueryControl::Fields) {
        let default = if surface.text() == TextSearch::Required { "minimal" } else { "standard" };
        select(surface, default, &mut table);
    } else {
        missing.push("fields");
    }
    if surface.has(QueryControl::Aggregate) {
        aggregate(surface, &mut table);
    } else {
        missing.push("aggregate");
    }
    pages(surface.options, &mut table);
    if !missing.is_empty() {
        table.note = Some(format!("Not offered: {}.", missing.join(", ")));
    }
    table.example = example::of(surface);
    table.brief = brief::of(surface, &table);
    table
}

/// Returns the parameter `query`.
fn query_parameter(surface: &QuerySurface<'_>) -> QueryParameter {
    let searched = surface.paths(|field| field.search).join(", ");
    let (longest, description) = if surface.free_text() {
        (10_000, format!("The text to search for in {searched}, in your own words; no operators."))
    } else {
        (
            500,
            format!(
                "Words to search for in {searched}. A row must contain one of them. Double quotes form a phrase; \
                 no other operators. Case and accents are ignored."
            ),
        )
    };
    let mut shape = text();
    shape.checks.min_length = Some(1);
    shape.checks.max_length = Some(longest);
    optional("query", shape, description)
}

/// Returns the parameter of an operation that returns a single resource.
pub(super) fn fields(surface: &QuerySurface<'_>) -> QueryTable {
    let mut table = QueryTable { problems: surface.problems(), ..QueryTable::default() };
    select(surface, "full", &mut table);
    table.brief = brief::of(surface, &table);
    table
}

fn filter_description(surface: &QuerySurface<'_>) -> String {
    let keys = surface.paths(|field| surface.filters(field)).join(", ");
    format!(
        "Conditions by key: a value to equal, a list to match one of, or an object of operators such as \
         {{\"gte\": …}}. 'and', 'or', 'not' combine conditions. Keys: {keys}."
    )
}

/// Describes one member of a type.
fn member(name: &str, type_name: &str, description: String) -> Members {
    let mut field = Members::new();
    field.put("name", name);
    field.put("type", type_name);
    field.put("required", false);
    field.put("description", description);
    field
}

fn filter_type(surface: &QuerySurface<'_>) -> Members {
    let mut fields: Vec<_> = surface
        .table
        .fields
        .iter()
        .filter(|field| surface.filters(field))
        .map(|field| member(&field.path, type_of(field), describe(field)))
        .collect();
    let group = format!("{}Filter", surface.table.name());
    fields.push(member("and", "array", format!("Each a {group}; all must hold.")));
    fields.push(member("or", "array", format!("Each a {group}; at least one must hold.")));
    fields.push(member("not", &group, "It must not hold.".to_owned()));
    object_type(
        &group,
        "The condition that rows must satisfy. Groups nest 8 deep; up to 100 conditions."
            .to_owned(),
        fields,
    )
}

fn type_of(field: &FieldInfo) -> &str {
    if field.list { "array" } else { field.type_name.as_str() }
}

fn describe(field: &FieldInfo) -> String {
    let mut text = field.description.trim().to_owned();
    let values = match field.kind {
        ValueKind::Choice => Some(format!("One of {}.", field.choices.join(", "))),
        ValueKind::Instant if !field.list => {
            Some(format!("A {}, or a date for the whole day in UTC.", noun(field.kind)))
        }
        ValueKind::Date | ValueKind::Instant => Some(format!("A {}.", noun(field.kind))),
        _ => None,
    };
    let operators = format!("Operators: {}.", operators(field).join(", "));
    for sentence in values.into_iter().chain([operators]) {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&sentence);
    }
    text
}

fn object_type(name: &str, description: String, fields: Vec<Members>) -> Members {
    let mut table = Members::new();
    table.put("name", name);
    table.put("kind", "object");
    table.put("description", description);
    table.put_list("fields", fields);
    table
}

fn sort(surface: &QuerySurface<'_>, table: &mut QueryTable) {
    let paths = surface.paths(|field| surface.sorts(field));
    let listed = paths.join(", ");
    let first = paths.first().copied().unwrap_or_default();
    let keys = surface.table.default_sort.iter().map(|key| match key.descending {
        true => format!("{} desc", key.field),
        false => key.field.to_owned(),
    });
    let usual = keys.collect::<Vec<_>>().join(", ");
    let usual = if usual.is_empty() { "by identifier".to_owned() } else { usual };
    let default = match surface.text() {
        TextSearch::None => usual,
        TextSearch::Optional => format!("{usual}; by relevance with 'query'"),
        TextSearch::Required => "by relevance".to_owned(),
    };
    let form = sort_form(surface);
    let key = || open_object().with_form(form.clone());
    let mut shape = either(key(), array_of(key()));
    let mut short = "";
    if surface.options.order {
        shape = Shape::of(Kind::Union(vec![key(), array_of(key()), text()]));
        short = " Or only a field name, with 'order'.";
    }
    let shape = shape.with_form(form.clone());
    table.nested_names.extend(nested_names::of_sort());
    table.offer("sort", shape, format!(
        "Such as {{\"field\": \"{first}\", \"order\": \"desc\"}}, or a list of them. Fields: {listed}. Missing values come last. Default: {default}.{short}"
    ));
    if surface.options.order {
        let mut shape = text();
        shape.checks.allowed = vec!["asc".into(), "desc".into()];
        table.offer("order", shape, "Direction if 'sort' is only a field name.");
    }
}

fn select(surface: &QuerySurface<'_>, default: &str, table: &mut QueryTable) {
    let presets = preset_names(surface.table);
    let computed: Vec<_> =
        surface.table.fields.iter().filter(|it| it.computed && surface.selects(&it.path)).collect();
    let also: String = computed.iter().map(|field| format!(", '{}'", field.path)).collect();
    let shown = surface.table.id.and_then(|id| surface.table.field(id));
    let shown = shown.or_else(|| surface.table.fields.first());
    let shown = shown.map_or("", |field| field.path.as_str());
    table.parameters.push(QueryParameter {
        type_name: Some("string or array".to_owned()),
        ..optional(
            "fields",
            either(text(), array_of(text()))
                .with_form(format!("'{}' or ['{shown}']", presets.join("'|'"))),
            format!(
                "A preset ({}; default {default}) or a list of paths of {} such as [\"{shown}\"]{also}.",
                presets.join(", "),
                surface.table.name(),
            ),
        )
    });
    if surface.options.preset {
        let mut shape = text();
        shape.checks.allowed = presets.iter().map(|name| Value::from(*name)).collect();
        table.offer("preset", shape, "The preset that 'fields' extends.");
    }
    table.computed.extend(computed.iter().map(|field| computed_field(surface, field)));
    table.types.push(("FieldSelection".to_owned(), field_selection()));
    table.capabilities.push("field_selection");
    if !computed.is_empty() {
        table.capabilities.push("computed_fields");
    }
}

fn computed_field(surface: &QuerySurface<'_>, field: &FieldInfo) -> Members {
    let name = field.path.split_once('.').map_or(field.path.as_str(), |(_, name)| name);
    let mut info = Members::new();
    info.put("name", name);
    info.put("type", type_of(field));
    let description = &field.description;
    info.put_some("description", (!description.is_empty()).then(|| description.clone()));
    info.put("filterable", surface.filters(field));
    info.put("sortable", surface.sorts(field));
    info
}

/// Describes the type of `fields`.
fn field_selection() -> Members {
    let fields = ["presets", "fields", "computed_fields"].map(|name| {
        let mut field = Members::new();
        field.put("name", name);
        field.put("type", "array");
        field.put("required", false);
        field.put("items", json!({ "type": "string" }));
        field
    });
    object_type(
        "FieldSelection",
        "The selection of 'fields': a preset, or paths; computed fields as '_computed.name'."
            .to_owned(),
        fields.into(),
    )
}

fn aggregate(surface: &QuerySurface<'_>, table: &mut QueryTable) {
    let of = |wanted: &dyn Fn(&FieldInfo) -> bool| {
        surface.paths(|field| wanted(field) && surface.selects(&field.path))
    };
    let groups = of(&|field| field.group);
    let numbers = of(&|field| field.numeric);
    let dates = of(&|field| field.supports_min_max() && !field.numeric);
    table.nested_names.extend(nested_names::of_aggregate());
    let mut functions = vec!["count"];
    if !groups.is_empty() {
        functions.push("group_by");
    }
    if !numbers.is_empty() {
        functions.extend(["sum", "avg"]);
    }
    if !numbers.is_empty() || !dates.is_empty() {
        functions.extend(["min", "max"]);
    }
    let (label, group) = match groups.first() {
        Some(group) => (format!("by_{}", group.replace('.', "_")), Some(group)),
        None => ("total".to_owned(), None),
    };
    let text = group.map(|group| format!("\"group_by\": \"{group}\", ")).unwrap_or_default();
    let shown = format!("{{\"{label}\": {{{text}\"count\": true}}}}");
    let text = group.map(|group| format!("group_by: '{group}', ")).unwrap_or_default();
    let form = format!("{{ {label}: {{ {text}count: true }} }}");
    let also = if dates.is_empty() {
        String::new()
    } else {
        format!(" min and max also of {}.", dates.join(", "))
    };
    table.offer(
        "aggregate",
        open_object().with_form(form),
        format!("Summaries of all matching rows, by your own labels, such as {shown}; functions: {}.{also}",
        functions.join(", ")),
    );
    let shape = Shape::of(Kind::Boolean);
    table.offer("include_items", shape, "Also return rows.");
    let mut support = Members::new();
    support.put("supported", true);
    support.put("default_mode", "summary_only");
    support.put("functions", functions);
    support.put("groupable_fields", groups);
    support.put("numeric_fields", numbers);
    table.details.insert("aggregation_support", support);
    table.capabilities.push("aggregations");
}

fn pages(options: &QueryOptions, table: &mut QueryTable) {
    let (size, most) = (options.usual_page(), options.largest_page());
    let first = format!("Rows per page (cursor paging); default {size}, maximum {most}.");
    table.offer("first", count(0), first);
    table.offer("after", text(), "'endCursor' of the previous page; with 'first'.");
    table.offer("last", count(0), "Rows per page, counted from the end.");
    table.offer("before", text(), "'startCursor' of the next page; with 'last'.");
    if options.offset {
        table.offer("limit", count(0), "Rows per page, without cursors.");
        table.offer("offset", count(0), "Rows to skip; with 'limit'.");
    }
    if options.page {
        table.offer("page", count(1), "Page number, without cursors.");
        table.offer("page_size", count(1), "Rows per page; with 'page'.");
    }
    table.capabilities.push("pagination");
}
