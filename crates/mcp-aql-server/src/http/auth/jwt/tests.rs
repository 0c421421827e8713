//! Tests with the tokens of a test issuer, including known attacks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RSA_PSS_SHA256, RsaEncoding, RsaKeyPair,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

const ISSUER: &str = "https://login.test";
const AUDIENCE: &str = "https://tasks.test/mcp";
const NOW: i64 = 1_900_000_000;

/// The keys of an issuer: one of each type, with the ids `rsa`, `ec` and `ed`.
struct Issuer {
    rsa: RsaKeyPair,
    ec: EcdsaKeyPair,
    ed: Ed25519KeyPair,
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Issuer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let text: String = include_str!("rsa_test_key.txt").split_whitespace().collect();
        let signing = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let ec = EcdsaKeyPair::generate_pkcs8(signing, &random).unwrap();
        let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        Self {
            rsa: RsaKeyPair::from_pkcs8(&STANDARD.decode(text).unwrap()).unwrap(),
            ec: EcdsaKeyPair::from_pkcs8(signing, ec.as_ref(), &random).unwrap(),
            ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap(),
        }
    }

    fn key_set(&self) -> Value {
        let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(self.rsa.public());
        let point = self.ec.public_key().as_ref();
        json!({ "keys": [
            { "kty": "RSA", "kid": "rsa", "n": encode(&n), "e": encode(&e) },
            { "kty": "RSA", "kid": "pss", "alg": "PS256", "use": "sig", "n": encode(&n), "e": encode(&e) },
            { "kty": "RSA", "kid": "enc", "use": "enc", "n": encode(&n), "e": encode(&e) },
            { "kty": "EC", "kid": "ec", "crv": "P-256", "x": encode(&point[1..33]), "y": encode(&point[33..]) },
            { "kty": "OKP", "kid": "ed", "crv": "Ed25519", "x": encode(self.ed.public_key()) },
            { "kty": "oct", "kid": "oct", "k": encode("secret") },
        ] })
    }

    /// Creates a token with this header and these claims, signed with the key for the header's algorithm.
    fn token(&self, header: &Value, claims: &Value) -> String {
        self.token_of(header, &claims.to_string())
    }

    /// Creates a token with the claims in this JSON.
    fn token_of(&self, header: &Value, claims: &str) -> String {
        let message = format!("{}.{}", encode(header.to_string()), encode(claims));
        let random = SystemRandom::new();
        let rsa = |encoding: &'static dyn RsaEncoding| {
            let mut signed = vec![0; self.rsa.public().modulus_len()];
            self.rsa.sign(encoding, &random, message.as_bytes(), &mut signed).unwrap();
            signed
        };
        let signed = match header["alg"].as_str() {
            Some("RS256") => rsa(&RSA_PKCS1_SHA256),
            Some("PS256") => rsa(&RSA_PSS_SHA256),
            Some("ES256") => self.ec.sign(&random, message.as_bytes()).unwrap().as_ref().to_vec(),
            Some("EdDSA") => self.ed.sign(message.as_bytes()).as_ref().to_vec(),
            Some("HS256") => {
                // This attack targets verifiers that use the public key as a shared secret.
                let set = self.key_set();
                let secret = set["keys"][0]["n"].as_str().unwrap().to_owned();
                let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret.as_bytes());
                ring::hmac::sign(&key, message.as_bytes()).as_ref().to_vec()
            }
            _ => Vec::new(),
        };
        format!("{message}.{}", encode(signed))
    }
}

fn header(algorithm: &str, key: &str) -> Value {
    json!({ "alg": algorithm, "typ": "at+jwt", "kid": key })
}

fn claims() -> Value {
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": NOW + 60, "iat": NOW - 60,
        "scope": "tasks:read tasks:create", "tenant": "north",
    })
}

fn options() -> JwtOptions {
    let now = chrono::DateTime::from_timestamp(NOW, 0).unwrap();
    JwtOptions::new(ISSUER, AUDIENCE).time_source(TimeSource::new(move || now))
}

