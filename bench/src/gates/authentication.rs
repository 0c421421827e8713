//! Measures HTTP calls with a token to check, compared with the same calls without authentication.

use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use mcp_aql::HttpOptions;
use mcp_aql::auth::{JwtAuthenticator, JwtOptions, KeySource, Principal, StaticTokens};
use mcp_aql::transport::ServeHttp as _;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RsaKeyPair,
};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::Setup;
use super::adapters::adapter;
use crate::measure::runtime;
use crate::table::{Outcome, Row, Target};
use crate::{Result, in_turns, nanos_each_async};

/// Maximum time that authentication may add to a call, in nanoseconds.
const MAX_ADDED_NANOS: f64 = 60_000.0;

const ISSUER: &str = "https://login.example.org";
const AUDIENCE: &str = "https://rooms.example.org/mcp";

pub(super) fn run(setup: &Setup) -> Result<Outcome> {
    let folder = tempfile::tempdir()?;
    let issuer = Issuer::new()?;
    let keys = folder.path().join("keys.json");
    std::fs::write(&keys, issuer.key_set().to_string())?;
    let rows = [
        ("rs256", "READ, first call with a token, RS256 with 2048 bits; without"),
        ("es256", "READ, first call with a token, ES256; without"),
        ("eddsa", "READ, first call with a token, EdDSA; without"),
        ("again", "READ, further call with a JSON Web Token; without"),
        ("static", "READ with a token of the configuration file; without"),
    ];
    let rows = rows.map(|(kind, what)| row(setup, kind, what, &issuer, &keys));
    Ok(Outcome::Rows(rows.into_iter().collect::<Result<_>>()?))
}

fn row(setup: &Setup, kind: &str, what: &str, issuer: &Issuer, keys: &Path) -> Result<Row> {
    // At 2,000 calls, this is more tokens than the authenticator caches, so each must be checked.
    let count = if matches!(kind, "again" | "static") { 1 } else { setup.calls * 5 / 2 };
    let tokens = (0..count).map(|number| issuer.token(kind, number)).collect::<Result<Vec<_>>>()?;
    let options = match kind {
        "static" => {
            let caller = Principal::new(ISSUER, "ada").with_scopes(["rooms:read"]);
            let token = tokens.first().cloned().unwrap_or_default();
            HttpOptions::new().authenticator(StaticTokens::new().token(&token, caller))
        }
        _ => {
            let source = KeySource::file(keys);
            let options = JwtOptions::new(ISSUER, AUDIENCE);
            HttpOptions::new().authenticator(JwtAuthenticator::new(source, options))
        }
    };
    let adapter = adapter(|builder| builder)?;
    let (ours, peer) = (adapter.router(&options), adapter.router(&HttpOptions::new()));
    let runtime = runtime()?;
    let next = AtomicUsize::new(0);
    let turn = |router: &Router, tokens: &[String]| {
        nanos_each_async(
            &runtime,
            setup.calls,
            |_| request(tokens.get(next.fetch_add(1, Relaxed) % tokens.len().max(1))),
            |request| router.clone().oneshot(request),
            |answer| answer.as_ref().is_ok_and(is_right),
        )
    };
    Ok(Row::of_times(
        format!("authentication-{kind}"),
        what,
        in_turns(setup.rounds, || turn(&ours, &tokens), || turn(&peer, &[]))?,
        Target::AddsAtMost(MAX_ADDED_NANOS),
    ))
}

/// Builds a call without a session, as in MCP 2026-07-28.
fn request(token: Option<&String>) -> Request<Body> {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "mcp_aql_read",
        "arguments": { "operation": "get_room", "params": { "number": 7 } },
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    } });
    let body = body.to_string();
    let request = Request::post("/mcp")
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .header("content-length", body.len())
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "mcp_aql_read");
    let request = match token {
        Some(token) => request.header("authorization", format!("Bearer {token}")),
        None => request,
    };
    request.body(Body::from(body)).unwrap_or_default()
}

fn is_right(answer: &Response) -> bool {
    answer.status().is_success()
}

/// The signing keys of an issuer.
struct Issuer {
    rsa: RsaKeyPair,
    ec: EcdsaKeyPair,
    ed: Ed25519KeyPair,
}

impl Issuer {
    fn new() -> Result<Self> {
        let random = SystemRandom::new();
        let text: String =
            include_str!("../../../crates/mcp-aql-server/src/http/auth/jwt/rsa_test_key.txt")
                .split_whitespace()
                .collect();
        let failed = |_| "a key cannot be made";
        let signing = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let ec = EcdsaKeyPair::generate_pkcs8(signing, &random).map_err(failed)?;
        let ed = Ed25519KeyPair::generate_pkcs8(&random).map_err(failed)?;
        let rejected = |_| "a key is rejected";
        Ok(Self {
            rsa: RsaKeyPair::from_pkcs8(&STANDARD.decode(text)?).map_err(rejected)?,
            ec: EcdsaKeyPair::from_pkcs8(signing, ec.as_ref(), &random).map_err(rejected)?,
            ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).map_err(rejected)?,
        })
    }

    fn key_set(&self) -> Value {
        let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(self.rsa.public());
        let (x, y) = self.ec.public_key().as_ref().split_at(33);
        let x = x.get(1..).unwrap_or_default();
        json!({ "keys": [
            { "kty": "RSA", "kid": "rs256", "n": encode(n), "e": encode(e) },
            { "kty": "EC", "kid": "es256", "crv": "P-256", "x": encode(x), "y": encode(y) },
            { "kty": "OKP", "kid": "eddsa", "crv": "Ed25519", "x": encode(self.ed.public_key()) },
        ] })
    }

    /// Issues a token signed with the algorithm named by `kind`. For any other name, signs with EdDSA.
    fn token(&self, kind: &str, number: usize) -> Result<String> {
        let (algorithm, key) = match kind {
            "rs256" => ("RS256", "rs256"),
            "es256" => ("ES256", "es256"),
            _ => ("EdDSA", "eddsa"),
        };
        let header = json!({ "alg": algorithm, "kid": key, "typ": "at+jwt" });
        let claims = json!({
            "iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "scope": "rooms:read rooms:create",
            "iat": 1_700_000_000, "exp": 4_000_000_000_u64, "tenant": "north", "jti": number,
        });
        let message = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let random = SystemRandom::new();
        let failed = |_| "a token cannot be signed";
        let signature = match kind {
            "rs256" => {
                let mut signature = vec![0; self.rsa.public().modulus_len()];
                self.rsa
                    .sign(&RSA_PKCS1_SHA256, &random, message.as_bytes(), &mut signature)
                    .map_err(failed)?;
                signature
            }
            "es256" => self.ec.sign(&random, message.as_bytes()).map_err(failed)?.as_ref().to_vec(),
            _ => self.ed.sign(message.as_bytes()).as_ref().to_vec(),
        };
        Ok(format!("{message}.{}", encode(signature)))
    }
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
