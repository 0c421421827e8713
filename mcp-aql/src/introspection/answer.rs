use std::collections::BTreeMap;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::error::{ErrorCode, OperationError};
use crate::operation::{Argument, Outcome, Payload, SUCCESS, Session};
use crate::request::check_response;
use crate::router::clean;
use crate::vocab::{Limits, SemanticCategory, closest};

/// Everything `introspect` can answer, as JSON text (REQ-INT-27).
#[derive(Debug)]
pub(crate) struct Introspection {
    /// `_protocol` without its closing brace.
    pub(crate) protocol: String,
    /// The same for a part of the list.
    pub(crate) protocol_of_part: String,
    /// The limits of a reply.
    pub(crate) limits: Limits,
    /// Whether every answer that is not in brief keeps to them, so that no single one has to be
    /// measured. Found out when
    /// the first is given: a start should not wait for it.
    pub(crate) fits: OnceLock<bool>,
    /// The list's entries, in order.
    pub(crate) operations: Vec<ListedOperation>,
    /// The whole list, joined.
    pub(crate) all_operations: String,
    /// `{"operation":…}` by name.
    pub(crate) operation_details: HashMap<Arc<str>, String>,
    /// A call of each operation, as the JSON text of its `params`.
    pub(crate) samples: HashMap<Arc<str>, String>,
    /// `{"types":[…]}`
    pub(crate) all_types: String,
    /// The entries of the types list, by name.
    pub(crate) types: BTreeMap<String, String>,
    /// `{"type":…}` by name.
    pub(crate) type_details: HashMap<String, String>,
}

#[derive(Debug)]
pub(crate) struct ListedOperation {
    pub(crate) name: Arc<str>,
    pub(crate) category: SemanticCategory,
    pub(crate) entry: String,
    /// The entry with the parameters in its description.
    pub(crate) in_brief: OnceLock<String>,
    /// Its place in the registry.
    pub(crate) index: usize,
}

/// The parameters of `introspect`.
#[derive(Default)]
struct Question {
    query: String,
    name: Option<String>,
    category: Option<String>,
    prefix: Option<String>,
    names: Option<Vec<String>>,
    parameters: bool,
    first: Option<usize>,
    after: Option<String>,
}

impl Question {
    fn new(arguments: Vec<Argument>) -> Self {
        let mut question = Self::default();
        for argument in arguments {
            let text = || argument.value.as_ref().and_then(Value::as_str).map(str::to_owned);
            match argument.name {
                "query" => question.query = text().unwrap_or_default(),
                "name" => question.name = text(),
                "category" => question.category = text(),
                "prefix" => question.prefix = text(),
                "after" => question.after = text(),
                "names" => {
                    let names = argument.value.as_ref().and_then(Value::as_array);
                    question.names = names.map(|names| {
                        names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
                    });
                }
                "parameters" => {
                    question.parameters =
                        argument.value.as_ref().and_then(Value::as_bool).unwrap_or_default();
                }
                "first" => {
                    question.first = argument
                        .value
                        .as_ref()
                        .and_then(Value::as_u64)
                        .map(|first| usize::try_from(first).unwrap_or(usize::MAX));
                }
                _ => {}
            }
        }
        question
    }

    /// Controls that this form of the question has no use for: they are refused, not ignored.
    fn check(&self) -> Result<(), OperationError> {
        let refuse = |name: &str, why: &str| {
            Err(OperationError::new(
                ErrorCode::IntrospectionError,
                format!("Parameter '{name}' {why}: leave it out"),
            ))
        };
        let controls = [
            ("category", self.category.is_some()),
            ("prefix", self.prefix.is_some()),
            ("names", self.names.is_some()),
            ("parameters", self.parameters),
            ("first", self.first.is_some()),
            ("after", self.after.is_some()),
        ];
        for (control, given) in controls {
            if given && self.name.is_some() {
                return refuse(control, "goes with a list, and 'name' asks for one entry");
            }
            if given && self.query == "types" && control != "prefix" {
                return refuse(control, "goes with the list of operations, not of types");
            }
        }
        if self.after.is_some() && self.first.is_none() {
            return Err(OperationError::new(
                ErrorCode::IntrospectionError,
                "Parameter 'after' needs 'first' beside it",
            ));
        }
        Ok(())
    }
}