/// Creates an authenticator with the keys of an issuer in a file. The file is deleted with the returned directory.
fn authenticator(issuer: &Issuer, options: JwtOptions) -> (JwtAuthenticator, Directory) {
    let directory = Directory::new();
    let path = directory.0.join("keys.json");
    std::fs::write(&path, issuer.key_set().to_string()).unwrap();
    (JwtAuthenticator::new(KeySource::file(path), options), directory)
}

struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("mcp-aql-jwt-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn valid_tokens_have_a_principal() {
    let issuer = Issuer::new();
    let all = options().algorithms([
        Algorithm::RS256,
        Algorithm::PS256,
        Algorithm::ES256,
        Algorithm::EdDSA,
    ]);
    let (authenticator, _directory) = authenticator(&issuer, all);
    for (algorithm, key) in
        [("RS256", "rsa"), ("PS256", "rsa"), ("PS256", "pss"), ("ES256", "ec"), ("EdDSA", "ed")]
    {
        let token = issuer.token(&header(algorithm, key), &claims());
        let principal = authenticator.authenticate(&token).await.unwrap();
        assert_eq!((principal.issuer(), principal.subject()), (ISSUER, "ada"), "{algorithm}");
        assert!(principal.has_scope("tasks:read") && principal.has_scope("tasks:create"));
        assert_eq!(principal.claim("tenant"), Some(&json!("north")));
    }
    // Without a key id, all suitable keys are tried.
    let token = issuer.token(&json!({ "alg": "ES256" }), &claims());
    assert!(authenticator.authenticate(&token).await.is_ok());
    for (name, value) in [
        ("aud", json!(["https://other.test", AUDIENCE])),
        ("exp", json!(NOW - 29)),
        ("nbf", json!(NOW + 29)),
        ("exp", json!(1_900_000_000.5)),
    ] {
        let mut claims = claims();
        claims[name] = value;
        let token = issuer.token(&header("EdDSA", "ed"), &claims);
        assert!(authenticator.authenticate(&token).await.is_ok(), "{claims}");
    }
    let mut listed = claims();
    listed["scp"] = json!(["tasks:delete"]);
    let token = issuer.token(&header("EdDSA", "ed"), &listed);
    assert!(authenticator.authenticate(&token).await.unwrap().has_scope("tasks:delete"));
}

