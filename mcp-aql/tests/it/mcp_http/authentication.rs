//! Tests of authentication over HTTP, and of the resources of a principal.

use mcp_aql::auth::{Access, AuthenticationError, Authenticator, Principal, StaticTokens};
use mcp_aql::prelude::*;
use mcp_aql::transport::HttpSettings;
use mcp_aql::{AdapterBuilder, BoxFuture, HttpOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Server, hello, newest, start};

/// Return the caller's name.
#[operation(category = "READ", rationale = "it stores nothing")]
fn get_user(context: Context) -> Option<String> {
    context.principal().map(|principal| principal.subject().to_owned())
}

/// Delete everything of the caller's tenant.
#[operation(category = "DELETE", danger(level = "destructive"))]
fn delete_all(#[param(from_claim = "tenant")] tenant: String) -> String {
    tenant
}

/// Execute nothing in the background.
#[operation(category = "EXECUTE", lifecycle(cancel, retry))]
async fn execute_nothing() {
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
}

fn builder() -> AdapterBuilder {
    Adapter::builder("things")
        .operation(get_user {})
        .operation(delete_all {})
        .operation(execute_nothing {})
}

fn tokens() -> StaticTokens {
    let all = ["things:read", "things:delete", "things:execute"];
    let named = |name: &str| Principal::new("operator", name).with_claim("tenant", name);
    StaticTokens::new()
        .token("ada-1", named("ada").with_scopes(all))
        .token("ada-2", named("ada").with_scopes(all))
        .token("ada-south", named("ada").with_claim("tenant", "south").with_scopes(all))
        .token("eve-1", named("eve").with_scopes(all))
        .token("reader", named("reader").with_scopes(["things:read"]))
        .token("root", named("root").with_scopes(all).with_scopes(["things:admin"]))
}

async fn authenticated() -> Server {
    start(builder(), HttpOptions::new().authenticator(tokens())).await
}

fn call(tool: &str, operation: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool, "arguments": { "operation": operation, "params": params } } })
}

/// Returns a call in the form of MCP 2026-07-28, without a session.
pub(crate) fn stateless(
    tool: &'static str,
    operation: &str,
    params: Value,
) -> (Vec<(&'static str, &'static str)>, String) {
    let (headers, _) = newest("");
    let mut headers = headers.to_vec();
    headers.retain(|(name, _)| *name != "Mcp-Name");
    headers.push(("Mcp-Name", tool));
    let mut body = call(tool, operation, params);
    let (_, of_read) = newest("");
    body["params"]["_meta"] =
        serde_json::from_str::<Value>(&of_read).unwrap()["params"]["_meta"].clone();
    (headers, body.to_string())
}

/// Returns the reply in an answer.
pub(crate) fn reply(answer: &str) -> Value {
    let at = answer.find("\"text\":").unwrap_or_else(|| panic!("{answer}")) + "\"text\":".len();
    let text = serde_json::Deserializer::from_str(&answer[at..]).into_iter::<String>().next();
    serde_json::from_str(&text.unwrap().unwrap()).unwrap()
}

/// Returns the value of a header of an answer.
fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

impl Server {
    /// Opens a session with this bearer token.
    pub(crate) async fn session_of(&self, bearer: &str) -> String {
        let (_, answer) = self.post(&[("Authorization", bearer)], hello()).await;
        let id = header(&answer, "mcp-session-id").unwrap_or_else(|| panic!("{answer}"));
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
        let headers = [("Authorization", bearer), ("Mcp-Session-Id", id)];
        assert_eq!(self.post(&headers, ready).await.0, 202);
        id.to_owned()
    }
}

