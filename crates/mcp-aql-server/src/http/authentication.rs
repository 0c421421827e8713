//! Authenticates requests before anything else reads them, as MCP asks of a resource server.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HOST, RETRY_AFTER, WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use mcp_aql_core::future::{BoxFuture, erased};
use mcp_aql_core::principal::Principal;
use serde_json::json;
use tower_service::Service;

use super::options::ENDPOINT_PATH;
use crate::auth::Authenticator;

/// The path of the metadata of the resource (RFC 9728), without and with the path of the endpoint.
pub(super) const METADATA_PATHS: [&str; 2] =
    ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"];

/// What clients are told about the resource.
#[derive(Clone)]
pub(super) struct Resource {
    pub(super) authenticator: Arc<dyn Authenticator>,
    /// The URL of the endpoint, if the operator has set it.
    pub(super) url: Option<Arc<str>>,
    /// The name of the adapter.
    pub(super) name: Arc<str>,
    /// All scopes of the adapter.
    pub(super) scopes: Arc<[String]>,
}

/// A challenge for a client without sufficient authentication. Requests carry it as an extension.
#[derive(Debug, Clone)]
pub(super) struct Challenge {
    /// The parameter with the place of the metadata.
    metadata: String,
}

impl Challenge {
    /// Responds that the token lacks a scope.
    pub(super) fn insufficient_scope(&self, mut response: Response, scope: &str) -> Response {
        *response.status_mut() = StatusCode::FORBIDDEN;
        let text =
            format!(r#"Bearer error="insufficient_scope", scope="{scope}", {}"#, self.metadata);
        if let Ok(value) = HeaderValue::try_from(text) {
            response.headers_mut().insert(WWW_AUTHENTICATE, value);
        }
        response
    }

    fn respond(&self, status: StatusCode, error: &str, description: &str, scope: &str) -> Response {
        let of_error = match error {
            "" => String::new(),
            error => format!(r#"error="{error}", error_description="{description}", "#),
        };
        let text = format!(r#"Bearer {of_error}scope="{scope}", {}"#, self.metadata);
        let mut response = (status, description.to_owned()).into_response();
        if let Ok(value) = HeaderValue::try_from(text) {
            response.headers_mut().insert(WWW_AUTHENTICATE, value);
        }
        response
    }
}

impl Resource {
    /// The beginning of the URLs of this server: that of the configured URL, or else of the request.
    fn origin(&self, headers: &HeaderMap) -> String {
        if let Some(url) = &self.url {
            return url.strip_suffix(ENDPOINT_PATH).unwrap_or(url).to_owned();
        }
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let is_plain = |host: &&str| {
            host.bytes().all(|each| each.is_ascii_alphanumeric() || b".-:[]".contains(&each))
        };
        format!("http://{}", host.filter(is_plain).unwrap_or("localhost"))
    }

    fn challenge(&self, headers: &HeaderMap) -> Challenge {
        let [path, _] = METADATA_PATHS;
        let origin = self.origin(headers);
        Challenge { metadata: format!(r#"resource_metadata="{origin}{path}""#) }
    }

    /// The metadata of the resource (RFC 9728).
    pub(super) fn metadata(&self, headers: &HeaderMap) -> Response {
        let metadata = json!({
            "resource": format!("{}{ENDPOINT_PATH}", self.origin(headers)),
            "resource_name": &*self.name,
            "authorization_servers": self.authenticator.authorization_servers(),
            "bearer_methods_supported": ["header"],
            "scopes_supported": &*self.scopes,
        });
        let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
        (headers, metadata.to_string()).into_response()
    }

    /// Replaces the token of a request by its principal, or returns the response that refuses the request.
    async fn authenticate(&self, request: &mut Request) -> Result<(), Response> {
        let challenge = self.challenge(request.headers());
        let scope = self.scopes.join(" ");
        let refuse = |status, error, reason: &str| challenge.respond(status, error, reason, &scope);
        let in_query = request.uri().query().is_some_and(has_token);
        let principal = match bearer_token(request.headers()) {
            _ if in_query => {
                let reason =
                    "A token in the URL ends up in logs: send it in the header Authorization";
                return Err(refuse(StatusCode::BAD_REQUEST, "invalid_request", reason));
            }
            Ok(Some(token)) => self.authenticator.authenticate(token).await,
            Ok(None) => {
                let reason = "This server only serves authenticated callers";
                return Err(refuse(StatusCode::UNAUTHORIZED, "", reason));
            }
            Err(reason) => return Err(refuse(StatusCode::BAD_REQUEST, "invalid_request", reason)),
        };
        match principal {
            Ok(principal) => {
                request.headers_mut().remove(AUTHORIZATION);
                request.extensions_mut().insert::<Principal>(principal);
                request.extensions_mut().insert(challenge);
                Ok(())
            }
            Err(error) => Err(match error.reason() {
                Some(reason) => {
                    tracing::info!(reason, "a token was refused");
                    let printable =
                        |each: &char| (' '..='~').contains(each) && !r#""\"#.contains(*each);
                    let reason: String = reason.chars().filter(printable).collect();
                    refuse(StatusCode::UNAUTHORIZED, "invalid_token", &reason)
                }
                None => unavailable(),
            }),
        }
    }
}

fn unavailable() -> Response {
    let reason = "Tokens cannot be checked at present. Try again later";
    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "30")], reason).into_response()
}

/// Whether a query string has a token.
fn has_token(query: &str) -> bool {
    query.split('&').any(|pair| pair.split('=').next() == Some("access_token"))
}

/// The bearer token of a request.
///
/// # Errors
/// The reason why the headers have none, although they have credentials.
fn bearer_token(headers: &HeaderMap) -> Result<Option<&str>, &'static str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err("Send one header Authorization");
    }
    let form = "The header Authorization is not Bearer with a token";
    let (scheme, token) = value.to_str().ok().and_then(|it| it.split_once(' ')).ok_or(form)?;
    let is_token_char = |each: u8| each.is_ascii_alphanumeric() || b"-._~+/=".contains(&each);
    let is_token = !token.is_empty() && token.bytes().all(is_token_char);
    match scheme.eq_ignore_ascii_case("Bearer") && is_token {
        true => Ok(Some(token)),
        false => Err(form),
    }
}

/// Authenticates the requests to a service, if there is an authenticator.
#[derive(Clone)]
pub(super) struct Authenticated<S> {
    pub(super) inner: S,
    pub(super) resource: Option<Resource>,
}

impl<S> Service<Request> for Authenticated<S>
where
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let mut inner = self.inner.clone();
        let Some(resource) = self.resource.clone() else { return erased(inner.call(request)) };
        erased(async move {
            match resource.authenticate(&mut request).await {
                Ok(()) => inner.call(request).await,
                Err(refusal) => Ok(refusal.map(Body::new)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_well_formed_bearer_token_is_read() {
        let read = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
            }
            bearer_token(&headers).map(|token| token.map(str::to_owned)).map_err(|_| ())
        };
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&["Bearer abc"]), Ok(Some("abc".to_owned())));
        assert_eq!(read(&["bearer a.b-c_d~e+f/g="]), Ok(Some("a.b-c_d~e+f/g=".to_owned())));
        for malformed in [
            &["Bearer a", "Bearer a"][..],
            &["Basic YTpi"],
            &["Bearer"],
            &["Bearer "],
            &["Bearer  a"],
            &["Bearer a b"],
            &["Bearer a, Bearer b"],
        ] {
            assert_eq!(read(malformed), Err(()), "{malformed:?}");
        }
        assert!(has_token("a=1&access_token=x") && !has_token("token=access_token"));
    }
}
