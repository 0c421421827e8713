//! Parses the parameters of a collection query into a plan, and reports all faults at once.

mod aggregate;
mod fields;
mod filter;
mod map;
mod operand;
mod sort;
mod window;

use std::collections::BTreeSet;
use std::sync::Arc;

use mcp_aql_protocol::ErrorCode;
use serde_json::{Map, Value};

pub(crate) use fields::{ResultKind, default_preset, preset_names, read_fields};
pub(crate) use filter::operators;
pub(crate) use map::read_map;
pub(crate) use operand::noun;

use super::capabilities::Capabilities;
use super::entry::QueryParams;
use super::field_info::FieldInfo;
use super::model::{Members, Table};
use super::options::{Control, QueryOptions, TextControl};
use super::plan::{Plan, Seal, SortBy, SortKey};
use super::text::TextQuery;
use crate::error::OperationError;
use crate::paging::Contradiction;
use crate::projection::Projection;
use crate::query::applied::Applied;
use crate::text::clean;
use crate::warning::{Severity, Warning};
use mcp_aql_protocol::nearest_name;

/// The query capabilities of a resource in an operation.
pub(crate) struct QuerySurface<'a> {
    pub(crate) table: &'a Table,
    pub(crate) options: &'a QueryOptions,
    capabilities: &'a Capabilities,
}

impl<'a> QuerySurface<'a> {
    pub(crate) fn new(
        table: &'a Table,
        options: &'a QueryOptions,
        capabilities: &'a Capabilities,
    ) -> Self {
        Self { table, options, capabilities }
    }

    /// Problems to report when the adapter is built.
    pub(crate) fn problems(&self) -> Vec<String> {
        let name = self.table.name();
        let mut problems = self.table.problems.clone();
        for key in &self.table.default_sort {
            let field = self.table.find(key.field).and_then(|place| self.table.field(place));
            if field.is_some_and(|field| !field.id && !self.sorts(field)) {
                problems.push(format!(
                    "resource `{name}`: `default_sort` names `{}`, which cannot be sorted by here: \
                     mark it `sort`, and see that the backend can sort by it",
                    key.field
                ));
            }
        }
        let known_names = self.capabilities.problems().iter();
        problems.extend(known_names.map(|problem| format!("the backend of `{name}`: {problem}")));
        if self.options.text == TextControl::Required && self.text() == TextControl::None {
            problems.push(format!(
                "an operation searches `{name}` and nothing can be searched: mark a field \
                 `#[resource(search)]`, and see that the backend can search it"
            ));
        }
        problems
    }

    pub(crate) fn has(&self, control: Control) -> bool {
        let table = self.table;
        let any = |wanted: &dyn Fn(&FieldInfo) -> bool| table.fields.iter().any(wanted);
        !self.options.without.contains(&control)
            && match control {
                Control::Filter => any(&|field| self.filters(field)),
                Control::Sort => any(&|field| self.sorts(field)),
                Control::Fields => true,
                Control::Aggregate => self.capabilities.can_aggregate(),
            }
    }

    /// Whether the parameter `query` exists, and whether it is required.
    pub(crate) fn text(&self) -> TextControl {
        let searched = self.table.fields.iter().any(|field| field.search);
        if searched && self.capabilities.can_search() {
            self.options.text
        } else {
            TextControl::None
        }
    }

    /// Whether the search text is passed on as it was written.
    pub(crate) fn free_text(&self) -> bool {
        self.capabilities.has_free_text()
    }

    pub(crate) fn filters(&self, field: &FieldInfo) -> bool {
        field.filter && self.capabilities.can_filter(&field.path)
    }

    pub(crate) fn sorts(&self, field: &FieldInfo) -> bool {
        field.sort && self.capabilities.can_sort(&field.path)
    }

    pub(crate) fn selects(&self, path: &str) -> bool {
        self.capabilities.can_select(path)
    }