#[tokio::test]
async fn requests_without_a_valid_token_are_refused() {
    let server = authenticated().await;
    let (own, body) = newest("get_user");
    for (headers, status, error) in [
        (vec![], 401, None),
        (vec![("Authorization", "Bearer wrong")], 401, Some("invalid_token")),
        (vec![("Authorization", "Bearer ")], 400, Some("invalid_request")),
        (vec![("Authorization", "Basic YWRhLTE=")], 400, Some("invalid_request")),
        (vec![("Authorization", "Bearer ada-1 ada-1")], 400, Some("invalid_request")),
        (
            vec![("Authorization", "Bearer ada-1"), ("authorization", "Bearer wrong")],
            400,
            Some("invalid_request"),
        ),
        (vec![("Cookie", "token=ada-1"), ("X-Authorization", "Bearer ada-1")], 401, None),
    ] {
        for body in [hello(), body.clone()] {
            let all: Vec<_> = own.iter().copied().chain(headers.clone()).collect();
            let (actual, answer) = server.post(&all, body).await;
            assert_eq!(actual, status, "{headers:?}: {answer}");
            let challenge = header(&answer, "www-authenticate").unwrap();
            // Clients would look for an authorization server in this document.
            assert!(challenge.starts_with("Bearer scope") || challenge.starts_with("Bearer error"));
            assert!(!challenge.contains("resource_metadata="), "{challenge}");
            assert_eq!(challenge.contains("error="), error.is_some(), "{challenge}");
            assert!(error.is_none_or(|error| challenge.contains(error)), "{challenge}");
        }
    }
    for query in ["?access_token=ada-1", "?a=1&access_token=wrong"] {
        let headers = [("Authorization", "Bearer ada-1")];
        let target = format!("POST /mcp{query}");
        let (status, answer) =
            server.send_in_pieces(&target, &headers, &[hello().as_bytes()]).await;
        assert_eq!(status, 400, "{answer}");
    }
    for method in ["GET", "DELETE", "OPTIONS", "PUT"] {
        assert_eq!(server.send(method, &[], "").await.0, 401, "{method}");
    }
}

/// The tokens of an authorization server.
struct Issued(StaticTokens);

impl Authenticator for Issued {
    fn authenticate<'a>(
        &'a self,
        token: &'a str,
    ) -> BoxFuture<'a, Result<Principal, AuthenticationError>> {
        self.0.authenticate(token)
    }

    fn authorization_servers(&self) -> Vec<String> {
        vec!["https://login.test".to_owned()]
    }
}

#[tokio::test]
async fn clients_find_the_metadata_of_the_resource() {
    for (url, metadata_url) in [
        (None, "http://ADDRESS/.well-known/oauth-protected-resource/mcp"),
        (
            Some("https://things.test/mcp"),
            "https://things.test/.well-known/oauth-protected-resource/mcp",
        ),
        (
            Some("https://things.test/a/b"),
            "https://things.test/.well-known/oauth-protected-resource/a/b",
        ),
        (Some("https://things.test/"), "https://things.test/.well-known/oauth-protected-resource"),
    ] {
        let options = HttpOptions::new().authenticator(Issued(tokens()));
        let options = match url {
            Some(url) => options.resource(url),
            None => options,
        };
        let server = start(builder(), options).await;
        let address = server.address.to_string();
        let (_, answer) = server.post(&[], hello()).await;
        let challenge = header(&answer, "www-authenticate").unwrap();
        let found = challenge.split("resource_metadata=\"").nth(1).unwrap().trim_end_matches('"');
        assert_eq!(found, metadata_url.replace("ADDRESS", &address));
        let path = found.splitn(4, '/').nth(3).unwrap();
        let (status, answer) = server.send_in_pieces(&format!("GET /{path}"), &[], &[b""]).await;
        assert_eq!(status, 200, "{answer}");
        let metadata: Value =
            serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        let own = format!("http://{address}/mcp");
        assert_eq!(metadata["resource"], url.unwrap_or(&own));
        assert_eq!(metadata["authorization_servers"], json!(["https://login.test"]));
        assert_eq!(metadata["bearer_methods_supported"], json!(["header"]));
        let scopes = metadata["scopes_supported"].as_array().unwrap();
        assert!(scopes.contains(&json!("things:delete")), "{scopes:?}");
    }
}

