//! Collects the values of a configuration that could be secrets.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;

use super::{is_secret_name, looks_secret};

const QUOTES: [char; 2] = ['"', '\''];

/// A value of a configuration, and the decision whether it must be treated as a secret.
///
/// Always mask values with `is_secret`. The others may be common words, so pass them to
/// [`Masker::except_common`](super::Masker::except_common) or leave them readable.
#[derive(Clone)]
pub struct PossibleSecret {
    /// The value.
    pub text: String,
    /// If `true`, the name, form or position of the value marks it as a secret. Other values, such
    /// as the name of a region, may occur anywhere.
    pub is_secret: bool,
}

/// Omits the value.
impl fmt::Debug for PossibleSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PossibleSecret")
            .field("is_secret", &self.is_secret)
            .finish_non_exhaustive()
    }
}

impl PossibleSecret {
    /// Creates a value. It counts as a secret if its name or the value itself marks it as one.
    pub fn named(name: &str, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { is_secret: is_secret_name(name) || looks_secret(&text), text }
    }

    /// Creates a secret.
    pub fn secret(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_secret: true }
    }

    /// Returns the value of an environment variable, and the values of a URL in it.
    #[must_use]
    pub fn of_variable(name: &str, value: &str) -> Vec<Self> {
        let mut found = vec![Self::named(name, value)];
        found.extend(Self::of_url(value));
        found
    }

    /// Returns the value of a header, the credentials after a scheme such as `Bearer`, and the
    /// decoded credentials of `Basic`.
    ///
    /// ```
    /// use mcp_aql_client::secrets::PossibleSecret;
    ///
    /// let found = PossibleSecret::of_header("Authorization", "Bearer tok-1234");
    /// assert!(found.iter().any(|value| value.text == "tok-1234" && value.is_secret));
    /// ```
    #[must_use]
    pub fn of_header(name: &str, value: &str) -> Vec<Self> {
        let mut found = vec![Self::named(name, value)];
        let Some((_, rest)) = value.trim().split_once(char::is_whitespace) else { return found };
        let rest = rest.trim();
        found.push(Self::named(name, rest));
        if is_secret_name(name) {
            found.extend(rest.split_whitespace().next_back().map(Self::secret));
        }
        if let Some(user) = STANDARD.decode(rest).ok().and_then(|user| String::from_utf8(user).ok())
        {
            found.extend(user.split_once(':').map(|(_, password)| Self::secret(password)));
            found.push(Self::secret(user));
        }
        found
    }

    /// Returns the credentials and the query parameters of the first URL in `text`, each as written
    /// and decoded. Something else may precede the URL, such as the name of an option.
    ///
    /// ```
    /// use mcp_aql_client::secrets::PossibleSecret;
    ///
    /// let found = PossibleSecret::of_url("postgres://me:p%77@host/db");
    /// assert!(found.iter().any(|value| value.text == "pw" && value.is_secret));
    /// ```
    #[must_use]
    pub fn of_url(text: &str) -> Vec<Self> {
        let mut found = Vec::new();
        let Some((_, rest)) = text.split_once("://") else { return found };
        // A `#` ends the host, but some programs accept it in a password, so both readings are
        // tried.
        let mut users: Vec<_> = [&['/', '?'][..], &['/', '?', '#']]
            .into_iter()
            .filter_map(|ends| rest.split(ends).next()?.rsplit_once('@'))
            .map(|(user, _)| user)
            .collect();
        users.dedup();
        for user in users.into_iter().flat_map(as_written_and_decoded) {
            let password = user.split_once(':').map(|(_, password)| password);
            found.extend(password.into_iter().flat_map(as_written_and_decoded).map(Self::secret));
            found.push(Self::secret(STANDARD.encode(&user)));
            found.push(Self::secret(user));
        }
        let query = rest.split_once('?').map(|(_, query)| query).unwrap_or_default();
        for (name, value) in query.split(['&', '#']).filter_map(|pair| pair.split_once('=')) {
            found.extend(as_written_and_decoded(value).map(|value| Self::named(name, value)));
        }
        found
    }

    /// Returns the values in the arguments of a command. These are the values of options and
    /// variables, the words after `--token`, `Authorization:` and `Bearer`, the values of URLs, and
    /// words that look randomly generated. An argument may itself be a command line for a shell.
    #[must_use]
    pub fn of_command_line<'w>(words: impl IntoIterator<Item = &'w str>) -> Vec<Self> {
        let mut found = Vec::new();
        let mut is_value = false;
        for word in words {
            let is_option = word.starts_with('-');
            if is_value && !is_option {
                found.extend(unquoted(word).map(Self::secret));
            } else if !is_option && looks_secret(word) {
                found.push(Self::secret(word));
            }
            is_value = announces_secret(word);
            for (name, value) in pairs(word, is_option) {
                found.extend(unquoted(value).map(|value| Self::named(name, value)));
            }
            found.extend(Self::of_url(word));
            if word.contains(char::is_whitespace) || word.contains(QUOTES) {
                found.extend(Self::of_command_line(shell_words(word).iter().map(String::as_str)));
            }
        }
        found
    }
}

