//! Recognizes names of secrets.

/// Parts of names of secrets, in lower case and without `_` and `-`.
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
/// Words that contain such a part but mean something else.
const OTHERS: [&str; 3] = ["keyword", "keyboard", "author"];

/// Returns whether a name is that of a secret: `API-Key`, `access_token`, `Authorization`, but not
/// `keywords`.
pub(crate) fn sounds_secret(name: &str) -> bool {
    let name: String =
        name.chars().filter(|each| !"_-".contains(*each)).flat_map(char::to_lowercase).collect();
    // `authorization` shares this beginning with `author`.
    let name = name.replace("authori", "auth ");
    let name = OTHERS.iter().fold(name, |name, other| name.replace(other, " "));
    NAMES.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::sounds_secret;

    #[test]
    fn names_of_secrets_are_recognized() {
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