#[tokio::test]
async fn operations_know_the_principal_with_and_without_sessions() {
    let server = authenticated().await;
    for (token, name) in [("Bearer ada-1", "ada"), ("bearer eve-1", "eve")] {
        let (headers, body) = stateless("mcp_aql_read", "get_user", json!({}));
        let all: Vec<_> = headers.into_iter().chain([("Authorization", token)]).collect();
        let (_, answer) = server.post(&all, body).await;
        assert_eq!(reply(&answer)["data"], name);
        let id = server.session_of(token).await;
        let headers = [("Authorization", token), ("Mcp-Session-Id", &*id)];
        let (_, answer) =
            server.post(&headers, call("mcp_aql_read", "get_user", json!({})).to_string()).await;
        assert_eq!(reply(&answer)["data"], name);
    }
}

#[tokio::test]
async fn a_missing_scope_is_forbidden_and_named() {
    let server = authenticated().await;
    let id = server.session_of("Bearer reader").await;
    let session = [("Authorization", "Bearer reader"), ("Mcp-Session-Id", &*id)];
    let in_session = call("mcp_aql_delete", "delete_all", json!({})).to_string();
    let (headers, alone) = stateless("mcp_aql_delete", "delete_all", json!({}));
    let headers: Vec<_> = headers.into_iter().chain([("Authorization", "Bearer reader")]).collect();
    for (headers, body) in [(&session[..], in_session), (&headers, alone)] {
        let (status, answer) = server.post(headers, body).await;
        assert_eq!(status, 403, "{answer}");
        let challenge = header(&answer, "www-authenticate").unwrap();
        assert!(
            challenge.contains(r#"error="insufficient_scope", scope="things:delete""#),
            "{challenge}"
        );
        assert_eq!(reply(&answer)["error"]["code"], "PERMISSION_DENIED");
    }
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    let (_, answer) = server.post(&session, list.clone()).await;
    assert!(answer.contains("mcp_aql_read") && answer.contains("get_user"), "{answer}");
    assert!(!answer.contains("mcp_aql_delete") && !answer.contains("delete_all"), "{answer}");
    let id = server.session_of("Bearer ada-1").await;
    let session = [("Authorization", "Bearer ada-1"), ("Mcp-Session-Id", &*id)];
    let (_, answer) = server.post(&session, list).await;
    assert!(answer.contains("mcp_aql_delete") && answer.contains("delete_all"), "{answer}");
}

#[tokio::test]
async fn a_missing_scope_is_a_reply_without_challenges() {
    let options = HttpOptions::new().authenticator(tokens()).scope_challenges(false);
    let server = start(builder(), options).await;
    let id = server.session_of("Bearer reader").await;
    let headers = [("Authorization", "Bearer reader"), ("Mcp-Session-Id", &*id)];
    let body = call("mcp_aql_delete", "delete_all", json!({})).to_string();
    let (status, answer) = server.post(&headers, body).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(header(&answer, "www-authenticate"), None);
    let error = &reply(&answer)["error"];
    assert_eq!(error["code"], "PERMISSION_DENIED");
    assert_eq!(error["details"]["required_scope"], "things:delete");
    // A request without a token is still rejected.
    assert_eq!(server.post(&[], "{}").await.0, 401);
}

#[tokio::test]
async fn sessions_belong_to_the_principal_that_opened_them() {
    let server = authenticated().await;
    let id = server.session_of("Bearer ada-1").await;
    let body = call("mcp_aql_read", "get_user", json!({})).to_string();
    for (token, status) in [
        ("Bearer ada-1", 200),
        ("Bearer ada-2", 200),
        ("Bearer ada-south", 404),
        ("Bearer eve-1", 404),
        ("Bearer root", 404),
    ] {
        let headers = [("Authorization", token), ("Mcp-Session-Id", &*id)];
        assert_eq!(server.post(&headers, &body).await.0, status, "{token}");
        if status == 404 {
            for method in ["GET", "DELETE"] {
                assert_eq!(server.send(method, &headers, "").await.0, 404, "{method}");
            }
            let resumed =
                [headers[0], headers[1], ("Last-Event-ID", "0/0"), ("Accept", "text/event-stream")];
            assert_eq!(server.send("GET", &resumed, "").await.0, 404);
            // The answer does not reveal whether the session exists.
            let mut resumed = resumed;
            resumed[2].1 = "1/7/01234567/7";
            let foreign = server.send("GET", &resumed, "").await;
            resumed[1].1 = "of-nobody";
            let unknown = server.send("GET", &resumed, "").await;
            let body = |answer: (u16, String)| {
                (answer.0, answer.1.split_once("\r\n\r\n").map(|parts| parts.1.to_owned()))
            };
            assert_eq!(body(foreign), body(unknown));
        }
    }
    let headers = [("Authorization", "Bearer ada-1"), ("Mcp-Session-Id", &*id)];
    assert_eq!(server.post(&headers, &body).await.0, 200, "another principal has ended it");
}

#[tokio::test]
async fn an_unauthenticated_request_does_not_choose_the_host_of_the_metadata() {
    let server = start(builder(), HttpOptions::new().authenticator(Issued(tokens()))).await;
    for (host, named) in [
        ("evil.test", "localhost"),
        ("localhost:99", "localhost:99"),
        ("evil.test:80", "localhost"),
    ] {
        let (status, refused) = server.post(&[("Host", host)], hello()).await;
        assert_eq!(status, 401);
        let path = "GET /.well-known/oauth-protected-resource";
        let (status, metadata) = server.send_in_pieces(path, &[("Host", host)], &[]).await;
        assert_eq!(status, 200, "{metadata}");
        for answer in [refused, metadata] {
            assert!(
                !answer.contains("evil") && answer.contains(&format!("http://{named}/")),
                "{answer}"
            );
        }
    }
}

#[tokio::test]
async fn a_header_that_is_sent_twice_gives_access_to_nothing_more() {
    let server = authenticated().await;
    let own = server.session_of("Bearer eve-1").await;
    let foreign = server.session_of("Bearer ada-1").await;
    let body = call("mcp_aql_read", "get_user", json!({})).to_string();
    let eve = ("Authorization", "Bearer eve-1");
    let session = ("Mcp-Session-Id", &*own);
    for headers in [
        vec![session, ("Mcp-Session-Id", &*foreign)],
        vec![("mcp-session-id", &*foreign), session],
        vec![session, session],
        vec![session, ("Authorization", "Bearer ada-1")],
        vec![session, ("Host", "localhost"), ("Host", "evil.test")],
        vec![session, ("Host", "evil.test"), ("Host", "localhost")],
        vec![session, ("Origin", "http://localhost"), ("Origin", "https://evil.test")],
        vec![session, ("Origin", "https://evil.test"), ("Origin", "http://localhost")],
    ] {
        let headers: Vec<_> = headers.into_iter().chain([eve]).collect();
        for method in ["POST", "GET", "DELETE"] {
            let (status, answer) = server.send(method, &headers, &body).await;
            assert_eq!(status, 400, "{method} {headers:?}: {answer}");
        }
    }
    let (_, answer) = server.post(&[eve, session], &body).await;
    assert_eq!(reply(&answer)["data"], "eve");
    let ada = [("Authorization", "Bearer ada-1"), ("Mcp-Session-Id", &*foreign)];
    assert_eq!(server.post(&ada, &body).await.0, 200, "the session was ended");
}

#[tokio::test]
async fn one_principal_does_not_use_up_the_sessions() {
    // REQ-SES-01, REQ-SES-02
    let options = HttpOptions::new().settings(HttpSettings {
        max_sessions: 4,
        max_sessions_per_principal: 2,
        ..HttpSettings::default()
    });
    let server = start(builder(), options.authenticator(tokens())).await;
    let body = call("mcp_aql_read", "get_user", json!({})).to_string();
    let status = async |token: &'static str, id: &str| {
        server.post(&[("Authorization", token), ("Mcp-Session-Id", id)], &body).await.0
    };
    let others = server.session_of("Bearer eve-1").await;
    let one = server.session_of("Bearer ada-1").await;
    let two = server.session_of("Bearer ada-2").await;
    assert_eq!(status("Bearer ada-1", &one).await, 200);
    // Another session of the principal evicts one of its own, although a session of someone else was unused for longer.
    let three = server.session_of("Bearer ada-1").await;
    assert_eq!(status("Bearer ada-2", &two).await, 404);
    for (token, id) in [("Bearer ada-2", &one), ("Bearer ada-2", &three), ("Bearer eve-1", &others)]
    {
        assert_eq!(status(token, id).await, 200, "{token}");
    }
    // If all sessions of the principal are in use, the request is rejected.
    let mut streams = Vec::new();
    for id in [&one, &three] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let request = format!(
            "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\
             Authorization: Bearer ada-1\r\nMcp-Session-Id: {id}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.read_u8().await.unwrap();
        streams.push(stream);
    }
    for token in ["Bearer ada-1", "Bearer ada-2"] {
        let (status, answer) = server.post(&[("Authorization", token)], hello()).await;
        assert_eq!(status, 429, "{answer}");
        assert!(answer.contains("retry-after: 10\r\n"), "{answer}");
        assert!(
            answer.contains(r#""id":0,"error":{"code":-32000,"message":"This caller"#),
            "{answer}"
        );
    }
    // The limit on all sessions is separate. It evicts sessions of any principal.
    let root = server.session_of("Bearer root").await;
    assert_eq!(status("Bearer root", &root).await, 200);
    server.session_of("Bearer root").await;
    assert_eq!(status("Bearer eve-1", &others).await, 404);
    assert_eq!(
        (status("Bearer ada-1", &one).await, status("Bearer ada-1", &three).await),
        (200, 200)
    );
}

#[tokio::test]
async fn executions_belong_to_the_principal_that_began_them() {
    let server = authenticated().await;
    let ask = async |token: &'static str, tool: &'static str, operation: &str, params: Value| {
        let (headers, body) = stateless(tool, operation, params);
        let all: Vec<_> = headers.into_iter().chain([("Authorization", token)]).collect();
        reply(&server.post(&all, body).await.1)
    };
    let begun = ask("Bearer ada-1", "mcp_aql_execute", "execute_nothing", json!({})).await;
    let id = json!({ "execution_id": begun["data"]["execution_id"] });
    for (token, sees) in [("Bearer ada-2", true), ("Bearer eve-1", false), ("Bearer root", true)] {
        let found = ask(token, "mcp_aql_read", "get_execution", id.clone()).await;
        assert_eq!(found["success"], sees, "{token}: {found}");
        let listed = ask(token, "mcp_aql_read", "list_executions", json!({})).await;
        let lists = token == "Bearer ada-2";
        assert_eq!(
            listed["data"]["items"].as_array().unwrap().len(),
            usize::from(lists),
            "{listed}"
        );
    }
    for operation in ["cancel_execution", "retry_execution"] {
        let refused = ask("Bearer eve-1", "mcp_aql_execute", operation, id.clone()).await;
        assert_eq!(refused["error"]["code"], "NOT_FOUND_RESOURCE", "{operation}: {refused}");
    }
    let retried = ask("Bearer root", "mcp_aql_execute", "retry_execution", id.clone()).await;
    assert_eq!(retried["error"]["code"], "PERMISSION_DENIED", "{retried}");
    let cancelled = ask("Bearer root", "mcp_aql_execute", "cancel_execution", id).await;
    assert_eq!(cancelled["data"]["status"], "cancelled", "{cancelled}");
}

#[tokio::test]
async fn confirmation_tokens_belong_to_the_principal_that_received_them() {
    let server = authenticated().await;
    let ask = async |token: &'static str, params: Value| {
        let (headers, body) = stateless("mcp_aql_delete", "delete_all", params);
        let all: Vec<_> = headers.into_iter().chain([("Authorization", token)]).collect();
        reply(&server.post(&all, body).await.1)
    };
    let asked = ask("Bearer ada-1", json!({})).await;
    assert_eq!(asked["error"]["code"], "CONFIRMATION_REQUIRED", "{asked}");
    let confirmation =
        json!({ "confirmation_token": asked["error"]["details"]["confirmation_token"] });
    let foreign = ask("Bearer eve-1", confirmation.clone()).await;
    assert_eq!(foreign["success"], false, "{foreign}");
    let own = ask("Bearer ada-2", confirmation.clone()).await;
    assert_eq!(own["data"], "ada", "{own}");
    let again = ask("Bearer ada-1", confirmation).await;
    assert_eq!(again["error"]["code"], "TOKEN_ALREADY_USED", "{again}");
}

