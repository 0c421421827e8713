//! Signature algorithms and public keys.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};
use serde::Deserialize;

/// A signature algorithm. All are asymmetric, so the keys known to a verifier cannot sign tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub enum Algorithm {
    /// RSA with SHA-256 and PKCS #1 padding.
    RS256,
    /// RSA with SHA-384 and PKCS #1 padding.
    RS384,
    /// RSA with SHA-512 and PKCS #1 padding.
    RS512,
    /// RSA with SHA-256 and PSS padding.
    PS256,
    /// RSA with SHA-384 and PSS padding.
    PS384,
    /// RSA with SHA-512 and PSS padding.
    PS512,
    /// ECDSA with the curve P-256 and SHA-256.
    ES256,
    /// ECDSA with the curve P-384 and SHA-384.
    ES384,
    /// Ed25519.
    EdDSA,
}

impl Algorithm {
    const ALL: [Self; 9] = [
        Self::RS256,
        Self::RS384,
        Self::RS512,
        Self::PS256,
        Self::PS384,
        Self::PS512,
        Self::ES256,
        Self::ES384,
        Self::EdDSA,
    ];

    /// Returns the algorithm with this name in a token's header.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.to_string() == name)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

/// A key of a JSON Web Key Set (RFC 7517), with the members needed for signatures.
#[derive(Debug, Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    used_for: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// A public key.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) id: Option<String>,
    /// The only algorithm of the key, if the key set restricts it.
    algorithm: Option<String>,
    material: Material,
}

#[derive(Debug)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl Key {
    /// Parses a key set. Keys for purposes other than signatures and keys of unknown types are skipped.
    ///
    /// ```json
    /// { "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "2031-05", "x": "…" }] }
    /// ```
    pub(super) fn read_set(json: &[u8]) -> Option<Vec<Self>> {
        /// Maximum number of keys.
        const MAX_KEYS: usize = 100;
        #[derive(Deserialize)]
        struct JwkSet {
            keys: Vec<serde_json::Value>,
        }
        let set: JwkSet = serde_json::from_slice(json).ok()?;
        let keys = set.keys.into_iter().take(MAX_KEYS);
        Some(keys.filter_map(|key| Self::read(serde_json::from_value(key).ok()?)).collect())
    }

    fn read(key: Jwk) -> Option<Self> {
        if key.used_for.as_deref().is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let decode = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_deref()?).ok();
        let point = |length: usize| {
            let (x, y) = (decode(&key.x)?, decode(&key.y)?);
            (x.len() == length && y.len() == length).then(|| [&[4], &*x, &*y].concat())
        };
        let material = match (key.kty.as_str(), key.crv.as_deref()) {
            ("RSA", _) => Material::Rsa { n: decode(&key.n)?, e: decode(&key.e)? },
            ("EC", Some("P-256")) => Material::P256(point(32)?),
            ("EC", Some("P-384")) => Material::P384(point(48)?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(decode(&key.x)?),
            _ => return None,
        };
        Some(Self { id: key.kid, algorithm: key.alg, material })
    }

    /// Returns `true` if the key can be used with this algorithm.
    pub(super) fn fits(&self, algorithm: Algorithm) -> bool {
        use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
        let named = self.algorithm.as_deref().is_none_or(|name| name == algorithm.to_string());
        named
            && matches!(
                (&self.material, algorithm),
                (Material::Rsa { .. }, RS256 | RS384 | RS512 | PS256 | PS384 | PS512)
                    | (Material::P256(_), ES256)
                    | (Material::P384(_), ES384)
                    | (Material::Ed25519(_), EdDSA)
            )
    }

    /// Returns `true` if the signature of a message was made with this key.
    pub(super) fn verifies(&self, algorithm: Algorithm, message: &[u8], signed: &[u8]) -> bool {
        let by = |parameters: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(parameters, key).verify(message, signed).is_ok()
        };
        let rsa = |n: &[u8], e: &[u8]| {
            let parameters = match algorithm {
                Algorithm::RS256 => &signature::RSA_PKCS1_2048_8192_SHA256,
                Algorithm::RS384 => &signature::RSA_PKCS1_2048_8192_SHA384,
                Algorithm::RS512 => &signature::RSA_PKCS1_2048_8192_SHA512,
                Algorithm::PS256 => &signature::RSA_PSS_2048_8192_SHA256,
                Algorithm::PS384 => &signature::RSA_PSS_2048_8192_SHA384,
                Algorithm::PS512 => &signature::RSA_PSS_2048_8192_SHA512,
                Algorithm::ES256 | Algorithm::ES384 | Algorithm::EdDSA => return false,
            };
            RsaPublicKeyComponents { n, e }.verify(parameters, message, signed).is_ok()
        };
        self.fits(algorithm)
            && match &self.material {
                Material::Rsa { n, e } => rsa(n, e),
                Material::P256(key) => by(&signature::ECDSA_P256_SHA256_FIXED, key),
                Material::P384(key) => by(&signature::ECDSA_P384_SHA384_FIXED, key),
                Material::Ed25519(key) => by(&signature::ED25519, key),
            }
    }
}