/// Splits an argument such as `--name=value`, `NAME=value` or `Name: value` into name and value. If
/// it does not begin with `-`, only the name of a secret counts as a name.
fn pairs(word: &str, is_option: bool) -> impl Iterator<Item = (&str, &str)> {
    let by_sign = word.split_once('=').filter(|(name, _)| is_option || is_secret_name(name));
    let by_colon = word.split_once(':').filter(|(name, value)| {
        // The host of a URL and the tag of an image are not values.
        let is_name = !name.contains(char::is_whitespace) && !name.contains(['=', '/']);
        is_name && !value.starts_with("//") && is_secret_name(name)
    });
    by_sign.into_iter().chain(by_colon)
}

/// Returns `true` if the next argument is a secret, as after `--token` or `Bearer`.
fn announces_secret(word: &str) -> bool {
    let is_scheme = is_scheme(word);
    // After `--mode=token` no secret follows, but after `--header=Authorization:` one does.
    let name = match word.split_once('=') {
        Some((_, value)) => value.strip_suffix(':'),
        None => Some(word),
    };
    is_scheme || word.starts_with('-') && name.is_some_and(is_secret_name)
}

/// Returns a value without quotes, and its credentials after a scheme such as `Bearer`. A quoted
/// value is also returned as written.
fn unquoted(value: &str) -> impl Iterator<Item = &str> {
    let bare = value.trim().trim_matches(QUOTES).trim();
    let credentials = bare
        .split_once(char::is_whitespace)
        .filter(|(scheme, _)| is_scheme(scheme))
        .map(|(_, credentials)| credentials.trim());
    let written = (bare != value.trim()).then_some(value);
    [Some(bare), credentials, written].into_iter().flatten().filter(|text| !text.is_empty())
}

/// Returns `true` if a word is an authentication scheme.
fn is_scheme(word: &str) -> bool {
    word.eq_ignore_ascii_case("bearer") || word.eq_ignore_ascii_case("basic")
}