#[tokio::test]
async fn the_state_of_a_question_belongs_to_the_principal_that_was_asked() {
    let server = authenticated().await;
    let send = async |token: &'static str, state: Option<&Value>, action: &str| {
        let (headers, body) = stateless("mcp_aql_delete", "delete_all", json!({}));
        let mut body: Value = serde_json::from_str(&body).unwrap();
        let params = &mut body["params"];
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({ "elicitation": { "form": {} } });
        if let Some(state) = state {
            params["requestState"] = state.clone();
            params["inputResponses"] = json!({ "confirmation": { "action": action } });
        }
        let all: Vec<_> = headers.into_iter().chain([("Authorization", token)]).collect();
        let answer = server.post(&all, body.to_string()).await.1;
        answer[answer.find('{').unwrap()..].to_owned()
    };
    let asked: Value =
        serde_json::from_str(&send("Bearer ada-1", None, "").await).expect("one message");
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let question = &result["inputRequests"]["confirmation"];
    assert_eq!(question["method"], "elicitation/create", "{asked}");
    assert_eq!(question["params"]["message"], "Run delete_all?\n(delete_all, destructive)");
    let state = Some(&result["requestState"]);
    let malformed = send("Bearer eve-1", Some(&json!(7)), "accept").await;
    assert!(malformed.contains("-32602"), "{malformed}");
    for state in [state, Some(&json!("question_x")), Some(&json!(""))] {
        let foreign = reply(&send("Bearer eve-1", state, "accept").await);
        let code = foreign["error"]["code"].as_str().unwrap();
        assert!(code == "TOKEN_INVALID" || code == "TOKEN_SCOPE_MISMATCH", "{foreign}");
    }
    let own = reply(&send("Bearer ada-2", state, "accept").await);
    assert_eq!(own["data"], "ada", "{own}");
    let again = reply(&send("Bearer ada-1", state, "accept").await);
    assert_eq!(again["error"]["code"], "TOKEN_ALREADY_USED", "{again}");
}