    /// Everything that can be selected of a field, or of the whole row if the path is empty.
    pub(crate) fn all_of(&self, path: &str, members: &Members) -> Projection {
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

    /// The paths of the fields with a certain capability.
    pub(crate) fn paths(&self, wanted: impl Fn(&FieldInfo) -> bool) -> Vec<&'a str> {
        let fields = self.table.fields.iter().filter(|field| wanted(field));
        fields.map(|field| field.path.as_str()).collect()
    }
}

/// A fault of a query.
#[derive(Debug)]
pub(crate) struct QueryFault {
    param: String,
    /// The complete error message.
    message: String,
    kind: FaultKind,
}

#[derive(Debug)]
enum FaultKind {
    /// A value of the wrong type: the expected and the actual type.
    Type(String, String),
    /// An invalid value: the expectation, and the names to choose from.
    Value(String, Vec<String>),
    /// Page controls that exclude each other.
    Paging(Contradiction),
}

/// The faults found so far.
#[derive(Debug, Default)]
pub(crate) struct QueryFaults(Vec<QueryFault>);

/// The maximum number of reported faults, which bounds the size of the reply.
const MAX_FAULTS: usize = 20;

impl QueryFaults {
    /// Whether the limit is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= MAX_FAULTS
    }

    fn push(&mut self, fault: QueryFault) {
        if self.0.len() < MAX_FAULTS {
            self.0.push(fault);
        }
    }

    /// Records a value of the wrong type.
    pub(crate) fn wrong_type(&mut self, param: &str, expected: &str, actual: &str) {
        let param = clean(param);
        self.push(QueryFault {
            message: format!("Parameter '{param}' expected '{expected}', got '{actual}'"),
            kind: FaultKind::Type(expected.to_owned(), actual.to_owned()),
            param,
        });
    }

    /// Records an invalid value; `what` continues the sentence after the parameter's name.
    pub(crate) fn refuse(&mut self, param: &str, what: &str, expected: impl Into<String>) {
        let param = clean(param);
        self.push(QueryFault {
            message: format!("Parameter '{param}' {what}"),
            kind: FaultKind::Value(expected.into(), Vec::new()),
            param,
        });
    }

    /// Records an unknown name, with the names to choose from.
    pub(crate) fn unknown(&mut self, param: &str, what: &str, name: &str, valid: &[&str]) {
        // `age_days` is closest to `_computed.age_days`, and `DESC` to `desc`, but a measure of
        // edit distance would not find them.
        let same = |known: &&&str| {
            known.eq_ignore_ascii_case(name) || known.rsplit('.').next() == Some(name)
        };
        let near = valid.iter().find(same).copied();
        let near = near.or_else(|| nearest_name(name, valid.iter().copied()));
        let hint = near.map(|near| format!(". Did you mean '{near}'?")).unwrap_or_default();
        let (param, name) = (clean(param), clean(name));
        let list = valid.join(", ");
        let (known_names, expected) = if valid.is_empty() {
            (format!("no {what} is offered"), format!("no {what}"))
        } else {
            (format!("one of: {list}"), format!("a {what} that is known"))
        };
        self.push(QueryFault {
            message: format!(
                "Parameter '{param}' has unknown {what} '{name}': {known_names}{hint}"
            ),
            kind: FaultKind::Value(expected, valid.iter().map(ToString::to_string).collect()),
            param,
        });
    }

    /// Records a field that exists but lacks this capability.
    pub(crate) fn unsupported(&mut self, param: &str, verb: &str, name: &str, valid: &[&str]) {
        let (param, name) = (clean(param), clean(name));
        let list = if valid.is_empty() { "none".to_owned() } else { valid.join(", ") };
        self.push(QueryFault {
            message: format!(
                "Parameter '{param}' names '{name}', which cannot be {verb}; these can: {list}"
            ),
            kind: FaultKind::Value(
                format!("a field that can be {verb}"),
                valid.iter().map(ToString::to_string).collect(),
            ),
            param,
        });
    }

    pub(crate) fn paging(&mut self, contradiction: Contradiction) {
        self.push(QueryFault {
            message: contradiction.message(),
            kind: FaultKind::Paging(contradiction),
            param: "pagination".to_owned(),
        });
    }

    /// Combines all faults into one error; its details are those of the first fault.
    pub(crate) fn into_error(self) -> Option<OperationError> {
        let first = self.0.first()?;
        let mut message = String::new();
        for fault in &self.0 {
            let separator = match message.chars().last() {
                None => "",
                Some('?') => " ",
                Some(_) => ". ",
            };
            message.push_str(separator);
            message.push_str(&fault.message);
        }
        let code = match first.kind {
            FaultKind::Type(..) | FaultKind::Paging(_) => ErrorCode::ValidationInvalidType,
            FaultKind::Value(..) => ErrorCode::ValidationInvalidValue,
        };
        let error =
            OperationError::new(code, message).with_detail("param_name", first.param.clone());
        let error = match &first.kind {
            FaultKind::Type(expected, actual) => error
                .with_detail("expected_type", expected.clone())
                .with_detail("actual_type", actual.clone()),
            FaultKind::Value(expected, valid) if valid.is_empty() => {
                error.with_detail("expected", expected.clone())
            }
            FaultKind::Value(expected, valid) => error
                .with_detail("expected", expected.clone())
                .with_detail("valid_values", valid.clone()),
            FaultKind::Paging(contradiction) => contradiction.describe(error),
        };
        if self.0.len() < 2 {
            return Some(error);
        }
        let all: BTreeSet<_> = self.0.iter().map(|fault| fault.param.clone()).collect();
        Some(error.with_detail("invalid_params", all.into_iter().collect::<Vec<_>>()))
    }
}

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
    let search = surface.text() == TextControl::Required;
    let selection = read_fields(
        surface,
        given,
        default_preset(if search { ResultKind::Search } else { ResultKind::Collection }),
        &mut faults,
    );
    let aggregate = given.take("aggregate");
    let aggregate = aggregate.map(|value| aggregate::read(surface, &value, &mut faults));
    let include_items = given.take("include_items").and_then(|value| value.as_bool());
    let summary = aggregate.is_some();
    if include_items == Some(true) && !summary {
        faults.refuse(
            "include_items",
            "goes with 'aggregate': leave it out, rows come back without it",
            "only beside 'aggregate'",
        );
    }
    let items = !summary || include_items == Some(true);
    let mut warnings = Vec::new();
    let purpose = purpose(table, &sort.keys, text.as_ref());
    let seal = Seal { key: given.key.clone(), purpose };
    let paged = window::read(surface, given, &seal, &sort.keys, &mut warnings, &mut faults);
    if let Some(error) = faults.into_error() {
        return Err(error);
    }
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
        aggregate: aggregate.unwrap_or_default(),
        items,
        window: paged.window,
        count: surface.options.count && items,
        applied: Arc::new(applied),
        seal: Arc::new(seal),
    })
}

fn unused_warning(controls: &[&str]) -> Warning {
    Warning::new(
        "QUERY_CONTROL_UNUSED_WARNING",
        format!(
            "A summary has no rows for {}: add 'include_items': true to get them too",
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
            faults.refuse("query", "is blank", "a text to search for");
        }
        return query;
    }
    let query = TextQuery::read(text);
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

/// The maximum number of search terms.
pub(crate) const MAX_TERMS: usize = 32;

/// The purpose to which cursors are bound: a resource, an order and a search text.
fn purpose(table: &Table, keys: &[SortKey], text: Option<&TextQuery>) -> String {
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

/// Returns the members of an object, or records a fault.
fn object<'v>(
    param: &str,
    value: &'v Value,
    faults: &mut QueryFaults,
) -> Option<&'v Map<String, Value>> {
    let object = value.as_object();
    if object.is_none() {
        faults.wrong_type(param, "object", crate::vocab::json_type(value));
    }
    object
}
