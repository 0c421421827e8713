//! Tests adapters with https:// and proxies from the environment, all on loopback.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

/// How a server behaves.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Tls,
    /// Uses the certificate of the CA itself.
    AsCa,
    /// Has no TLS and rejects other input as a bad request.
    Plain,
    HangsUp,
    SaysNothing,
    /// Acts as the proxy and as the adapter behind it.
    Proxy,
}

/// An adapter, with the certificate of its CA.
struct Server {
    port: u16,
    folder: tempfile::TempDir,
    /// The heads of all requests, in lowercase.
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server with a certificate for this name.
    fn start(kind: Kind, name: &str) -> Self {
        let (config, ca) = certified(name, kind == Kind::AsCa);
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), ca).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&heads);
        // The thread ends with the process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, config) = (Arc::clone(&seen), Arc::clone(&config));
                std::thread::spawn(move || accept(kind, stream, &seen, config));
            }
        });
        Self { port, folder, heads }
    }

    fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

/// Returns the TLS configuration of a server, and the certificate of its CA as PEM.
fn certified(name: &str, as_ca: bool) -> (Arc<ServerConfig>, String) {
    let params = CertificateParams::new([name.to_owned()]).unwrap();
    let mut for_ca = params.clone();
    for_ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(for_ca, KeyPair::generate().unwrap()).unwrap();
    let (certificate, key) = if as_ca {
        (ca.der().clone(), ca.key().serialize_der())
    } else {
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &ca).unwrap().der().clone(), key.serialize_der())
    };
    let pem = ca.pem();
    let config =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], PrivatePkcs8KeyDer::from(key).into())
            .unwrap();
    (Arc::new(config), pem)
}

fn accept(kind: Kind, mut stream: TcpStream, seen: &Mutex<Vec<String>>, config: Arc<ServerConfig>) {
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    match kind {
        Kind::HangsUp => {
            let _ = stream.read(&mut [0; 16]);
        }
        Kind::SaysNothing => while stream.read(&mut [0; 16]).is_ok_and(|count| count > 0) {},
        Kind::Plain => serve(stream, seen),
        Kind::Tls | Kind::AsCa => over_tls(stream, seen, config),
        Kind::Proxy => {
            let mut first = [0; 7];
            while stream.peek(&mut first).is_ok_and(|count| count > 0 && count < first.len()) {}
            if &first != b"CONNECT" {
                return serve(stream, seen);
            }
            let Some((head, _)) = request(&mut stream) else { return };
            seen.lock().unwrap().push(head);
            if stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").is_ok() {
                over_tls(stream, seen, config);
            }
        }
    }
}

fn over_tls(stream: TcpStream, seen: &Mutex<Vec<String>>, config: Arc<ServerConfig>) {
    serve(StreamOwned::new(ServerConnection::new(config).unwrap(), stream), seen);
}

fn serve(mut stream: impl Read + Write, seen: &Mutex<Vec<String>>) {
    while let Some((head, message)) = request(&mut stream) {
        let answer = if head.starts_with("post") { answer(&message) } else { None };
        let (status, body) = match answer {
            _ if head.is_empty() => ("400 Bad Request", String::new()),
            None => ("202 Accepted", String::new()),
            Some(answer) => ("200 OK", answer.to_string()),
        };
        seen.lock().unwrap().push(head);
        let length = body.len();
        let reply = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        if stream.write_all(reply.as_bytes()).and_then(|()| stream.flush()).is_err() {
            return;
        }
    }
}

/// Reads a request: its head in lowercase, and its message. Returns `None` for input other than HTTP.
fn request(stream: &mut impl Read) -> Option<(String, Value)> {
    let mut bytes = Vec::<u8>::new();
    let mut part = [0; 4096];
    loop {
        if bytes.first().is_some_and(|first| !first.is_ascii_alphabetic()) {
            return Some((String::new(), Value::Null));
        }
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
            if let Some(body) = bytes.get(end + 4..end + 4 + length) {
                return Some((head, serde_json::from_slice(body).unwrap_or_default()));
            }
        }
        match stream.read(&mut part) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&part[..count]),
        }
    }
}