#[tokio::test]
async fn an_authenticator_satisfies_an_adapter_that_requires_a_principal() {
    let access = Access::new().require_principal(true);
    let server = start(builder().access(access), HttpOptions::new().authenticator(tokens())).await;
    let (headers, body) = newest("get_user");
    let all: Vec<_> = headers.into_iter().chain([("Authorization", "Bearer ada-1")]).collect();
    let (_, answer) = server.post(&all, body).await;
    assert_eq!(reply(&answer)["data"], "ada");
}

#[tokio::test]
async fn principals_without_sessions_share_no_account() {
    // REQ-TOK-17
    let builder = builder().confirmations_per_minute(1);
    let server = start(builder, HttpOptions::new().authenticator(tokens())).await;
    for (token, code) in [
        ("Bearer ada-1", "CONFIRMATION_REQUIRED"),
        ("Bearer ada-2", "RATE_LIMIT_EXCEEDED"),
        ("Bearer eve-1", "CONFIRMATION_REQUIRED"),
        ("Bearer eve-1", "RATE_LIMIT_EXCEEDED"),
    ] {
        let (headers, body) = stateless("mcp_aql_delete", "delete_all", json!({}));
        let all: Vec<_> = headers.into_iter().chain([("Authorization", token)]).collect();
        let answer = reply(&server.post(&all, body).await.1);
        assert_eq!(answer["error"]["code"], code, "{token}: {answer}");
    }
}

