//! What introspection tells of a query's parameters (REQ-COL-08, REQ-COL-11, REQ-COL-12).

use serde_json::{Value, json};

use super::entry::{QueryParameter, QueryTable};
use super::model::FieldInfo;
use super::options::{Control, QueryOptions, TextControl};
use super::read::{Offer, noun, operators, preset_names};
use super::value::ValueKind;
use crate::constraint::Bound;
use crate::shape::{Checks, Kind, Members, ObjectShape, Rest, Shape};

/// A parameter that a call may leave out.
fn optional(name: &'static str, shape: Shape, description: impl Into<String>) -> QueryParameter {
    let description = description.into();
    QueryParameter { name, required: false, description, shape, type_name: None, default: None }
}

fn text() -> Shape {
    Shape::of(Kind::String)
}

/// An object whose members the query looks at itself.
fn open_object() -> Shape {
    Shape::of(Kind::Object(Box::new(ObjectShape { rest: Rest::Open, ..ObjectShape::default() })))
}

/// A number of rows.
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

/// The parameters of a collection query.
pub(super) fn collection(offer: &Offer<'_>) -> QueryTable {
    let table = offer.table;
    let name = table.name();
    let mut told = QueryTable { problems: offer.problems(), ..QueryTable::default() };
    let mut missing = Vec::new();
    match offer.text() {
        TextControl::None => missing.push("query"),
        text_control => {
            let searched = offer.paths(|field| field.search).join(", ");
            let mut shape = text();
            shape.checks.min_length = Some(1);
            let (longest, description) = if offer.free_text() {
                (
                    10_000,
                    format!("What to look for in {searched}, in your own words; no operators."),
                )
            } else {
                (
                    500,
                    format!(
                        "Words to look for in {searched}: any of them will do, words in double quotes are one phrase; no other operators. Case and accents do not count."
                    ),
                )
            };
            shape.checks.max_length = Some(longest);
            told.parameters.push(QueryParameter {
                required: text_control == TextControl::Required,
                ..optional("query", shape, description)
            });
        }
    }
    if offer.has(Control::Filter) {
        told.parameters.push(QueryParameter {
            type_name: Some(format!("{name}Filter")),
            ..optional("filter", open_object(), filter_description(offer))
        });
        told.types.push((format!("{name}Filter"), filter_type(offer)));
    } else {
        missing.push("filter");
    }
    if offer.has(Control::Sort) {
        sort(offer, &mut told);
    } else {
        missing.push("sort");
    }
    if offer.has(Control::Fields) {
        let default = if offer.text() == TextControl::Required { "minimal" } else { "standard" };
        select(offer, default, &mut told);
    } else {
        missing.push("fields");
    }
    if offer.has(Control::Aggregate) {
        aggregate(offer, &mut told);
    } else {
        missing.push("aggregate");
    }
    pages(offer.options, &mut told);
    if !missing.is_empty() {
        told.note = Some(format!("Not offered: {}.", missing.join(", ")));
    }
    told.example = example(offer);
    told
}

/// The parameter of an operation that shows one resource.
pub(super) fn fields(offer: &Offer<'_>) -> QueryTable {
    let mut told = QueryTable { problems: offer.problems(), ..QueryTable::default() };
    select(offer, "full", &mut told);
    told
}

fn filter_description(offer: &Offer<'_>) -> String {
    let keys = offer.paths(|field| offer.filters(field)).join(", ");
    format!(
        "Conditions by key: a value must be equal, a list means any of, an object has operators such as {{\"gte\": …}}; 'and', 'or', 'not' combine. Keys: {keys}."
    )
}

/// One member of a type.
fn member(name: &str, type_name: &str, description: String) -> Members {
    let mut field = Members::new();
    field.put("name", name);
    field.put("type", type_name);
    field.put("required", false);
    field.put("description", description);
    field
}

