//! Elicitation in MCP: questions that clients show to their user.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_aql_core::internal::caller::{RepeatedCall, UserQuestion};
use mcp_aql_core::transport::{Elicitation, UserAnswer};
use serde_json::{Map, Value, json};

use super::admission::RequestMeta;
use super::answer::RpcError;
use super::message::ToolCall;

/// The first version in which servers send `elicitation/create`.
const FIRST_VERSION: &str = "2025-06-18";
/// The name of the question in `inputRequests` and `inputResponses`.
const QUESTION: &str = "confirmation";

/// The reason sent to the client when the server withdraws a question.
pub(crate) const WITHDRAWN: &str = "no answer is needed any more";

/// Returns `true` if a client with these capabilities shows forms to its user. An empty `elicitation` capability also
/// means forms.
fn shows_forms(capabilities: &Map<String, Value>) -> bool {
    let elicitation = capabilities.get("elicitation").and_then(Value::as_object);
    elicitation.is_some_and(|modes| modes.contains_key("form") || !modes.contains_key("url"))
}

/// Returns `true` if the server may send questions to a client with this version and these capabilities in
/// `initialize`.
pub(crate) fn takes_questions(version: &str, capabilities: &Map<String, Value>) -> bool {
    version >= FIRST_VERSION && shows_forms(capabilities)
}

/// Responses to requests for input, by the name of the request.
pub(crate) type Responses = BTreeMap<String, Value>;

/// Returns how to ask the user of a call since MCP 2026-07-28, including the answer if the call repeats an earlier one.
///
/// # Errors
///
/// Returns an error if `inputResponses` or `requestState` has the wrong type.
pub(crate) fn of_call(
    call: &ToolCall<'_>,
    meta: &RequestMeta,
) -> Result<Option<Elicitation>, RpcError> {
    let malformed = |_| {
        RpcError::new(-32602, "'inputResponses' must be an object, and 'requestState' a string")
    };
    let responses = call.input_responses.map(serde_json::from_str::<Responses>);
    let responses = responses.transpose().map_err(malformed)?;
    let state = call.request_state.map(serde_json::from_str::<String>);
    let state = state.transpose().map_err(malformed)?;
    Ok(repeating(meta, responses.as_ref(), state))
}

/// Returns how to ask the user of a call with these responses and this state. Returns `None` if the client cannot show
/// forms.
pub(crate) fn repeating(
    meta: &RequestMeta,
    responses: Option<&Responses>,
    state: Option<String>,
) -> Option<Elicitation> {
    meta.capabilities().is_some_and(shows_forms).then(|| {
        let answer = responses.and_then(|responses| answer(responses.get(QUESTION)?));
        Elicitation::Repeating(Arc::new(RepeatedCall::new(state.zip(answer))))
    })
}

/// Parses the result of `elicitation/create`.
pub(crate) fn answer(result: &Value) -> Option<UserAnswer> {
    match result.get("action")?.as_str()? {
        "accept" => Some(UserAnswer::Accepted),
        "decline" => Some(UserAnswer::Declined),
        "cancel" => Some(UserAnswer::Cancelled),
        _ => None,
    }
}

/// Returns the parameters of `elicitation/create`. The form has no fields, because the user only accepts or declines.
pub(crate) fn form(message: &str) -> Value {
    json!({
        "mode": "form",
        "message": message,
        "requestedSchema": { "type": "object", "properties": {} },
    })
}

/// Returns the result that asks the client to repeat the call with the answer of its user.
///
/// ```json
/// {
///   "resultType": "input_required",
///   "inputRequests": {
///     "confirmation": {
///       "method": "elicitation/create",
///       "params": {
///         "mode": "form",
///         "message": "Delete this note?",
///         "requestedSchema": { "type": "object", "properties": {} }
///       }
///     }
///   },
///   "requestState": "…"
/// }
/// ```
pub(crate) fn input_required(question: &UserQuestion) -> Value {
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
    use crate::mcp::message::{Message, decode_message};

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
    fn answers_of_another_form_are_refused() {
        let capabilities = json!({ "elicitation": {} });
        let meta = json!({ "io.modelcontextprotocol/clientCapabilities": capabilities });
        let meta = RequestMeta(meta.as_object().cloned().unwrap());
        for (responses, state, is_right) in [
            (None, None, true),
            (Some("{}"), Some(r#""x""#), true),
            (Some(r#"{"confirmation":7,"x":null}"#), None, true),
            (Some("[]"), None, false),
            (Some("null"), None, false),
            (None, Some("7"), false),
            (None, Some("null"), false),
        ] {
            let member = |name: &str, json: Option<&str>| {
                json.map(|json| format!(r#","{name}":{json}"#)).unwrap_or_default()
            };
            let params = [member("inputResponses", responses), member("requestState", state)];
            let call = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t"{}}}}}"#,
                params.concat()
            );
            let Message::Call(call) = decode_message(call.as_bytes()) else { panic!("{call}") };
            assert_eq!(of_call(&call, &meta).is_ok(), is_right, "{responses:?} {state:?}");
            assert!(!is_right || of_call(&call, &RequestMeta::default()).unwrap().is_none());
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