/// Splits a line at whitespace outside of quotes, and removes the quotes.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for letter in line.chars() {
        match quote {
            Some(open) if open == letter => quote = None,
            None if QUOTES.contains(&letter) => quote = Some(letter),
            None if letter.is_whitespace() => words.push(String::new()),
            _ => {
                if let Some(word) = words.last_mut() {
                    word.push(letter);
                }
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns a string unchanged and percent-decoded.
fn as_written_and_decoded(text: &str) -> [String; 2] {
    [text.to_owned(), percent_decoded(text)]
}

/// Decodes percent-encoding. Invalid UTF-8 is replaced.
///
/// ```
/// use mcp_aql_client::secrets::percent_decoded;
///
/// assert_eq!(percent_decoded("a%2Fb"), "a/b");
/// ```
#[must_use]
pub fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(found: &[PossibleSecret]) -> Vec<&str> {
        found.iter().filter(|value| value.is_secret).map(|value| &*value.text).collect()
    }

    fn others(found: &[PossibleSecret]) -> Vec<&str> {
        found.iter().filter(|value| !value.is_secret).map(|value| &*value.text).collect()
    }

    /// The cases of the conformance runner and of the aggregator from before both shared one rule.
    #[test]
    fn secrets_in_arguments_are_found() {
        let found = PossibleSecret::of_command_line([
            "env",
            "API_KEY=abcd",
            "tool",
            "--token",
            "s3cret pass",
            "--db=test.db",
            "--password=hunter2",
            "--key-file",
            "--verbose",
            "--author",
            "somebody",
            "sh -c 'x --auth-token efgh'",
            "x --auth-token \"ij kl\" --verbose",
            "--header",
            "Authorization: Bearer mnop",
            "X-Api-Key:qrst",
            "curl -H 'Authorization: Basic uvwx' http://host/",
            "say Bearer yzAB",
            "http://host/mcp?page=1&api_key=CD%2FEF",
        ]);
        let expected = [
            "abcd",
            "s3cret pass",
            "hunter2",
            "efgh",
            "ij kl",
            "Bearer mnop",
            "mnop",
            "mnop",
            "qrst",
            "Basic uvwx",
            "uvwx",
            "uvwx",
            "yzAB",
            "CD%2FEF",
            "CD/EF",
        ];
        assert_eq!(secrets(&found), expected);
        assert_eq!(others(&found), ["test.db", "1", "1"]);
        let found = PossibleSecret::of_command_line([
            "--api-key",
            "sk-one",
            "--port",
            "8080",
            "--password=two2",
            "--verbose",
            "run",
            "TOKEN=three",
            "postgres://u:four4@h/db?sslkey=five5",
            "ghp_1234567890abcdefghij",
        ]);
        let user = STANDARD.encode("u:four4");
        let expected = [
            "sk-one",
            "two2",
            "three",
            "four4",
            &user,
            "u:four4",
            "five5",
            "ghp_1234567890abcdefghij",
        ];
        let mut found = secrets(&found);
        found.dedup();
        assert_eq!(
            found.iter().filter(|it| expected.contains(it)).count(),
            found.len(),
            "{found:?}"
        );
        assert!(expected.iter().all(|it| found.contains(it)), "{found:?}");
    }

    #[test]
    fn a_value_may_follow_its_name() {
        for (words, expected) in [
            (&["--header=Authorization:", "Bearer", "abcd"][..], &["Bearer", "abcd"][..]),
            (&["Authorization:", "Bearer", "abcd"], &["abcd"]),
            (&["--mode=token", "serve"], &[]),
            (&["--token:x=yz", "next"], &["yz", "x=yz"]),
            (&["--token", "--verbose", "serve"], &[]),
            (&["docker", "run", "ghcr.io/acme/auth-server:latest"], &[]),
        ] {
            let found = PossibleSecret::of_command_line(words.iter().copied());
            assert_eq!(secrets(&found), expected, "{words:?}");
        }
    }

    #[test]
    fn secrets_in_urls_are_found() {
        let found = PossibleSecret::of_url("postgres://me:p%77@host/db?a=b@c");
        let found = secrets(&found);
        assert!(
            ["p%77", "pw", "me:p%77", "me:pw"].iter().all(|it| found.contains(it)),
            "{found:?}"
        );
        let found = PossibleSecret::of_url("https://tok3n@h/mcp?k=a%2Bbc&token=xy#access_token=zz");
        assert_eq!(others(&found), ["a%2Bbc", "a+bc"]);
        let found = secrets(&found);
        assert!(["tok3n", "xy", "zz"].iter().all(|it| found.contains(it)), "{found:?}");
        for (url, password) in
            [("http://u:p#x@h/", "p#x"), ("http://u:pw@h#b@c", "pw"), ("x=ab://u:pw@h", "pw")]
        {
            let found = PossibleSecret::of_url(url);
            assert!(secrets(&found).contains(&password), "{url}");
        }
        assert!(PossibleSecret::of_url("host/path?token=x").is_empty());
    }

    #[test]
    fn secrets_in_variables_and_headers_are_found() {
        let found = PossibleSecret::of_variable("DATABASE", "db://u:pw@h");
        assert!(secrets(&found).contains(&"pw") && others(&found) == ["db://u:pw@h"]);
        assert_eq!(secrets(&PossibleSecret::of_variable("API_KEY", "x")), ["x"]);
        let found = PossibleSecret::of_header("authorization", "Bearer one11");
        assert_eq!(secrets(&found), ["Bearer one11", "one11", "one11"]);
        let found = PossibleSecret::of_header("A", "Basic bWU6YmFzaWM=");
        assert_eq!(secrets(&found), ["basic", "me:basic"]);
        assert_eq!(others(&found), ["Basic bWU6YmFzaWM=", "bWU6YmFzaWM="]);
        assert!(!format!("{found:?}").contains("basic"));
    }
}
