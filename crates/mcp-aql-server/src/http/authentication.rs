//! Authenticates requests before anything else reads them, as MCP requires of a resource server.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HOST, RETRY_AFTER, WWW_AUTHENTICATE,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::caller::Principal;
use mcp_aql_core::internal::util::erased;
use serde_json::{Map, Value, json};
use tower_service::Service;

use super::auth::Authenticator;
use super::options::ENDPOINT_PATH;

/// Path of the metadata of a resource, followed by the path of the resource (RFC 9728 §3.1).
const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// The published properties of the resource, and its authenticator.
#[derive(Clone)]
pub(super) struct Resource {
    pub(super) authenticator: Arc<dyn Authenticator>,
    /// The URL of the endpoint, if the operator has configured it.
    pub(super) url: Option<Arc<str>>,
    /// The name of the adapter.
    pub(super) name: Arc<str>,
    /// All scopes of the adapter.
    pub(super) scopes: Arc<[String]>,
    /// The allowed values of `Host`.
    pub(super) hosts: Arc<[String]>,
    /// If `true`, calls without the scope of their operation are answered with a challenge.
    pub(super) scope_challenges: bool,
}

/// A challenge for a client with insufficient authentication. Stored in the extensions of requests.
#[derive(Debug, Clone)]
pub(super) struct Challenge {
    /// The URL of the metadata. Unset if it names no authorization servers.
    metadata: Option<String>,
}

impl Challenge {
    /// Adds to a response that the token lacks a scope.
    pub(super) fn insufficient_scope(&self, mut response: Response, scope: &str) -> Response {
        *response.status_mut() = StatusCode::FORBIDDEN;
        self.add_to(&mut response, &[("error", "insufficient_scope"), ("scope", scope)]);
        response
    }

    fn respond(&self, status: StatusCode, error: &str, description: &str, scope: &str) -> Response {
        let mut response = (status, description.to_owned()).into_response();
        let of_error = if error.is_empty() { "" } else { description };
        let parameters = [("error", error), ("error_description", of_error), ("scope", scope)];
        self.add_to(&mut response, &parameters);
        response
    }

    /// Adds the header `WWW-Authenticate` with these parameters. Empty ones are omitted.
    fn add_to(&self, response: &mut Response, parameters: &[(&str, &str)]) {
        let metadata = self.metadata.as_deref().unwrap_or_default();
        let all = parameters.iter().copied().chain([("resource_metadata", metadata)]);
        let given = all.filter(|(_, value)| !value.is_empty());
        let parameters: Vec<_> = given.map(|(name, value)| format!("{name}=\"{value}\"")).collect();
        let text = format!("Bearer {}", parameters.join(", "));
        if let Ok(value) = HeaderValue::try_from(text.trim_end()) {
            response.headers_mut().insert(WWW_AUTHENTICATE, value);
        }
    }
}

impl Resource {
    /// Returns the URL of the endpoint, either the configured one or the one in the request.
    fn url(&self, headers: &HeaderMap) -> String {
        if let Some(url) = &self.url {
            return url.to_string();
        }
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let is_plain = |host: &&str| {
            host.bytes().all(|each| each.is_ascii_alphanumeric() || b".-:[]".contains(&each))
        };
        // Only use allowed hosts: the caller is not authenticated yet, and the `Host` header was not checked.
        let is_allowed = |host: &&str| {
            let authority = host.parse::<Authority>().ok();
            let name = authority.as_ref().map(|it| it.host().trim_matches(['[', ']']));
            self.hosts.iter().any(|allowed| {
                let is_it = |host: &str| allowed.eq_ignore_ascii_case(host);
                is_it(host) || name.is_some_and(is_it)
            })
        };
        let host = host.filter(is_plain).filter(is_allowed).unwrap_or("localhost");
        format!("http://{host}{ENDPOINT_PATH}")
    }

    /// Returns the paths of the metadata. Clients that only know the host look for a different path than clients that
    /// know the URL of the endpoint.
    pub(super) fn metadata_paths(&self) -> BTreeSet<String> {
        let mut paths: BTreeSet<_> =
            ["", ENDPOINT_PATH].map(|path| format!("{METADATA_PATH}{path}")).into();
        if let Some(url) = &self.url {
            let (_, path) = origin_and_path(url);
            let is_plain = |each: u8| each.is_ascii_alphanumeric() || b"-._~/".contains(&each);
            if path.bytes().all(is_plain) {
                paths.insert(format!("{METADATA_PATH}{}", path.trim_end_matches('/')));
            }
        }
        paths
    }

    fn challenge(&self, headers: &HeaderMap) -> Challenge {
        let url = self.url(headers);
        let (origin, path) = origin_and_path(&url);
        let metadata = format!("{origin}{METADATA_PATH}{}", path.trim_end_matches('/'));
        let has_servers = !self.authenticator.authorization_servers().is_empty();
        Challenge { metadata: has_servers.then_some(metadata) }
    }

    /// Returns the metadata of the resource, without empty lists (RFC 9728 §3.2).
    ///
    /// ```json
    /// {
    ///   "resource": "https://tasks.example.org/mcp",
    ///   "resource_name": "tasks",
    ///   "bearer_methods_supported": ["header"],
    ///   "authorization_servers": ["https://login.example.org"],
    ///   "scopes_supported": ["tasks:read"]
    /// }
    /// ```
    pub(super) fn metadata(&self, headers: &HeaderMap) -> Response {
        let mut metadata = Map::new();
        metadata.insert("resource".to_owned(), self.url(headers).into());
        metadata.insert("resource_name".to_owned(), (&*self.name).into());
        metadata.insert("bearer_methods_supported".to_owned(), json!(["header"]));
        let servers = self.authenticator.authorization_servers();
        for (name, list) in
            [("authorization_servers", &*servers), ("scopes_supported", &*self.scopes)]
        {
            if !list.is_empty() {
                metadata.insert(name.to_owned(), json!(list));
            }
        }
        let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
        (headers, Value::from(metadata).to_string()).into_response()
    }

    /// Replaces the token of a request with its principal. Returns the response if the request is rejected.
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
                if self.scope_challenges {
                    request.extensions_mut().insert(challenge);
                }
                Ok(())
            }
            Err(error) => Err(match error.reason() {
                Some(reason) => {
                    tracing::info!(reason, "a token was rejected");
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

/// Splits a URL after the host: `https://a.test/mcp` → `("https://a.test", "/mcp")`.
fn origin_and_path(url: &str) -> (&str, &str) {
    let start = url.find("://").map_or(0, |at| at + "://".len());
    let end = url.get(start..).and_then(|rest| rest.find('/')).map(|at| start + at);
    url.split_at_checked(end.unwrap_or(url.len())).unwrap_or((url, ""))
}

/// Returns `true` if a query string contains a token.
fn has_token(query: &str) -> bool {
    query.split('&').any(|pair| pair.split('=').next() == Some("access_token"))
}

/// Returns the bearer token of a request, or `None` if the request has no credentials.
///
/// # Errors
///
/// Returns the reason why the credentials are not a bearer token.
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

/// Authenticates the requests to a service if there is an authenticator.
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
