//! Parses the parameters of a collection query into a plan, and reports all errors at once.

mod aggregate;
mod condition;
mod faults;
mod fields;
mod filter;
mod filter_hints;
mod form;
mod map;
mod operand;
mod sort;
mod surface;
mod window;

use std::sync::Arc;

use serde_json::{Map, Value};

pub(crate) use aggregate::KEYS as AGGREGATE_KEYS;
pub(crate) use condition::operators;
pub(crate) use faults::QueryFaults;
pub(crate) use fields::{ResultKind, default_preset, preset_names, read_fields};
pub(crate) use filter::read_condition;
pub(crate) use form::{filter_form, sort_form};
pub(crate) use map::read_map;
pub(crate) use operand::noun;
pub(crate) use surface::QuerySurface;

use mcp_aql_core::{OperationError, Severity, Warning};

use super::entry::QueryParams;
use super::model::ResourceSchema;
use super::options::TextSearch;
use super::plan::{Aggregate, Applied, Plan, Seal, SortBy, SortKey};
use super::text::TextQuery;

/// Parses a collection query.
pub(crate) fn read_plan(
    surface: &QuerySurface<'_>,
    given: &mut QueryParams<'_>,
) -> Result<Plan, OperationError> {
    let mut faults = QueryFaults::default();
    let table = surface.table;
    let text = read_text(surface, given, &mut faults);
    let filter_value = given.take("filter");
    let filter = filter_value.as_ref().and_then(|value| filter::read(surface, value, &mut faults));
    let sort = sort::read(surface, given, text.is_some(), &mut faults);
    let search = surface.text() == TextSearch::Required;
    let selection = read_fields(
        surface,
        given,
        default_preset(if search { ResultKind::Search } else { ResultKind::Collection }),
        &mut faults,
    );
    let summary = read_summary(surface, given, &mut faults);
    let items = summary.items;
    let mut warnings = Vec::new();
    let purpose = purpose(table, &sort.keys, text.as_ref());
    let seal = Seal { key: given.key.clone(), purpose };
    let paged = window::read(surface, given, &seal, &sort.keys, &mut warnings, &mut faults);
    // Everything is read before the first error is returned, so that one error lists all mistakes.
    if let Some(error) = faults.into_error() {
        return Err(error);
    }
    // Without rows, these parameters have no effect. A warning is sufficient.
    if !items {
        let mut unused = paged.given;
        unused.extend(sort.given.then_some("sort"));
        unused.extend(selection.given.then_some("fields"));
        if !unused.is_empty() {
            warnings.push(unused_warning(&unused));
        }
    }
    given.warnings.append(&mut warnings);
    let applied = Applied {
        terms: text.as_ref().map(TextQuery::reported),
        filter: filter_value,
        sort: if items { sort::applied(table, &sort.keys) } else { Vec::new() },
        fields: items.then(|| selection.selection.reported.clone()),
        ..if items { paged.applied } else { Applied::default() }
    };
    Ok(Plan {
        text,
        filter,
        sort: sort.keys,
        selection: Arc::new(selection.selection),
        aggregate: summary.aggregate,
        include_items: items,
        window: paged.window,
        include_total_count: surface.options.count && items,
        applied: Arc::new(applied),
        seal: Arc::new(seal),
        odd: given.odd_values(),
    })
}

/// The aggregates of a call. `items` is `true` if it also requests rows.
struct SummaryPlan {
    aggregate: Vec<Aggregate>,
    items: bool,
}

fn read_summary(
    surface: &QuerySurface<'_>,
    given: &mut QueryParams<'_>,
    faults: &mut QueryFaults,
) -> SummaryPlan {
    let aggregate = given.take("aggregate");
    let include_items = given.take("include_items").and_then(|value| value.as_bool());
    if include_items == Some(true) && aggregate.is_none() {
        faults.refuse(
            "include_items",
            "is only valid with 'aggregate': leave it out, because rows are returned anyway",
            "only with 'aggregate'",
        );
    }
    let items = aggregate.is_none() || include_items == Some(true);
    let aggregate = aggregate.map(|value| aggregate::read(surface, &value, faults));
    SummaryPlan { aggregate: aggregate.unwrap_or_default(), items }
}

fn unused_warning(controls: &[&str]) -> Warning {
    Warning::new(
        "QUERY_CONTROL_UNUSED_WARNING",
        format!(
            "{} had no effect, because only aggregates are returned: add 'include_items': true to also get rows",
            controls.join(", ")
        ),
    )
    .severity(Severity::Low)
    .detail("controls", controls.to_vec())
}

fn read_text(
    surface: &QuerySurface<'_>,
    given: &mut QueryParams<'_>,
    faults: &mut QueryFaults,
) -> Option<TextQuery> {
    let value = given.take("query")?;
    let text = value.as_str().unwrap_or_default();
    if surface.free_text() {
        let query = TextQuery::free(text, MAX_TERMS);
        if query.is_none() {
            faults.refuse("query", "is blank", "a string to search for");
        }
        return query;
    }
    let query = TextQuery::parse(text);
    match &query {
        None => {
            faults.refuse("query", "has no word to search for", "a word or more");
        }
        Some(query) if query.terms.len() > MAX_TERMS => {
            let what = format!("has more than {MAX_TERMS} different words: search for fewer");
            faults.refuse("query", &what, format!("up to {MAX_TERMS} words"));
        }
        Some(_) => {}
    }
    query
}

/// Maximum number of search terms.
pub(crate) const MAX_TERMS: usize = 32;

/// Returns the purpose to which cursors are bound: a resource, an order and a search string.
///
/// The filter is not part of it. For example, cursors of tasks by descending due date and identifier have
/// this purpose:
///
/// ```text
/// Task-due+task_id
/// ```
fn purpose(table: &ResourceSchema, keys: &[SortKey], text: Option<&TextQuery>) -> String {
    let mut purpose = table.name.clone();
    for key in keys {
        purpose.push(if key.descending { '-' } else { '+' });
        match key.by {
            SortBy::Field(place) => {
                purpose.push_str(table.field(place).map_or("", |field| field.path.as_str()));
            }
            SortBy::Score => {
                if let Some(text) = text {
                    purpose.push(' ');
                    purpose.push_str(&text.purpose());
                }
            }
        }
    }
    purpose
}

/// Returns the members of an object, or reports an error.
fn object<'v>(
    param: &str,
    value: &'v Value,
    faults: &mut QueryFaults,
) -> Option<&'v Map<String, Value>> {
    let object = value.as_object();
    if object.is_none() {
        faults.wrong_type(param, "object", value);
    }
    object
}