/// Returns forged tokens, tokens for other servers, and tokens outside of their validity, each with its mistake.
fn refused_tokens(issuer: &Issuer) -> Vec<(&'static str, String)> {
    let other = Issuer::new();
    let valid = issuer.token(&header("EdDSA", "ed"), &claims());
    let (message, signature) = valid.rsplit_once('.').unwrap();
    let (first, payload) = message.split_once('.').unwrap();
    let root = encode(claims().to_string().replace("ada", "root"));
    let mut refused = vec![
        ("another payload", format!("{first}.{root}.{signature}")),
        ("no signature", format!("{message}.")),
        ("no signature part", message.to_owned()),
        ("a fourth part", format!("{valid}.{signature}")),
        ("not base64", format!("{first}.{payload}.ä")),
        ("padding", format!("{valid}=")),
        ("empty", String::new()),
        ("dots", "..".to_owned()),
        ("too long", format!("{first}.{}.{signature}", "a".repeat(17 << 10))),
        ("another key of the same name", other.token(&header("EdDSA", "ed"), &claims())),
        ("alg none", issuer.token(&json!({ "alg": "none" }), &claims())),
        ("alg None", issuer.token(&json!({ "alg": "None", "kid": "ed" }), &claims())),
        ("HS256 with the public key", issuer.token(&header("HS256", "rsa"), &claims())),
        ("HS256 with the shared key", issuer.token(&header("HS256", "oct"), &claims())),
        ("an algorithm that is not allowed", issuer.token(&header("PS256", "rsa"), &claims())),
        ("a key for encryption", issuer.token(&header("RS256", "enc"), &claims())),
        ("a key of another algorithm", issuer.token(&header("RS256", "pss"), &claims())),
        ("a key of another kind", issuer.token(&header("RS256", "ec"), &claims())),
        ("an unknown key", issuer.token(&header("EdDSA", "new"), &claims())),
        (
            "a critical header",
            issuer.token(
                &json!({ "alg": "EdDSA", "kid": "ed", "crit": ["b64"], "b64": false }),
                &claims(),
            ),
        ),
        ("an identity token", issuer.token(&json!({ "alg": "EdDSA", "typ": "id+jwt" }), &claims())),
        ("a header that is a list", issuer.token(&json!(["EdDSA"]), &claims())),
        ("claims that are a list", issuer.token(&header("EdDSA", "ed"), &json!([]))),
    ];
    for (what, name, value) in [
        ("another issuer", "iss", json!("https://login.test/")),
        ("no issuer", "iss", Value::Null),
        ("another audience", "aud", json!("https://tasks.test")),
        ("a list without the audience", "aud", json!([])),
        ("no audience", "aud", Value::Null),
        ("expired", "exp", json!(NOW - 30)),
        ("an expiry as text", "exp", json!("2031-01-01")),
        ("no expiry", "exp", Value::Null),
        ("not valid yet", "nbf", json!(NOW + 31)),
        ("issued in the future", "iat", json!(NOW + 31)),
        ("a time as text", "nbf", json!("soon")),
        ("no subject", "sub", Value::Null),
        ("an empty subject", "sub", json!("")),
    ] {
        let mut claims = claims();
        claims[name] = value;
        refused.push((what, issuer.token(&header("EdDSA", "ed"), &claims)));
    }
    for twice in [r#""sub":"root""#, r#""exp":1"#, r#""s\u0075b":"ada""#, r#""new":1,"new":1"#] {
        let claims = claims().to_string().replacen('{', &format!("{{{twice},"), 1);
        refused
            .push(("a claim that occurs twice", issuer.token_of(&header("EdDSA", "ed"), &claims)));
    }
    refused
}

#[tokio::test]
async fn forged_and_foreign_tokens_are_refused() {
    let issuer = Issuer::new();
    let (authenticator, _directory) = authenticator(&issuer, options());
    let valid = issuer.token(&header("EdDSA", "ed"), &claims());
    // The signature of the valid token is now cached. All other tokens must still be rejected.
    assert!(authenticator.authenticate(&valid).await.is_ok());
    for (what, token) in refused_tokens(&issuer) {
        let error = authenticator.authenticate(&token).await.map(|it| it.subject().to_owned());
        assert!(matches!(&error, Err(error) if error.reason().is_some()), "{what}: {error:?}");
    }
    assert!(authenticator.authenticate(&valid).await.is_ok());
}

/// Serves key sets on the loopback interface, and counts the requests.
async fn serve(
    answers: impl Fn(usize) -> String + Send + Sync + 'static,
) -> (String, Arc<AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/keys", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let served = Arc::clone(&count);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer).await.unwrap();
            let body = answers(served.fetch_add(1, Ordering::SeqCst));
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all((head + &body).as_bytes()).await;
        }
    });
    (url, count)
}

