//! The pages and the API of the console.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Path, RawQuery, State};
use axum::http::header::{
    CONTENT_TYPE, ETAG, HeaderMap, IF_NONE_MATCH, LOCATION, RETRY_AFTER, SET_COOKIE,
};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::Utc;
use hmac_sha256::Hash;
use mcp_aql_core::OperationError;
use mcp_aql_protocol::ErrorCode;
use serde_json::json;

use super::audit_tail::last_entries;
use super::response::{HTML, ICON, JSON, LOGIN, STYLE, answer, refusal, signed_out};
use super::sessions::Attempt;
use super::{Shared, request_guard};
use crate::human_channel::{CONSOLE_NAME, Decider, OperatorName, Overview};

type ConsoleState = State<Arc<Shared>>;
/// The operator who sent a request. [`request_guard`] adds it.
type By = Extension<OperatorName>;

pub(super) fn router(shared: Arc<Shared>) -> Router {
    let file = |kind: &'static str, text: &'static str| {
        get(move || std::future::ready(([(CONTENT_TYPE, kind)], text)))
    };
    Router::new()
        .route("/", file(HTML, include_str!("page.html")))
        .route("/console.js", file("text/javascript; charset=utf-8", include_str!("console.js")))
        .route(STYLE, file("text/css; charset=utf-8", include_str!("console.css")))
        .route(ICON, file("image/svg+xml", include_str!("icon.svg")))
        .route(LOGIN, get(login))
        .route("/api/logout", post(logout))
        .route("/api/overview", get(overview))
        .route("/api/requests/{id}/{verb}", post(decide))
        .route("/api/agents/{agent}/{verb}", post(control))
        .fallback(|| std::future::ready(refusal(StatusCode::NOT_FOUND, "Not found.")))
        .layer(from_fn_with_state(Arc::clone(&shared), request_guard::pass))
        .with_state(shared)
}

/// Exchanges a one-time link for a session.
///
/// Failed attempts never block a valid link. Otherwise an agent could lock people out by guessing links.
async fn login(State(shared): ConsoleState, RawQuery(query): RawQuery) -> Response {
    let once = query.as_deref().and_then(|query| query.strip_prefix("once="));
    let Some(operator) = once.and_then(|once| shared.links.redeem(&shared.key, once, Utc::now()))
    else {
        return failed_login(&shared).await;
    };
    let credentials = match shared.sessions.open(operator.clone(), Instant::now()) {
        Ok(credentials) => credentials,
        Err(error) => {
            tracing::error!(%error, "the system's random number generator failed");
            return refusal(
                StatusCode::INTERNAL_SERVER_ERROR,
                "The system's random number generator failed.",
            );
        }
    };
    tracing::info!(operator = operator.as_str(), "an operator signed in to the console");
    let about = (None, Some(operator.as_str()));
    shared.operator.0.record("OPERATOR_SIGNED_IN", "allowed", about).await;
    let name = request_guard::cookie_name(shared.port);
    let cookie = format!("{name}={}; Path=/; HttpOnly; SameSite=Strict", credentials.cookie);
    // The fragment stays in the browser, so it reaches neither logs nor other servers.
    let page = format!("/#token={}", credentials.token);
    (StatusCode::SEE_OTHER, [(SET_COOKIE, cookie), (LOCATION, page)]).into_response()
}

async fn failed_login(shared: &Shared) -> Response {
    let attempt = shared.sessions.failed(Instant::now());
    let reason = match attempt {
        Attempt::Counted => Some("the link was used before, has expired, or is invalid"),
        Attempt::FirstRejected => Some("too many in one minute: no more are recorded"),
        Attempt::Rejected => None,
    };
    if reason.is_some() {
        shared.operator.0.record("OPERATOR_SIGN_IN_FAILED", "failed", (reason, None)).await;
    }
    if attempt != Attempt::Counted {
        let text = "Too many invalid links. Try again in a minute.";
        let mut response = signed_out(shared, LOGIN, StatusCode::TOO_MANY_REQUESTS, text);
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("60"));
        return response;
    }
    tracing::warn!("rejected a login link of the operator console");
    let text = "This link was used before, or has expired.";
    signed_out(shared, LOGIN, StatusCode::UNAUTHORIZED, text)
}