/// Builds an adapter with this configuration file.
fn with_file(text: &str) -> Result<Adapter, mcp_aql::BuildError> {
    let path = std::env::temp_dir().join(format!("mcp-aql-{}.toml", uuid()));
    std::fs::write(&path, text).unwrap();
    let adapter = builder().config_file(&path).build();
    std::fs::remove_file(path).unwrap();
    adapter
}

fn uuid() -> String {
    mcp_aql::Session::new().id().to_owned()
}

#[tokio::test]
async fn the_configuration_file_names_tokens_and_scopes() {
    // echo -n secret | sha256sum
    let hash = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    let adapter = with_file(&format!(
        "[access]\nscope_prefix = 'x'\n[auth]\nresource = 'https://things.test/mcp'\n[[auth.tokens]]\n\
         sha256 = '{hash}'\nsubject = 'ada'\nscopes = ['x:read']\nclaims = {{ tenant = 'north' }}"
    ))
    .unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let done = tokio::spawn(async move {
        let stopped = async { stopped.await.unwrap_or_default() };
        adapter.serve_listener(listener, HttpOptions::new(), stopped).await
    });
    let server = Server { address, stop, done };
    let (headers, body) = newest("get_user");
    let (status, answer) = server.post(&headers, &body).await;
    assert_eq!(status, 401, "{answer}");
    let all: Vec<_> = headers.into_iter().chain([("Authorization", "Bearer secret")]).collect();
    assert_eq!(reply(&server.post(&all, body).await.1)["data"], "ada");
}