/// Answers as an adapter with one operation in addition to `introspect`.
fn answer(message: &Value) -> Option<Value> {
    let id = message.get("id").filter(|id| !id.is_null())?;
    let arguments = &message["params"]["arguments"];
    let operation = |name: &str| {
        json!({
            "name": name,
            "semantic_category": "READ",
            "endpoint": "read",
            "mcpTool": "mcp_aql_read",
            "description": "Reads.",
            "permissions": { "readOnly": true, "destructive": false },
            "parameters": [],
        })
    };
    let introspects = arguments["operation"] == "introspect";
    let params = &arguments["params"];
    let data = match (params["query"].as_str(), params["name"].as_str()) {
        _ if !introspects => json!({}),
        (Some("operations"), Some(name)) => json!({ "operation": operation(name) }),
        (Some("operations"), None) => {
            json!({ "operations": [operation("introspect"), operation("list_things")] })
        }
        _ => json!({ "types": [] }),
    };
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "behind_tls", "version": "1.2.3" },
        }),
        Some("tools/list") => json!({ "tools": [{
            "name": "mcp_aql_read",
            "description": "Reads.",
            "inputSchema": {
                "type": "object", "properties": { "operation": { "type": "string" } },
            },
        }] }),
        Some("tools/call") => {
            let text = json!({ "success": true, "data": data }).to_string();
            json!({ "content": [{ "type": "text", "text": text }], "isError": false })
        }
        _ => json!({}),
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// Runs the command without the proxy and TLS variables of the environment.
fn run(url: &str, arguments: &[&str], variables: &[(&str, &Path)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-aql-conformance"));
    command
        .args(["test", "--category", "tools", "--url", url])
        .args(arguments)
        .stdin(Stdio::null());
    for name in
        ["SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"]
    {
        command.env_remove(name).env_remove(name.to_ascii_lowercase());
    }
    command.envs(variables.iter().copied()).output().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Checks that the adapter was learned and tested.
fn assert_tested(output: &Output) {
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["implementation"], "behind_tls", "{}", told(output));
    assert!(report["summary"]["passed"].as_u64().unwrap() > 3, "{}", report["summary"]);
}

const JSON: &[&str] = &["--format", "json"];

#[test]
fn tests_an_adapter_with_tls() {
    let server = Server::start(Kind::Tls, "localhost");
    let url = format!("https://ann:top%20secret@localhost:{}/mcp", server.port);
    let output = run(&url, JSON, &[("SSL_CERT_FILE", &server.ca())]);
    assert_tested(&output);
    let heads = server.heads();
    // `ann:top secret`
    let who = "authorization: basic yw5uonrvccbzzwnyzxq=";
    let [host, to] = [format!("host: localhost:{}", server.port), "post /mcp http/1.1".to_owned()];
    for wanted in [who, &host, &to] {
        assert!(heads[0].lines().any(|line| line == wanted), "no {wanted} in {}", heads[0]);
    }
}

#[test]
fn rejects_a_certificate_of_an_unknown_ca() {
    // REQ-CNF-12
    let server = Server::start(Kind::Tls, "localhost");
    let other = Server::start(Kind::Tls, "localhost");
    let url = format!("https://localhost:{}/mcp", server.port);
    let output = run(&url, &[], &[("SSL_CERT_FILE", &other.ca())]);
    let said = told(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for wanted in ["the adapter cannot be reached: the certificate", "set SSL_CERT_FILE to"] {
        assert!(said.contains(wanted), "{said}");
    }
    // Use the CAs of this machine. The machine may have none.
    let output = run(&url, &[], &[]);
    let said = told(&output);
    assert!(matches!(output.status.code(), Some(1 | 3)), "{said}");
    assert!(said.contains("set SSL_CERT_FILE to"), "{said}");
    assert!(server.heads().is_empty(), "{:?}", server.heads());
}

#[test]
fn rejects_a_certificate_for_another_name() {
    let server = Server::start(Kind::Tls, "adapter.example");
    let url = format!("https://localhost:{}/mcp", server.port);
    let output = run(&url, &[], &[("SSL_CERT_FILE", &server.ca())]);
    let said = told(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("adapter.example") && !said.contains("SSL_CERT_FILE"), "{said}");
}

#[test]
fn reports_a_ca_certificate_as_such() {
    let server = Server::start(Kind::AsCa, "localhost");
    let url = format!("https://localhost:{}/mcp", server.port);
    let output = run(&url, &[], &[("SSL_CERT_FILE", &server.ca())]);
    let said = told(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("basicConstraints=CA:FALSE"), "{said}");
}

#[test]
fn missing_trust_store_exits_with_3() {
    // REQ-CNF-12
    let output = run("https://localhost:9", &[], &[("SSL_CERT_FILE", Path::new("no/such.pem"))]);
    let said = told(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("no/such.pem") && said.contains("set SSL_CERT_FILE to"), "{said}");
}

#[test]
fn distinguishes_servers_without_tls_from_silent_ones() {
    // REQ-CNF-12
    for (kind, wanted) in [
        (Kind::Plain, "does not speak TLS: if it has none, write http://"),
        (Kind::HangsUp, "if the server has none, write http://"),
        (Kind::SaysNothing, "no answer to `initialize` within 1200 ms"),
    ] {
        let server = Server::start(kind, "localhost");
        let url = format!("https://localhost:{}/mcp", server.port);
        let patience = if kind == Kind::SaysNothing { "0.4" } else { "10" };
        let output = run(&url, &["--timeout", patience], &[("SSL_CERT_FILE", &server.ca())]);
        let said = told(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(wanted), "`{wanted}` is not in {said}");
    }
}

#[test]
fn uses_the_proxy_of_the_environment() {
    let server = Server::start(Kind::Proxy, "adapter.invalid");
    let proxy = format!("http://ann:secret@127.0.0.1:{}", server.port);
    let proxy = Path::new(&proxy);
    let who = "proxy-authorization: basic yw5uonnly3jlda==";
    let variables = &[
        ("SSL_CERT_FILE", &*server.ca()),
        ("HTTP_PROXY", proxy),
        ("HTTPS_PROXY", proxy),
        ("NO_PROXY", Path::new("elsewhere.invalid")),
    ];
    assert_tested(&run("http://adapter.invalid/mcp", JSON, variables));
    let plain = server.heads();
    for wanted in ["post http://adapter.invalid/mcp http/1.1", "host: adapter.invalid", who] {
        assert!(plain[0].lines().any(|line| line == wanted), "no {wanted} in {}", plain[0]);
    }
    assert_tested(&run("https://adapter.invalid/mcp", JSON, variables));
    let mut tunnelled = server.heads().split_off(plain.len());
    let tunnel = tunnelled.remove(0);
    for wanted in ["connect adapter.invalid:443 http/1.1", who] {
        assert!(tunnel.lines().any(|line| line == wanted), "no {wanted} in {tunnel}");
    }
    assert!(tunnelled[0].starts_with("post /mcp http/1.1\r\n"), "{}", tunnelled[0]);
    // The proxy must not see its credentials inside the tunnel.
    let inside = tunnelled.iter().filter(|head| !head.starts_with("connect"));
    assert!(inside.clone().count() > 3);
    assert!(inside.clone().all(|head| !head.contains("proxy-authorization")));

    let through = Path::new("https://127.0.0.1:9");
    let output = run("https://adapter.invalid/mcp", &[], &[variables[0], ("HTTPS_PROXY", through)]);
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    assert!(told(&output).contains("only proxies with http://"), "{}", told(&output));
}
