//! Answers `introspect` from prerendered lists and entries.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use mcp_aql_protocol::{ErrorCode, SemanticCategory, nearest_name, probable_operation};
use mcp_aql_rank::operations::OperationIndex;
use serde_json::Value;

use super::query::IntrospectQuery;
use super::search;
use super::table::{PAGE_SIZES, SPEC};
use crate::caller::session::Session;
use crate::error::OperationError;
use crate::operation::further_query::FurtherQueries;
use crate::operation::{Outcome, Payload, SUCCESS};
use crate::paging::{CursorKey, PageRequest};
use crate::schema::Argument;
use crate::schema::shape::Members;
use crate::text::clean;

/// All answers of `introspect` (REQ-INT-27).
///
/// Lists are rendered as JSON when the adapter is built. A full entry is rendered on first use, so that adapters with
/// many operations start fast.
pub struct Introspection {
    /// The object `_protocol` as JSON, without its closing brace: the members of a request are appended.
    pub protocol: String,
    /// The object `_protocol` for a reply with a part of the list, also without its closing brace.
    pub(crate) protocol_of_part: String,
    /// Entries of the list, in the order of the registry.
    pub(crate) operations: Vec<ListedOperation>,
    /// The entries of the whole list, joined with commas.
    pub(crate) all_operations: String,
    /// `{"types":[…]}`
    pub(crate) all_types: String,
    /// Entries of the list of types, by name.
    pub types: BTreeMap<String, ListedType>,
    /// Queries that extensions add to this adapter.
    pub further: Arc<FurtherQueries>,
    /// Secret that signs the cursors of the operations list.
    pub(crate) cursor_key: CursorKey,
    /// Search index, built on the first search.
    pub(crate) search: OnceLock<OperationIndex>,
}

#[derive(Debug)]
pub(crate) struct ListedOperation {
    pub(crate) name: Arc<str>,
    pub(crate) category: SemanticCategory,
    pub(crate) entry: String,
    /// The entry with the parameters in its description, rendered on first use.
    pub(crate) in_brief: OnceLock<String>,
    /// `{"operation":…}`, rendered on first use.
    pub(crate) in_full: OnceLock<String>,
}

#[derive(Debug)]
pub struct ListedType {
    pub(crate) entry: String,
    pub(crate) details: Members,
    /// `{"type":…}`, rendered on first use.
    pub(crate) in_full: OnceLock<String>,
}

