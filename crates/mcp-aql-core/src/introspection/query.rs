//! Reads and checks the parameters of an `introspect` call.

use mcp_aql_protocol::{ErrorCode, SemanticCategory};
use serde_json::Value;

use crate::error::OperationError;
use crate::operation::further_query::FurtherQuery;
use crate::paging::CURSOR_CONTROLS;
use crate::schema::Argument;

/// The parameters of `introspect`. Absent parameters are `None` or empty.
///
/// ```json
/// { "operation": "introspect", "params": { "query": "operations", "category": "READ", "prefix": "list_" } }
/// ```
#[derive(Default)]
pub(super) struct IntrospectQuery<'a> {
    pub(super) query: &'a str,
    pub(super) name: Option<&'a str>,
    /// The search query.
    pub(super) search: Option<&'a str>,
    category: Option<&'a str>,
    pub(super) prefix: Option<&'a str>,
    pub(super) names: Option<Vec<&'a str>>,
    parameters: Option<bool>,
    /// Names of the page controls that the call sets.
    pub(super) paging: Vec<&'static str>,
}

impl<'a> IntrospectQuery<'a> {
    pub(super) fn new(arguments: &'a [Argument]) -> Self {
        let mut question = Self::default();
        for argument in arguments {
            let Some(value) = &argument.value else { continue };
            match argument.name {
                "query" => question.query = value.as_str().unwrap_or_default(),
                "name" => question.name = value.as_str(),
                "search" => question.search = value.as_str(),
                "category" => question.category = value.as_str(),
                "prefix" => question.prefix = value.as_str(),
                name if CURSOR_CONTROLS.contains(&name) && !value.is_null() => {
                    question.paging.push(name);
                }
                "names" => {
                    let names = value.as_array();
                    question.names = names.map(|it| it.iter().filter_map(Value::as_str).collect());
                }
                "parameters" => question.parameters = value.as_bool(),
                _ => {}
            }
        }
        question
    }

    /// Returns the parameters allowed together with `query`, or `None` if all of them are accepted.
    fn accepted(&self, further: Option<&dyn FurtherQuery>) -> Option<&'static [&'static str]> {
        match (further, self.name, self.query) {
            (Some(further), ..) if !further.takes_name() => Some(&[]),
            (Some(_), ..) | (None, Some(_), _) => Some(&["name"]),
            (None, None, "types") => Some(&["name", "prefix"]),
            (None, None, _) => None,
        }
    }

    /// Rejects a parameter that the query does not accept. Ignoring it would give the caller a result that differs
    /// from the request.
    pub(super) fn check(&self, further: Option<&dyn FurtherQuery>) -> Result<(), OperationError> {
        let Some(accepted) = self.accepted(further) else { return Ok(()) };
        let given = [
            ("name", self.name.is_some()),
            ("search", self.search.is_some()),
            ("category", self.category.is_some()),
            ("prefix", self.prefix.is_some()),
            ("names", self.names.is_some()),
            ("parameters", self.parameters == Some(true)),
        ];
        let given = given.into_iter().filter_map(|(name, given)| given.then_some(name));
        let mut given = given.chain(self.paging.iter().copied());
        let Some(rejected) = given.find(|name| !accepted.contains(name)) else { return Ok(()) };
        let query = self.query;
        // `name` selects one entry, so no parameter of a list applies.
        let (with, accepted) = match (self.name, accepted) {
            (Some(_), ["name"]) => (" with 'name'", "no other parameter"),
            (_, []) => ("", "no other parameter"),
            (_, ["name"]) => ("", "only 'name'"),
            _ => ("", "only 'name' or 'prefix'"),
        };
        Err(OperationError::new(
            ErrorCode::IntrospectionError,
            format!(
                "Parameter '{rejected}' is not accepted by query '{query}'{with}. The query accepts \
                 {accepted}: leave '{rejected}' out"
            ),
        ))
    }
    /// Rejects the parameters that a search does not accept.
    pub(super) fn check_search(&self) -> Result<(), OperationError> {
        let paging = self.paging.iter().copied().find(|name| *name != "first");
        let Some(rejected) = paging.or(self.names.is_some().then_some("names")) else {
            return Ok(());
        };
        Err(OperationError::new(
            ErrorCode::IntrospectionError,
            format!(
                "Parameter '{rejected}' is not accepted with 'search'. A search accepts only 'first', \
                 'category', 'prefix' and 'parameters': leave '{rejected}' out"
            ),
        ))
    }

    /// Returns `true` if the query selects the whole list.
    pub(super) fn selects_all(&self) -> bool {
        self.search.is_none()
            && self.category.is_none()
            && self.prefix.is_none()
            && self.names.is_none()
            && self.paging.is_empty()
    }

    /// Returns `true` if the query selects this operation. Pages and searches are applied separately.
    pub(super) fn selects(&self, name: &str, category: SemanticCategory) -> bool {
        name.starts_with(self.prefix.unwrap_or_default())
            && self.category.is_none_or(|wanted| wanted == category.as_str())
            && self.names.as_deref().is_none_or(|names| names.contains(&name))
    }

    /// Returns `true` if the entries include the parameters of their operations. This is the default of a search
    /// only.
    pub(super) fn with_parameters(&self) -> bool {
        self.parameters.unwrap_or(self.search.is_some())
    }
}
