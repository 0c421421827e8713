//! The keys whose owners read them from the file: the authentication of the HTTP server, policies and trust.

use crate::config::key::{Key, ProjectRule, ValueKind};

/// The keys of the configuration file that are neither fields of the settings nor keys of extensions.
pub(super) const OWNED_KEYS: &[Key] = &[
    Key::new("gatekeeper.trust", ValueKind::Other("table: `level` and the evidence for it"))
        .project(ProjectRule::Stricter("a lower level is applied, and nothing else"))
        .default("not declared")
        .example("{ level = \"validated\" }")
        .doc(&["Trust level of the adapter."]),
    Key::new(
        "gatekeeper.policies",
        ValueKind::Other("list of tables: `operation`, `permission`, `when`, `session_seconds`, `by`, `reason`"),
    )
    .project(ProjectRule::Stricter("`deny` and `confirm` are added"))
    .example("[{ operation = \"delete_*\", permission = \"confirm\" }]")
    .doc(&["Rules for calls, in addition to those of the program."]),
    Key::new("auth.resource", ValueKind::Text)
        .default("`http://`, the host of the request and `/mcp`")
        .example("\"https://tasks.example.org/mcp\"")
        .doc(&["URL of the endpoint as clients know it."]),
    Key::new("auth.scope_challenges", ValueKind::Switch)
        .default("`true`")
        .example("true")
        .doc(&["Answer calls without the scope of their operation with 403 and a challenge."]),
    Key::new(
        "auth.tokens",
        ValueKind::Other("list of tables: `sha256`, `subject`, `scopes`, `claims`"),
    )
    .example(
        "[{ sha256 = \"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\", subject = \"ada\", \
         scopes = [\"tasks:read\"] }]",
    )
    .doc(&["Tokens that you give out. Not together with `auth.jwt`."]),
    Key::new("auth.jwt.issuer", ValueKind::Text)
        .example("\"https://login.example.org/\"")
        .doc(&["Issuer of the tokens. Required with `auth.jwt`, for which the adapter needs the feature `jwt`."]),
    Key::new("auth.jwt.audience", ValueKind::Text)
        .example("\"https://tasks.example.org/mcp\"")
        .doc(&["Audience of the tokens. Required with `auth.jwt`."]),
    Key::new("auth.jwt.keys_url", ValueKind::Text)
        .example("\"https://login.example.org/jwks.json\"")
        .doc(&["URL of the issuer's keys. Either this or `auth.jwt.keys_file` is required."]),
    Key::new("auth.jwt.keys_file", ValueKind::Text)
        .example("\"jwks.json\"")
        .doc(&["File with the issuer's keys."]),
    Key::new("auth.jwt.algorithms", ValueKind::List)
        .default("`[\"RS256\",\"ES256\",\"EdDSA\"]`")
        .example("[\"RS256\"]")
        .doc(&["Accepted algorithms of signatures."]),
    Key::new("auth.jwt.scope_claims", ValueKind::List)
        .default("`[\"scope\",\"scp\"]`")
        .example("[\"scope\", \"scp\"]")
        .doc(&["Claims that contain the scopes."]),
    Key::new("auth.jwt.leeway_seconds", ValueKind::Number("seconds"))
        .default("`30`")
        .example("30")
        .doc(&["Tolerated difference between the clocks of the issuer and this machine."]),
    Key::new("auth.jwt.max_key_age_seconds", ValueKind::Number("seconds"))
        .default("`600`")
        .example("600")
        .doc(&["Time after which the keys are read again."]),
];

/// Key of the tokens that the operator gives out. Their hashes are secrets.
pub(in crate::adapter) const TOKENS: &str = "auth.tokens";

/// Returns `true` if the value of a key in the table `auth` is public.
pub(in crate::adapter) fn is_public(path: &str) -> bool {
    path != TOKENS && OWNED_KEYS.iter().any(|key| key.path == path)
}
