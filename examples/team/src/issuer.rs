//! Issues tokens for development. Your service would accept the tokens of an authorization server instead.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{TimeDelta, Utc};
use mcp_aql::auth::{JwtAuthenticator, JwtOptions, KeySource};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::json;

/// The `iss` claim of the tokens.
const ISSUER: &str = "https://login.team.example";
/// The `aud` claim of the tokens.
const AUDIENCE: &str = "https://team.example/mcp";
/// The key id (`kid`) in the header of the tokens.
const KEY_ID: &str = "development";

/// Signs tokens with a local key pair.
pub(crate) struct Issuer {
    key: Ed25519KeyPair,
    key_set: PathBuf,
}

impl Issuer {
    /// Reads the key pair from a folder. If there is none, creates it.
    pub(crate) fn open(folder: &Path) -> Result<Self, Box<dyn Error>> {
        create_private_folder(folder)?;
        let file = folder.join("development-key.pkcs8");
        if let Ok(mut new) = create_private_file(&file) {
            let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())
                .map_err(|_| "no random bytes")?;
            new.write_all(pair.as_ref())?;
        }
        let key = Ed25519KeyPair::from_pkcs8(&fs::read(&file)?)
            .map_err(|error| format!("{}: {error}", file.display()))?;
        let key_set = folder.join("keys.json");
        let public = encode(key.public_key());
        let keys = json!({ "keys": [
            { "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": KEY_ID, "x": public },
        ] });
        fs::write(&key_set, keys.to_string())?;
        Ok(Self { key, key_set })
    }

    /// Returns an authenticator that accepts the tokens of this issuer. For an authorization server, use
    /// `KeySource::url`.
    pub(crate) fn authenticator(&self) -> JwtAuthenticator {
        JwtAuthenticator::new(KeySource::file(&self.key_set), JwtOptions::new(ISSUER, AUDIENCE))
    }

    /// Issues a token with a lifetime of twelve hours.
    pub(crate) fn token(&self, tenant: &str, subject: &str, scope: &str) -> String {
        let now = Utc::now();
        let header = json!({ "alg": "EdDSA", "typ": "at+jwt", "kid": KEY_ID });
        let claims = json!({
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": subject,
            "iat": now.timestamp(),
            "exp": (now + TimeDelta::hours(12)).timestamp(),
            "scope": scope,
            "tenant": tenant,
        });
        let message = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = encode(self.key.sign(message.as_bytes()));
        format!("{message}.{signature}")
    }
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Creates a file that only this user can read. Returns an error if the file exists.
fn create_private_file(file: &Path) -> std::io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true).create_new(true).open(file)
}

/// Creates a folder that only this user can open.
fn create_private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}