#[tokio::test]
async fn a_new_key_is_fetched_once_and_a_storm_of_unknown_keys_fetches_nothing_more() {
    let issuer = Arc::new(Issuer::new());
    let set = issuer.key_set();
    let (url, count) = serve(move |number| match number {
        0 => json!({ "keys": [] }).to_string(),
        _ => set.to_string(),
    })
    .await;
    let authenticator = Arc::new(JwtAuthenticator::new(KeySource::url(&url).unwrap(), options()));
    let valid = issuer.token(&header("EdDSA", "ed"), &claims());
    // The first key set is empty, and it is too new to be fetched again.
    assert!(authenticator.authenticate(&valid).await.is_err());
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let storm = (0..500).map(|number| {
        let token = issuer.token(&header("EdDSA", &format!("k{number}")), &claims());
        let authenticator = Arc::clone(&authenticator);
        tokio::spawn(async move { authenticator.authenticate(&token).await.is_err() })
    });
    for refused in futures_util::future::join_all(storm).await {
        assert!(refused.unwrap());
    }
    assert_eq!(count.load(Ordering::SeqCst), 1, "the storm fetched keys");
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(31)).await;
    tokio::time::resume();
    let fresh = (0..50).map(|_| {
        let (authenticator, token) = (Arc::clone(&authenticator), valid.clone());
        tokio::spawn(async move { authenticator.authenticate(&token).await.is_ok() })
    });
    for accepted in futures_util::future::join_all(fresh).await {
        assert!(accepted.unwrap());
    }
    assert_eq!(count.load(Ordering::SeqCst), 2, "concurrent requests share a fetch");
}

#[tokio::test]
async fn withdrawn_keys_are_refused_and_an_unreachable_issuer_is_no_reason_to_accept() {
    let issuer = Arc::new(Issuer::new());
    let set = issuer.key_set();
    let (url, count) = serve(move |number| match number {
        0 => set.to_string(),
        1..=3 => "broken".to_owned(),
        _ => json!({ "keys": [] }).to_string(),
    })
    .await;
    let authenticator = JwtAuthenticator::new(KeySource::url(&url).unwrap(), options());
    let valid = issuer.token(&header("EdDSA", "ed"), &claims());
    let advance = async |minutes: u64| {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(minutes * 60)).await;
        tokio::time::resume();
    };
    assert!(authenticator.authenticate(&valid).await.is_ok());
    advance(9).await;
    assert!(authenticator.authenticate(&valid).await.is_ok());
    assert_eq!(count.load(Ordering::SeqCst), 1);
    // Recently expired keys are used while newer ones are fetched.
    advance(2).await;
    assert!(authenticator.authenticate(&valid).await.is_ok());
    // A token with an unknown key waits for the running attempt, and does not cause another one.
    let unknown = issuer.token(&header("EdDSA", "unknown"), &claims());
    assert!(authenticator.authenticate(&unknown).await.is_err());
    assert_eq!(count.load(Ordering::SeqCst), 2);
    // The issuer's reply is broken, so its old keys are used for another hour.
    advance(50).await;
    assert!(authenticator.authenticate(&valid).await.is_ok());
    assert_eq!(count.load(Ordering::SeqCst), 3);
    advance(10).await;
    let error = authenticator.authenticate(&valid).await.unwrap_err();
    assert_eq!(error.reason(), None, "stale keys are used");
    advance(1).await;
    let error = authenticator.authenticate(&valid).await.unwrap_err();
    assert!(error.reason().is_some(), "a withdrawn key is accepted");
}

#[test]
fn keys_are_only_fetched_securely() {
    for url in ["http://login.test/keys", "ftp://login.test/keys", "login.test", ""] {
        assert!(KeySource::url(url).is_err(), "{url}");
    }
    assert!(KeySource::url("https://login.test/keys").is_ok());
}