async fn logout(
    State(shared): ConsoleState,
    Extension(operator): By,
    headers: HeaderMap,
) -> Response {
    if let Some(cookie) = request_guard::cookie(shared.port, &headers) {
        shared.sessions.close(cookie);
        let about = (None, Some(operator.as_str()));
        shared.operator.0.record("OPERATOR_SIGNED_OUT", "allowed", about).await;
    }
    let name = request_guard::cookie_name(shared.port);
    let gone = format!("{name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    (StatusCode::NO_CONTENT, [(SET_COOKIE, gone)]).into_response()
}

async fn overview(State(shared): ConsoleState, headers: HeaderMap) -> Response {
    let text = match shared.operator.overview().await {
        Ok(overview) => with_history(&shared, overview).await,
        Err(error) => Err(error),
    };
    let text = match text {
        Ok(overview) => serde_json::to_vec(&overview).map_err(OperationError::internal),
        Err(error) => Err(error),
    };
    let text = match text {
        Ok(text) => text,
        Err(error) => return failure(&error),
    };
    let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(Hash::hash(&text)));
    if headers.get(IF_NONE_MATCH).is_some_and(|known| known == tag.as_str()) {
        return (StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response();
    }
    ([(ETAG, tag), (CONTENT_TYPE, JSON.to_owned())], text).into_response()
}

/// Adds the last entries of the audit log's file to an overview.
async fn with_history(shared: &Shared, mut overview: Overview) -> Result<Overview, OperationError> {
    if let Some(path) = &shared.audit_log {
        overview.audit = last_entries(path).await.map_err(OperationError::internal)?;
    }
    Ok(overview)
}

async fn decide(
    State(shared): ConsoleState,
    Extension(by): By,
    Path((id, verb)): Path<(String, String)>,
) -> Response {
    let (operator, by) = (&shared.operator, decider(&by));
    let done = match &*verb {
        "approve" => operator.approve(&id, by).await,
        "deny" => operator.deny(&id, by).await,
        "renew" => operator.renew_code(&id, by).await,
        "code" => {
            return match operator.0.code(&id, Some(&by)).await {
                Some(code) => answer(StatusCode::OK, &json!({ "code": code.reveal() })),
                None => refusal(
                    StatusCode::NOT_FOUND,
                    "This process does not have the code. Issue a new one.",
                ),
            };
        }
        _ => return refusal(StatusCode::NOT_FOUND, "Not found."),
    };
    outcome(done)
}

async fn control(
    State(shared): ConsoleState,
    Extension(by): By,
    Path((agent, verb)): Path<(String, String)>,
) -> Response {
    let (operator, by) = (&shared.operator, decider(&by));
    outcome(match &*verb {
        "stop" => operator.stop(&agent, by).await,
        "unblock" => operator.unblock(&agent, by).await,
        _ => return refusal(StatusCode::NOT_FOUND, "Not found."),
    })
}

/// Returns the decider for the audit log.
fn decider(operator: &OperatorName) -> Decider {
    Decider::from(CONSOLE_NAME).operator(operator.as_str())
}

fn outcome(done: Result<(), OperationError>) -> Response {
    match done {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => failure(&error),
    }
}

fn failure(error: &OperationError) -> Response {
    let status = match error.code() {
        ErrorCode::NotFoundResource => StatusCode::NOT_FOUND,
        ErrorCode::InternalError => {
            let cause = error.cause().map(tracing::field::display);
            tracing::error!(%error, cause, "a request to the operator console failed");
            StatusCode::INTERNAL_SERVER_ERROR
        }
        _ => StatusCode::CONFLICT,
    };
    refusal(status, error.message())
}
