//! MCP's elicitation: clients that show a question to their user.

use std::sync::Arc;

use mcp_aql_core::elicitation::{RepeatedCall, UserQuestion};
use mcp_aql_core::transport::{Elicitation, UserAnswer};
use serde_json::{Map, Value, json};

use crate::request_meta::RequestMeta;

/// The first version in which servers send `elicitation/create`.
const FIRST_VERSION: &str = "2025-06-18";
/// The name of the question among the requests for input.
pub(super) const QUESTION: &str = "confirmation";

/// Whether a client with these capabilities shows forms to its user. The capability without members stands for forms.
pub(super) fn shows_forms(capabilities: &Map<String, Value>) -> bool {
    let elicitation = capabilities.get("elicitation").and_then(Value::as_object);
    elicitation.is_some_and(|modes| modes.contains_key("form") || !modes.contains_key("url"))
}

/// Whether the server may send questions to a client that has negotiated this version with `initialize`.
pub(super) fn takes_questions(version: &str, capabilities: &Map<String, Value>) -> bool {
    version >= FIRST_VERSION && shows_forms(capabilities)
}

/// What a client sends along when it repeats a call with answers.
#[derive(Debug, Default)]
pub(super) struct SentAnswers<'a> {
    /// `inputResponses` as JSON.
    pub(super) responses: Option<&'a str>,
    /// `requestState` as JSON.
    pub(super) state: Option<&'a str>,
}

impl SentAnswers<'_> {
    /// How the client of this call can be asked, since MCP 2026-07-28.
    pub(super) fn elicitation(&self, meta: &RequestMeta) -> Option<Elicitation> {
        meta.shows_forms().then(|| {
            let parsed = |json: Option<&str>| -> Value {
                json.and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default()
            };
            let state = Some(parsed(self.state)).filter(|state| !state.is_null());
            // State that is not text fails like unknown state.
            let state = state.map(|state| state.as_str().unwrap_or_default().to_owned());
            repeating(state, parsed(self.responses).get(QUESTION))
        })
    }
}

/// How the client of a repeated call can be asked. The state and the response to the question are those that the client
/// has sent.
pub(super) fn repeating(state: Option<String>, response: Option<&Value>) -> Elicitation {
    let answered = state.map(|state| (state, response.and_then(answer)));
    Elicitation::Repeating(Arc::new(RepeatedCall::new(answered)))
}

/// Reads the result of `elicitation/create`.
pub(super) fn answer(result: &Value) -> Option<UserAnswer> {
    match result.get("action")?.as_str()? {
        "accept" => Some(UserAnswer::Accepted),
        "decline" => Some(UserAnswer::Declined),
        "cancel" => Some(UserAnswer::Cancelled),
        _ => None,
    }
}

/// The parameters of `elicitation/create`. The form has no fields: the user accepts or declines.
pub(super) fn form(message: &str) -> Value {
    json!({
        "mode": "form",
        "message": message,
        "requestedSchema": { "type": "object", "properties": {} },
    })
}

/// The result that asks the client to repeat the call with the answer of its user.
pub(super) fn input_required(question: &UserQuestion) -> Value {
    json!({
        "resultType": "input_required",
        "inputRequests": {
            QUESTION: { "method": "elicitation/create", "params": form(&question.message) },
        },
        "requestState": question.state,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clients_that_show_forms_are_asked() {
        for (capabilities, version, asked) in [
            (json!({ "elicitation": {} }), "2025-11-25", true),
            (json!({ "elicitation": { "form": {} } }), "2025-06-18", true),
            (json!({ "elicitation": { "form": {}, "url": {} } }), "2025-11-25", true),
            (json!({ "elicitation": { "url": {} } }), "2025-11-25", false),
            (json!({ "elicitation": true }), "2025-11-25", false),
            (json!({}), "2025-11-25", false),
            (json!({ "elicitation": {} }), "2025-03-26", false),
        ] {
            let capabilities = capabilities.as_object().unwrap();
            assert_eq!(takes_questions(version, capabilities), asked, "{capabilities:?} {version}");
        }
    }

    #[test]
    fn an_answer_has_one_of_three_actions() {
        for (result, expected) in [
            (json!({ "action": "accept", "content": {} }), Some(UserAnswer::Accepted)),
            (json!({ "action": "decline" }), Some(UserAnswer::Declined)),
            (json!({ "action": "cancel" }), Some(UserAnswer::Cancelled)),
            (json!({ "action": "Accept" }), None),
            (json!({ "action": true }), None),
            (json!({ "content": { "action": "accept" } }), None),
            (json!("accept"), None),
        ] {
            assert_eq!(answer(&result), expected, "{result}");
        }
    }
}
