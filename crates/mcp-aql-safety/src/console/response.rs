//! Responses of the console: errors for the script, and the page that explains how to sign in.

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderName};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::Shared;

pub(super) const LOGIN: &str = "/login";
pub(super) const STYLE: &str = "/console.css";
pub(super) const ICON: &str = "/icon.svg";

pub(super) const HTML: &str = "text/html; charset=utf-8";
pub(super) const JSON: &str = "application/json";

/// Returns an error response for the page's script: `{ "error": "…" }`.
pub(super) fn refusal(status: StatusCode, message: &str) -> Response {
    answer(status, &json!({ "error": message }))
}

pub(super) fn answer(status: StatusCode, value: &Value) -> Response {
    (status, typed(JSON), Body::from(value.to_string())).into_response()
}

pub(super) fn typed(kind: &'static str) -> [(HeaderName, &'static str); 1] {
    [(CONTENT_TYPE, kind)]
}

/// Returns the page that explains how to sign in. The API returns an error instead.
pub(super) fn signed_out(shared: &Shared, path: &str, status: StatusCode, why: &str) -> Response {
    if path.starts_with("/api/") {
        return refusal(status, why);
    }
    let how = match &shared.login_command {
        Some(command) => format!(
            "<p>On the machine where the adapter runs, this command prints a new link:</p>\n\
             <pre><code>{}</code></pre>",
            escaped(command)
        ),
        None => {
            "<p>Open the one-time link that the adapter printed on its terminal when it started, \
                 or ask whoever runs it for a new one.</p>"
                .to_owned()
        }
    };
    let page =
        include_str!("signed_out.html").replace("{why}", &escaped(why)).replace("{how}", &how);
    (status, typed(HTML), page).into_response()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