impl ListedType {
    pub fn text(&self) -> &str {
        self.in_full.get_or_init(|| format!(r#"{{"type":{}}}"#, self.details.to_json()))
    }
}

/// A part of the list of operations, selected by names, a search or a page.
struct OperationsPage<'a> {
    /// Entries with their indexes in the whole list.
    entries: Vec<(usize, &'a ListedOperation)>,
    /// `pageInfo` as JSON, if a page was requested.
    info: String,
}

/// Renders entries on demand.
pub(crate) trait Source {
    /// Returns `true` if the operation exists.
    fn has(&self, name: &str) -> bool;
    /// Renders the list entry of the operation at this index, with its parameters in the description.
    fn in_brief(&self, index: usize) -> String;
    /// Renders the full entry of an operation.
    fn in_full(&self, name: &str) -> Option<&str>;
    /// Builds the index that `search` uses.
    fn search_index(&self) -> OperationIndex;
}

impl Introspection {
    /// Answers a validated query.
    pub(crate) async fn answer(
        &self,
        arguments: Vec<Argument>,
        session: Option<&Session>,
        source: &(impl Source + Sync),
    ) -> Outcome {
        let question = IntrospectQuery::new(&arguments);
        let further = self.further.iter().find(|each| each.query() == question.query);
        question.check(further.map(AsRef::as_ref))?;
        if let Some(further) = further {
            let data = further.answer(question.name, &|name| source.has(name)).await?;
            return Ok(Payload::new(success(&data.to_string())));
        }
        let text = match (question.query, question.name) {
            ("operations", Some(name)) => {
                success(source.in_full(name).unwrap_or(r#"{"operation":null}"#))
            }
            ("operations", None) => self.list_operations(&question, &arguments, session, source)?,
            (_, Some(name)) => {
                success(self.types.get(name).map_or(r#"{"type":null}"#, ListedType::text))
            }
            (_, None) => self.list_types(question.prefix),
        };
        Ok(Payload::new(text))
    }

    fn list_operations(
        &self,
        question: &IntrospectQuery<'_>,
        arguments: &[Argument],
        session: Option<&Session>,
        source: &impl Source,
    ) -> Result<String, OperationError> {
        let whole = question.selects_all();
        let mut data = String::new();
        if whole {
            data.reserve(ENVELOPE_BYTES + self.protocol.len() + self.all_operations.len());
        }
        data.push_str(SUCCESS);
        data.push_str(r#"{"_protocol":"#);
        data.push_str(if whole { &self.protocol } else { &self.protocol_of_part });
        if let Some(session) = session.filter(|_| whole) {
            let _ = write!(data, r#","session_id":"{}""#, session.id());
        }
        if whole && !question.with_parameters() {
            data.push_str(r#"},"operations":["#);
            data.push_str(&self.all_operations);
        } else {
            let OperationsPage { entries, info } = self.page(question, arguments, source)?;
            data.push_str(&info);
            data.push_str(r#"},"operations":["#);
            for (index, (place, listed)) in entries.iter().enumerate() {
                data.push_str(if index == 0 { "" } else { "," });
                data.push_str(if question.with_parameters() {
                    listed.in_brief.get_or_init(|| source.in_brief(*place))
                } else {
                    &listed.entry
                });
            }
        }
        data.push_str("]}");
        Ok(data)
    }

    /// Selects the requested entries.
    fn page(
        &self,
        question: &IntrospectQuery<'_>,
        arguments: &[Argument],
        source: &impl Source,
    ) -> Result<OperationsPage<'_>, OperationError> {
        if let Some(searched) = question.search {
            let entries = self.search(searched, question, arguments, source)?;
            return Ok(OperationsPage { entries, info: String::new() });
        }
        let names = question.names.as_deref();
        for name in names.unwrap_or_default() {
            if !source.has(name) {
                return Err(self.unknown_operation(name));
            }
        }
        let wanted = |(_, listed): &(usize, &ListedOperation)| {
            question.selects(&listed.name, listed.category)
        };
        let found: Vec<_> = self.operations.iter().enumerate().filter(wanted).collect();
        if question.paging.is_empty() {
            return Ok(OperationsPage { entries: found, info: String::new() });
        }
        // A success of `introspect` cannot carry warnings (REQ-INT-28). They can be discarded, because `pageInfo`
        // shows that a page is smaller than requested.
        let mut warnings = Vec::new();
        let key = &self.cursor_key;
        let request =
            PageRequest::read("introspect", None, arguments, PAGE_SIZES, key, &mut warnings)?;
        let after = self.index_at_cursor(request.after(), "after")?;
        let before = self.index_at_cursor(request.before(), "before")?;
        let total = found.len();
        let mut page = request.page();
        for entry in found {
            let outside = after.is_some_and(|after| entry.0 <= after)
                || before.is_some_and(|before| entry.0 >= before);
            if !outside && page.push(entry).is_break() {
                break;
            }
        }
        let (entries, info) = page.finish(|(_, listed)| &listed.name);
        let info = info.total_count(total as u64);
        let info = serde_json::to_string(&info).map_err(OperationError::internal)?;
        Ok(OperationsPage { entries, info: format!(r#","pageInfo":{info}"#) })
    }

    /// Finds the operations that match the description of a task best.
    fn search(
        &self,
        searched: &str,
        question: &IntrospectQuery<'_>,
        arguments: &[Argument],
        source: &impl Source,
    ) -> Result<Vec<(usize, &ListedOperation)>, OperationError> {
        question.check_search()?;
        let first = search::number_of_results(arguments)?;
        let index = self.search.get_or_init(|| source.search_index());
        let is_result = |it: &ListedOperation| {
            &*it.name != SPEC.name && question.selects(&it.name, it.category)
        };
        let selected = |place| self.operations.get(place).is_some_and(is_result);
        let hits = index.search_among(searched, first, selected);
        if hits.is_empty() && first > 0 {
            return Err(search::nothing_found(searched));
        }
        let entry = |place| Some((place, self.operations.get(place)?));
        Ok(hits.iter().filter_map(|hit| entry(hit.operation)).collect())
    }

    /// Returns the index of the operation named by a cursor.
    ///
    /// # Errors
    ///
    /// Returns an error if the operation does not exist, because another version of the adapter created the cursor.
    fn index_at_cursor(
        &self,
        name: Option<&str>,
        control: &str,
    ) -> Result<Option<usize>, OperationError> {
        let Some(name) = name else { return Ok(None) };
        let index = self.operations.iter().position(|listed| &*listed.name == name);
        let gone = "is a cursor of an older list: start again without a cursor";
        index.map(Some).ok_or_else(|| OperationError::invalid_value(control, gone))
    }

    /// Creates the error for an unknown name. An error is better than an incomplete list: a list cannot contain
    /// `null`, and omitting the name silently would mislead the caller.
    fn unknown_operation(&self, name: &str) -> OperationError {
        let near = probable_operation(name, self.operations.iter().map(|listed| &*listed.name));
        let hint = near.map(|near| format!(". Did you mean '{near}'?")).unwrap_or_default();
        OperationError::new(
            ErrorCode::IntrospectionError,
            format!(
                "Parameter 'names' contains '{}', but no operation has this name{hint}",
                clean(name)
            ),
        )
    }

    /// Returns the accepted values of the parameter `query`.
    fn queries(&self) -> impl Iterator<Item = &str> {
        ["operations", "types"].into_iter().chain(self.further.iter().map(|each| each.query()))
    }

    /// Returns `true` if this is an accepted value of the parameter `query`.
    pub(crate) fn knows(&self, query: &Value) -> bool {
        query.as_str().is_some_and(|query| self.queries().any(|known| known == query))
    }

    /// Converts an error of an `introspect` call. An unknown query has an error code of its own, and details are
    /// always dropped (REQ-INT-28, choices C-33 and C-34).
    pub(crate) fn failure(&self, error: OperationError, asked: Option<&Value>) -> OperationError {
        let on_query = error.details().get("param_name").and_then(Value::as_str) == Some("query");
        if error.code() == ErrorCode::ValidationInvalidValue && on_query {
            let asked = asked.and_then(Value::as_str).unwrap_or_default();
            let known: Vec<_> = self.queries().collect();
            let near = nearest_name(asked, known.iter().copied());
            let hint = near.map(|near| format!(". Did you mean '{near}'?")).unwrap_or_default();
            return OperationError::new(
                ErrorCode::InvalidQueryType,
                format!(
                    "Query '{}' is not known. Use one of: {}{hint}",
                    clean(asked),
                    known.join(", ")
                ),
            );
        }
        error.without_details()
    }

    fn list_types(&self, prefix: Option<&str>) -> String {
        let Some(prefix) = prefix else { return success(&self.all_types) };
        let entries: Vec<_> = self
            .types
            .iter()
            .filter(|(name, _)| name.starts_with(prefix))
            .map(|(_, listed)| listed.entry.as_str())
            .collect();
        success(&format!(r#"{{"types":[{}]}}"#, entries.join(",")))
    }
}

/// Capacity reserved for the JSON around the rendered data, in bytes.
const ENVELOPE_BYTES: usize = 128;

/// Renders a successful reply up to the end of its data.
fn success(data: &str) -> String {
    let mut text = String::with_capacity(SUCCESS.len() + data.len() + ENVELOPE_BYTES);
    text.push_str(SUCCESS);
    text.push_str(data);
    text
}
