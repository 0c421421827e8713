//! What is called like a secret.

/// Parts of names that secrets have, in small letters and without `_` and `-`.
const NAMES: [&str; 13] = [
    "key",
    "token",
    "secret",
    "passw",
    "pwd",
    "passphrase",
    "credential",
    "auth",
    "cookie",
    "session",
    "signature",
    "bearer",
    "dsn",
];
/// Words with such a part that are about something else.
const OTHERS: [&str; 3] = ["keyword", "keyboard", "author"];

/// Whether what has this name is a secret: `API-Key`, `access_token`, `Authorization`; and not `keywords`.
pub(crate) fn sounds_secret(name: &str) -> bool {
    let name: String =
        name.chars().filter(|each| !"_-".contains(*each)).flat_map(char::to_lowercase).collect();
    // What they have in common with `author`.
    let name = name.replace("authori", "auth ");
    let name = OTHERS.iter().fold(name, |name, other| name.replace(other, " "));
    NAMES.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::sounds_secret;

    #[test]
    fn secrets_are_known_by_their_names() {
        for name in [
            "API-Key",
            "api_key",
            "access_key",
            "key",
            "keywords_key",
            "authToken",
            "pwd",
            "auth",
            "Authorization",
            "x-authorized-by",
            "DB_PASSWORD",
            "passwd",
            "clientSecret",
            "session_id",
        ] {
            assert!(sounds_secret(name), "{name}");
        }
        for name in ["keywords", "Keyword", "author", "authors", "query", "path", "limit", ""] {
            assert!(!sounds_secret(name), "{name}");
        }
    }
}