impl Introspection {
    /// Answers a checked question.
    ///
    /// `in_brief` makes the entry of the operation at a place of the registry, which most adapters are
    /// never asked for.
    pub(crate) fn answer(
        &self,
        arguments: Vec<Argument>,
        session: Option<&Session>,
        in_brief: &dyn Fn(usize) -> String,
    ) -> Outcome {
        let question = Question::new(arguments);
        question.check()?;
        let missing = |entry: &str| format!(r#"{{"{entry}":null}}"#);
        let mut payload = String::from(SUCCESS);
        match (question.query.as_str(), &question.name) {
            ("operations", Some(name)) => match self.operation_details.get(name.as_str()) {
                Some(details) => payload.push_str(details),
                None => payload.push_str(&missing("operation")),
            },
            ("operations", None) => {
                self.list_operations(&question, session, in_brief, &mut payload)?
            }
            (_, Some(name)) => match self.type_details.get(name) {
                Some(details) => payload.push_str(details),
                None => payload.push_str(&missing("type")),
            },
            (_, None) => self.list_types(question.prefix.as_deref(), &mut payload),
        }
        let measured = !question.parameters && *self.fits.get_or_init(|| self.fit());
        Ok(Payload::ready(payload, measured))
    }

    /// Whether every answer that is not in brief keeps to the limits. A part of a list is smaller than the whole, and in
    /// what surrounds it there is little that varies.
    fn fit(&self) -> bool {
        const AROUND: usize = 4_096;
        let limits = &self.limits;
        let room = Limits {
            max_response_size: limits.max_response_size.saturating_sub(AROUND),
            ..*limits
        };
        let whole = |entry: fn(&ListedOperation) -> &str| {
            let entries: Vec<_> = self.operations.iter().map(entry).collect();
            format!(
                r#"{SUCCESS}{{"_protocol":{}}},"operations":[{}]}}}}"#,
                self.protocol,
                entries.join(",")
            )
        };
        let lists = [whole(|listed| &listed.entry), format!("{SUCCESS}{}}}", self.all_types)];
        let details = self.operation_details.values().chain(self.type_details.values());
        lists.iter().all(|list| check_response(list, &room).is_ok())
            && details
                .map(|details| format!("{SUCCESS}{details}}}"))
                .all(|details| check_response(&details, &room).is_ok())
    }

    fn list_operations(
        &self,
        question: &Question,
        session: Option<&Session>,
        in_brief: &dyn Fn(usize) -> String,
        data: &mut String,
    ) -> Result<(), OperationError> {
        let whole = question.category.is_none()
            && question.prefix.is_none()
            && question.names.is_none()
            && question.first.is_none();
        data.reserve(self.protocol.len() + self.all_operations.len() + 128);
        data.push_str(r#"{"_protocol":"#);
        data.push_str(if whole { &self.protocol } else { &self.protocol_of_part });
        if let Some(session) = session.filter(|_| whole) {
            let _ = write!(data, r#","session_id":"{}""#, session.id());
        }
        if whole && !question.parameters {
            data.push_str(r#"},"operations":["#);
            data.push_str(&self.all_operations);
        } else {
            let (page, page_info) = self.page(question)?;
            data.push_str(&page_info);
            data.push_str(r#"},"operations":["#);
            for (index, listed) in page.iter().enumerate() {
                data.push_str(if index == 0 { "" } else { "," });
                data.push_str(if question.parameters {
                    listed.in_brief.get_or_init(|| in_brief(listed.index))
                } else {
                    &listed.entry
                });
            }
        }
        data.push_str("]}");
        Ok(())
    }

    /// The entries asked for, and where they lie when a page was asked for.
    fn page(&self, question: &Question) -> Result<(Vec<&ListedOperation>, String), OperationError> {
        let names = question.names.as_deref();
        for name in names.unwrap_or_default() {
            if !self.operation_details.contains_key(name.as_str()) {
                return Err(self.unknown_operation(name));
            }
        }
        let prefix = question.prefix.as_deref().unwrap_or_default();
        let category = question.category.as_deref();
        let mut found: Vec<&ListedOperation> = self
            .operations
            .iter()
            .filter(|listed| listed.name.starts_with(prefix))
            .filter(|listed| category.is_none_or(|category| listed.category.as_str() == category))
            .filter(|listed| names.is_none_or(|names| names.iter().any(|it| **it == *listed.name)))
            .collect();
        let Some(first) = question.first else {
            return Ok((found, String::new()));
        };
        let total = found.len();
        let start = match &question.after {
            Some(after) => found
                .iter()
                .position(|listed| *listed.name == **after)
                .map(|position| position + 1)
                .ok_or_else(|| unknown_cursor(after))?,
            None => 0,
        };
        found.drain(..start);
        found.truncate(first);
        let mut page_info = format!(
            r#","pageInfo":{{"hasNextPage":{},"hasPreviousPage":{}"#,
            start + found.len() < total,
            start > 0,
        );
        if let (Some(head), Some(tail)) = (found.first(), found.last()) {
            // Operation names need no escaping.
            let _ =
                write!(page_info, r#","startCursor":"{}","endCursor":"{}""#, head.name, tail.name);
        }
        let _ = write!(page_info, r#","totalCount":{total}}}"#);
        Ok((found, page_info))
    }

    /// A list has no place for a `null`, and to leave a name out in silence would mislead.
    fn unknown_operation(&self, name: &str) -> OperationError {
        let near = closest(name, self.operations.iter().map(|listed| &*listed.name));
        let hint = near.map(|near| format!(". Did you mean '{near}'?")).unwrap_or_default();
        OperationError::new(
            ErrorCode::IntrospectionError,
            format!("Parameter 'names' has '{}', which is no operation{hint}", clean(name)),
        )
    }

    fn list_types(&self, prefix: Option<&str>, data: &mut String) {
        let Some(prefix) = prefix else { return data.push_str(&self.all_types) };
        let entries: Vec<_> = self
            .types
            .iter()
            .filter(|(name, _)| name.starts_with(prefix))
            .map(|(_, entry)| entry.as_str())
            .collect();
        let _ = write!(data, r#"{{"types":[{}]}}"#, entries.join(","));
    }
}

fn unknown_cursor(after: &str) -> OperationError {
    OperationError::new(
        ErrorCode::IntrospectionError,
        format!(
            "Cursor '{}' is not on this list: take 'endCursor' of an earlier page",
            clean(after)
        ),
    )
}

/// The failure of an `introspect` call: its own code for an unknown query, and never details
/// (REQ-INT-28, choices C-33 and C-34).
pub(crate) fn introspect_failure(error: OperationError, asked: Option<&Value>) -> OperationError {
    let on_query = error.details().get("param_name").and_then(Value::as_str) == Some("query");
    if error.code() == ErrorCode::ValidationInvalidValue && on_query {
        let asked = asked.and_then(Value::as_str).unwrap_or_default();
        let near = closest(asked, ["operations", "types"]);
        let hint = near.map(|near| format!(". Did you mean '{near}'?")).unwrap_or_default();
        return OperationError::new(
            ErrorCode::InvalidQueryType,
            format!("Query '{}' is not known. Use one of: operations, types{hint}", clean(asked)),
        );
    }
    error.without_details()
}