#[test]
fn faults_of_the_table_auth_are_named() {
    let token = |rest: &str| format!("[[auth.tokens]]\nsha256 = '{}'\n{rest}", "0".repeat(64));
    for (table, expected) in [
        ("[auth]\nresource = 'https://x.test'", "it configures no authentication"),
        ("[auth]\ntokens = []", "it configures no authentication"),
        ("[[auth.tokens]]\nsha256 = '00'\nsubject = 'a'", "64 hexadecimal digits"),
        ("[[auth.tokens]]\nsubject = 'a'", "sha256"),
        ("[auth]\npassword = 'x'", "password"),
        ("[auth]\nresource = 'things.test'", "not a URL"),
        (&token("subject = ''"), "empty `subject`"),
        (&token("subject = 'a'\nscopes = ['a b']"), "is not one scope"),
        (
            "[auth.jwt]\nissuer = 'a'\naudience = 'b'",
            if cfg!(feature = "jwt") { "keys_url" } else { "needs the feature `jwt`" },
        ),
    ] {
        let adapter = with_file(table).unwrap();
        let error = HttpOptions::new().configured(&adapter).unwrap_err().to_string();
        assert!(error.contains(expected), "{table}: {error}");
    }
    let error = with_file("[access]\nscope_prefx = 'x'").unwrap_err().to_string();
    assert!(error.contains("scope_prefx"), "{error}");
}

#[tokio::test]
async fn a_router_with_an_invalid_table_auth_serves_nobody() {
    let adapter = with_file("[auth]\ntokens = []").unwrap();
    let router = adapter.router(&HttpOptions::new());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, _) = tokio::sync::oneshot::channel();
    let done = tokio::spawn(async move { Ok(axum::serve(listener, router).await?) });
    let server = Server { address, stop, done };
    let (status, answer) = server.post(&[("Authorization", "Bearer x")], hello()).await;
    assert_eq!(status, 503, "{answer}");
    server.done.abort();
}

#[tokio::test]
async fn an_anonymous_caller_of_an_adapter_that_requires_a_principal_learns_nothing() {
    let access = Access::new().require_principal(true);
    let server = start(builder().access(access), HttpOptions::new()).await;
    let id = server.session("2025-11-25").await;
    let session = [("Mcp-Session-Id", &*id)];
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    let (_, answer) = server.post(&session, list).await;
    assert!(answer.contains("\"tools\":[]"), "{answer}");
    for operation in ["get_users", "delete_all", "introspect"] {
        let call = call("mcp_aql_read", operation, json!({})).to_string();
        let reply = reply(&server.post(&session, call).await.1);
        assert_eq!(reply["error"]["code"], "PERMISSION_DENIED", "{operation}: {reply}");
        assert!(!reply.to_string().contains("get_user'"), "{reply}");
    }
}