fn filter_type(offer: &Offer<'_>) -> Members {
    let mut fields: Vec<_> = offer
        .table
        .fields
        .iter()
        .filter(|field| offer.filters(field))
        .map(|field| member(&field.path, type_of(field), describe(field)))
        .collect();
    let group = format!("{}Filter", offer.table.name());
    fields.push(member("and", "array", format!("Each a {group}; all hold.")));
    fields.push(member("or", "array", format!("Each a {group}; one holds or more.")));
    fields.push(member("not", &group, "It does not hold.".to_owned()));
    object_type(
        &group,
        "What rows must satisfy. Groups nest 8 deep; up to 100 conditions.".to_owned(),
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
            Some(format!("A {}, or a date, which is that whole day in UTC.", noun(field.kind)))
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
    let mut told = Members::new();
    told.put("name", name);
    told.put("kind", "object");
    told.put("description", description);
    told.put_list("fields", fields);
    told
}

fn sort(offer: &Offer<'_>, told: &mut QueryTable) {
    let paths = offer.paths(|field| offer.sorts(field));
    let listed = paths.join(", ");
    let first = paths.first().copied().unwrap_or_default();
    let keys = offer.table.default_sort.iter().map(|key| match key.descending {
        true => format!("{} desc", key.field),
        false => key.field.to_owned(),
    });
    let usual = keys.collect::<Vec<_>>().join(", ");
    let usual = if usual.is_empty() { "by identifier".to_owned() } else { usual };
    let default = match offer.text() {
        TextControl::None => usual,
        TextControl::Optional => format!("{usual}; by relevance with 'query'"),
        TextControl::Required => "by relevance".to_owned(),
    };
    let mut shape = either(open_object(), array_of(open_object()));
    let mut short = "";
    if offer.options.order {
        shape = Shape::of(Kind::Union(vec![open_object(), array_of(open_object()), text()]));
        short = " Also a field alone, with 'order' beside it.";
    }
    told.parameters.push(optional("sort", shape, format!(
        "Such as {{\"field\": \"{first}\", \"order\": \"desc\"}}, or a list of them. Fields: {listed}. Missing values come last. Default: {default}.{short}"
    )));
    if offer.options.order {
        let mut shape = text();
        shape.checks.allowed = vec!["asc".into(), "desc".into()];
        told.parameters.push(optional(
            "order",
            shape,
            "Direction of a 'sort' that is a field alone.",
        ));
    }
}

fn select(offer: &Offer<'_>, default: &str, told: &mut QueryTable) {
    let presets = preset_names(offer.table);
    let computed: Vec<_> =
        offer.table.fields.iter().filter(|it| it.computed && offer.selects(&it.path)).collect();
    let also: String = computed.iter().map(|field| format!(", '{}'", field.path)).collect();
    let shown = offer.table.id.and_then(|id| offer.table.field(id));
    let shown = shown.or_else(|| offer.table.fields.first());
    let shown = shown.map_or("", |field| field.path.as_str());
    told.parameters.push(QueryParameter {
        type_name: Some("string or array".to_owned()),
        ..optional(
            "fields",
            either(text(), array_of(text())),
            format!(
                "A preset ({}; default {default}) or a list of paths of {} such as [\"{shown}\"]{also}.",
                presets.join(", "),
                offer.table.name(),
            ),
        )
    });
    if offer.options.preset {
        let mut shape = text();
        shape.checks.allowed = presets.iter().map(|name| Value::from(*name)).collect();
        told.parameters.push(optional("preset", shape, "A preset that 'fields' adds to."));
    }
    for field in &computed {
        let name = field.path.split_once('.').map_or(field.path.as_str(), |(_, name)| name);
        let mut info = Members::new();
        info.put("name", name);
        info.put("type", type_of(field));
        info.put_some(
            "description",
            (!field.description.is_empty()).then(|| field.description.clone()),
        );
        info.put("filterable", offer.filters(field));
        info.put("sortable", offer.sorts(field));
        told.computed.push(info);
    }
    told.types.push((
        "FieldSelection".to_owned(),
        object_type(
            "FieldSelection",
            "What 'fields' chooses from: a preset, or paths; computed fields as '_computed.name'."
                .to_owned(),
            ["presets", "fields", "computed_fields"]
                .into_iter()
                .map(|name| {
                    let mut field = Members::new();
                    field.put("name", name);
                    field.put("type", "array");
                    field.put("required", false);
                    field.put("items", json!({ "type": "string" }));
                    field
                })
                .collect(),
        ),
    ));
    told.capabilities.push("field_selection");
    if !computed.is_empty() {
        told.capabilities.push("computed_fields");
    }
}

fn aggregate(offer: &Offer<'_>, told: &mut QueryTable) {
    let of = |wanted: &dyn Fn(&FieldInfo) -> bool| {
        offer.paths(|field| wanted(field) && offer.selects(&field.path))
    };
    let groups = of(&|field| field.group);
    let numbers = of(&|field| field.numeric);
    let dates = of(&|field| field.has_extremes() && !field.numeric);
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
    let shown = match groups.first() {
        Some(group) => format!(
            "{{\"by_{0}\": {{\"group_by\": \"{0}\", \"count\": true}}}}",
            group.replace('.', "_")
        ),
        None => "{\"total\": {\"count\": true}}".to_owned(),
    };
    let also = if dates.is_empty() {
        String::new()
    } else {
        format!(" min and max also of {}.", dates.join(", "))
    };
    told.parameters.push(optional(
        "aggregate",
        open_object(),
        format!("Summaries of all rows that match, by labels of yours, such as {shown}; functions: {}.{also}",
        functions.join(", ")),
    ));
    let shape = Shape::of(Kind::Boolean);
    told.parameters.push(optional("include_items", shape, "Rows beside the summaries."));
    let mut support = Members::new();
    support.put("supported", true);
    support.put("default_mode", "summary_only");
    support.put("functions", functions);
    support.put("groupable_fields", groups);
    support.put("numeric_fields", numbers);
    told.details.insert("aggregation_support", support);
    told.capabilities.push("aggregations");
}

fn pages(options: &QueryOptions, told: &mut QueryTable) {
    let (size, most) = (options.usual_page(), options.largest_page());
    told.parameters.push(optional(
        "first",
        count(0),
        format!("Rows on the page (cursor paging); default {size}, at most {most}."),
    ));
    told.parameters.push(optional(
        "after",
        text(),
        "'endCursor' of the page before; with 'first'.",
    ));
    told.parameters.push(optional("last", count(0), "Rows from the end instead."));
    told.parameters.push(optional(
        "before",
        text(),
        "'startCursor' of the page behind; with 'last'.",
    ));
    if options.offset {
        told.parameters.push(optional("limit", count(0), "Rows on the page, instead of a cursor."));
        told.parameters.push(optional("offset", count(0), "Rows to pass over; with 'limit'."));
    }
    if options.page {
        told.parameters.push(optional(
            "page",
            count(1),
            "Number of the page, instead of a cursor.",
        ));
        told.parameters.push(optional("page_size", count(1), "Rows on the page; with 'page'."));
    }
    told.capabilities.push("pagination");
}

/// A call that uses the controls together.
fn example(offer: &Offer<'_>) -> Option<String> {
    let table = offer.table;
    let mut params = Vec::new();
    let mut add = |name: &str, value: &Value| params.push(format!("\"{name}\":{value}"));
    if offer.text() != TextControl::None {
        add("query", &json!("some words"));
    }
    let filters = table.fields.iter().filter(|field| offer.filters(field));
    // The more kinds of values tell, the better they show.
    let telling = |field: &&FieldInfo| match field.kind {
        ValueKind::Choice => 0,
        ValueKind::Integer | ValueKind::Number | ValueKind::Date | ValueKind::Instant => 1,
        _ => 2,
    };
    let telling = filters.filter(|field| sample(field).is_some()).min_by_key(telling);
    if let Some((path, value)) = telling.and_then(|field| Some((&field.path, sample(field)?))) {
        add("filter", &json!({ path.as_str(): value }));
    }
    if let Some(path) = offer.paths(|field| offer.sorts(field) && !field.computed).last() {
        add("sort", &json!({ "field": path, "order": "desc" }));
    }
    if offer.has(Control::Fields) {
        add("fields", &json!("minimal"));
    }
    let group = table.fields.iter().find(|field| field.group && offer.selects(&field.path));
    if let Some(group) = group.filter(|_| offer.has(Control::Aggregate)) {
        let label = format!("by_{}", group.path.replace('.', "_"));
        add("aggregate", &json!({ label: { "group_by": group.path, "count": true } }));
        add("include_items", &json!(true));
    }
    add("first", &json!(10));
    Some(format!("{{{}}}", params.join(",")))
}

/// A value that a filter on this field takes.
fn sample(field: &FieldInfo) -> Option<Value> {
    Some(match field.kind {
        ValueKind::Choice => field.choices.first()?.clone().into(),
        ValueKind::Integer | ValueKind::Number if !field.list => json!({ "gte": 2 }),
        ValueKind::Boolean if !field.list => json!(true),
        ValueKind::Date if !field.list => json!({ "lt": "2031-05-06" }),
        ValueKind::Instant if !field.list => json!({ "gte": "2031-05-06T07:00:00Z" }),
        ValueKind::Text => json!("example"),
        _ => return None,
    })
}