#[test]
fn the_table_of_the_configuration_is_complete() {
    let folder = Directory::new();
    let keys = folder.0.join("k.json");
    std::fs::write(&keys, Issuer::new().key_set().to_string()).unwrap();
    let read =
        |text: &str| serde_json::from_str::<JwtTable>(text).unwrap().authenticator(&folder.0);
    let issuer = r#""issuer": "a", "audience": "b""#;
    assert!(
        read(&format!("{{{issuer}, \"keys_file\": \"k.json\", \"algorithms\": [\"ES256\"]}}"))
            .is_ok()
    );
    assert!(read(&format!("{{{issuer}}}")).is_err());
    assert!(read(&format!("{{{issuer}, \"keys_url\": \"http://x.test/\"}}")).is_err());
    let both = "\"keys_file\": \"k.json\", \"keys_url\": \"https://x.test/\"";
    assert!(read(&format!("{{{issuer}, {both}}}")).is_err());
    let unknown = format!("{{{issuer}, \"keys_file\": \"k\", \"algorithms\": [\"HS256\"]}}");
    assert!(serde_json::from_str::<JwtTable>(&unknown).is_err());
    // The file is checked at startup. Otherwise, a server without keys would answer every client with 503.
    let named = format!("{{{issuer}, \"keys_file\": \"k.json\"}}");
    for content in ["", "{", "[]", r#"{"keys":[]}"#, r#"{"keys":[{"kty":"oct","k":"AA"}]}"#] {
        std::fs::write(&keys, content).unwrap();
        let error = read(&named).unwrap_err().to_string();
        assert!(error.contains("it has no key that can verify a token"), "{content}: {error}");
    }
    std::fs::remove_file(&keys).unwrap();
    assert!(read(&named).is_err());
}

/// Serves an adapter without operations over HTTP.
async fn server(authenticator: impl Authenticator) -> std::net::SocketAddr {
    use crate::{HttpOptions, ServeHttp as _};
    let adapter = mcp_aql_core::Adapter::builder("tasks").without_config().build().unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let options = HttpOptions::new().authenticator(authenticator);
    tokio::spawn(
        async move { adapter.serve_listener(listener, options, std::future::pending()).await },
    );
    address
}

/// Lists the operations over HTTP with this token. Returns the status and the body.
async fn introspect(address: std::net::SocketAddr, token: &[u8]) -> (u16, String) {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "mcp_aql_read", "arguments": { "operation": "introspect", "params": { "query": "operations" } },
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        } } })
    .to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: mcp_aql_read\r\n\
         Authorization: Bearer ",
        body.len()
    );
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = [head.as_bytes(), token, b"\r\n\r\n", body.as_bytes()].concat();
    stream.write_all(&request).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
}

#[tokio::test]
async fn forged_and_foreign_tokens_are_refused_over_http() {
    let issuer = Issuer::new();
    let (authenticator, _directory) = authenticator(&issuer, options());
    let address = server(authenticator).await;
    for (what, token) in refused_tokens(&issuer) {
        let (status, answer) = introspect(address, token.as_bytes()).await;
        let expected = match what {
            // These are not well-formed bearer tokens.
            "empty" | "not base64" => (400, "error=\"invalid_request\""),
            _ => (401, "error=\"invalid_token\""),
        };
        assert_eq!(status, expected.0, "{what}: {answer}");
        assert!(answer.contains(expected.1), "{what}: {answer}");
        assert!(!answer.contains("introspect"), "{what}: {answer}");
    }
    let valid = issuer.token(&header("EdDSA", "ed"), &claims());
    let (status, answer) = introspect(address, valid.as_bytes()).await;
    assert!(status == 200 && answer.contains("introspect"), "{answer}");
}

#[tokio::test]
async fn a_storm_of_unknown_keys_over_http_fetches_nothing_more() {
    let issuer = Arc::new(Issuer::new());
    let set = issuer.key_set().to_string();
    let (url, count) = serve(move |_| set.clone()).await;
    let address = server(JwtAuthenticator::new(KeySource::url(&url).unwrap(), options())).await;
    let valid = issuer.token(&header("EdDSA", "ed"), &claims());
    assert_eq!(introspect(address, valid.as_bytes()).await.0, 200);
    let storm = (0..200).map(|number| {
        let token = issuer.token(&header("EdDSA", &format!("k{number}")), &claims());
        tokio::spawn(async move { introspect(address, token.as_bytes()).await.0 })
    });
    for status in futures_util::future::join_all(storm).await {
        assert_eq!(status.unwrap(), 401);
    }
    assert_eq!(introspect(address, valid.as_bytes()).await.0, 200);
    assert_eq!(count.load(Ordering::SeqCst), 1, "the storm fetched keys");
}
