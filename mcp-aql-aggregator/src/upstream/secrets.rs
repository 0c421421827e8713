//! What a server is given that nobody else shall see, and what hides it.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;

use crate::config::{How, ServerConfig};
use crate::secret::sounds_secret;

/// Shorter texts are no secrets, and are in every other word.
const SHORTEST: usize = 4;
/// Values that are in every other line, and that nobody would choose for a password.
const PLAIN: [&str; 21] = [
    "true",
    "false",
    "none",
    "null",
    "auto",
    "default",
    "info",
    "debug",
    "warn",
    "warning",
    "error",
    "trace",
    "verbose",
    "quiet",
    "production",
    "development",
    "test",
    "stdio",
    "http",
    "utf-8",
    "UTF-8",
];

/// Texts that are hidden wherever they would be shown.
#[derive(Default)]
pub(super) struct Secrets {
    /// The longest first: one may be part of another.
    texts: Vec<String>,
}

impl Secrets {
    /// What is secret of a server's configuration.
    pub(super) fn of(config: &ServerConfig) -> Self {
        // What a variable of the environment held is not in the file for a reason.
        let mut texts = config.secrets.clone();
        let arguments = config.settings.calls.iter().filter_map(|call| call.arguments.as_ref());
        texts.extend(arguments.flat_map(|arguments| arguments.secrets()));
        match &config.how {
            How::Command { args, env, .. } => {
                for value in env.values() {
                    texts.push(value.clone());
                    of_url(value, &mut texts);
                }
                of_arguments(args, &mut texts);
            }
            How::Http { url, headers } => {
                of_url(url, &mut texts);
                for value in headers.values() {
                    texts.push(value.clone());
                    // `Bearer …`, `Basic …`: the scheme is none.
                    let Some((_, value)) = value.split_once(' ') else { continue };
                    let value = value.trim();
                    texts.push(value.to_owned());
                    if let Some(who) =
                        STANDARD.decode(value).ok().and_then(|who| String::from_utf8(who).ok())
                    {
                        texts.extend(who.split_once(':').map(|(_, password)| password.to_owned()));
                        texts.push(who);
                    }
                }
            }
        }
        Self::new(texts)
    }

    pub(super) fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let forms = texts.into_iter().flat_map(forms);
        let mut texts: Vec<_> = forms.filter(|text| !is_plain(text)).collect();
        texts.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        texts.dedup();
        Self { texts }
    }

    /// A text without them.
    pub(super) fn hidden(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.texts {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), "***");
            }
        }
        text
    }
}

fn of_arguments(args: &[String], texts: &mut Vec<String>) {
    let mut is_next = false;
    for arg in args {
        let flag = arg.strip_prefix('-');
        let pair = arg.split_once('=');
        match (flag, pair) {
            (_, Some((name, value))) if flag.is_some() || sounds_secret(name) => {
                texts.push(value.to_owned());
            }
            // A word that follows such a flag.
            (None, _) if is_next => texts.push(arg.clone()),
            (None, _) if looks_secret(arg) => texts.push(arg.clone()),
            _ => {}
        }
        of_url(arg, texts);
        is_next = flag.is_some_and(sounds_secret) && pair.is_none();
    }
}

/// Who asks, and with what, as a URL has it.
fn of_url(text: &str, texts: &mut Vec<String>) {
    let Some((_, rest)) = text.split_once("://") else { return };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = rest.split('/').next().unwrap_or_default();
    if let Some((who, _)) = authority.rsplit_once('@') {
        // As it stands there, and as it is sent.
        for who in [who.to_owned(), decoded(who)] {
            texts.extend(who.split_once(':').map(|(_, password)| password.to_owned()));
            texts.push(STANDARD.encode(&who));
            texts.push(who);
        }
    }
    let query = query.split('#').next().unwrap_or_default();
    for value in query.split('&').filter_map(|pair| Some(pair.split_once('=')?.1)) {
        texts.extend([value.to_owned(), decoded(value)]);
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// The forms in which a text may be shown: as it is, as JSON has it, and in lines, or as one.
fn forms(text: String) -> Vec<String> {
    let mut forms = Vec::new();
    // A string of JSON has quotes around it.
    if let Ok(quoted) = serde_json::to_string(&text)
        && let Some(escaped) = quoted.get(1..quoted.len().saturating_sub(1))
        && escaped != text
    {
        forms.push(escaped.to_owned());
    }
    if text.contains(char::is_whitespace) {
        forms.push(text.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    if text.contains('\n') {
        forms.extend(text.lines().map(|line| line.trim().to_owned()));
    }
    forms.push(text);
    forms
}

/// Whether somebody made it by chance: long, of letters and digits in no order.
fn looks_secret(text: &str) -> bool {
    const LONG: usize = 20;
    let has = |is: fn(&char) -> bool| text.chars().filter(is).count() >= 3;
    text.len() >= LONG
        && has(char::is_ascii_digit)
        && has(char::is_ascii_alphabetic)
        && text.chars().all(|each| each.is_ascii_alphanumeric() || "-_+=.".contains(each))
}

/// Whether hiding it would hide nothing, and garble much.
fn is_plain(text: &str) -> bool {
    let is_number = text.len() < 6 && text.chars().all(|each| each.is_ascii_digit());
    text.len() < SHORTEST
        || is_number
        || PLAIN.contains(&text)
        || (text.starts_with(['/', '~', '.']) && Path::new(text).exists())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::ServerSettings;

    fn of(how: How, secrets: &[&str]) -> Secrets {
        Secrets::of(&ServerConfig {
            name: "docs".to_owned(),
            how,
            disabled: false,
            secrets: secrets.iter().map(|it| (*it).to_owned()).collect(),
            settings: ServerSettings::default(),
        })
    }

    #[test]
    fn what_a_server_is_given_is_hidden_and_little_else() {
        let args = [
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
        ];
        let env =
            [("A", "six66"), ("LEVEL", "debug"), ("FLAG", "true"), ("HOME", "/"), ("N", "5000")];
        let how = How::Command {
            command: "x".to_owned(),
            args: args.map(str::to_owned).into(),
            env: BTreeMap::from(env.map(|(name, value)| (name.to_owned(), value.to_owned()))),
            cwd: None,
        };
        let secrets = of(how, &["seven7", "run"]);
        let text =
            "sk-one 8080 two2 three u:four4@h four4 five5 ghp_1234567890abcdefghij six66 seven7";
        assert_eq!(secrets.hidden(text), "*** 8080 *** *** ***@h *** *** *** *** ***");
        let plain = "--api-key run debug true /home 5000 postgres db --verbose";
        assert_eq!(secrets.hidden(plain), plain);
    }

    #[test]
    fn secrets_are_hidden_in_whatever_form_they_come() {
        let key = "-----BEGIN KEY-----\nab\"cd\\ef\n  ghij\n-----END KEY-----";
        let secrets = of(
            How::Http {
                url: "https://me:p%40ss!w@h/mcp?k=a%2Bbc".to_owned(),
                headers: BTreeMap::from([("A".to_owned(), "Basic bWU6YmFzaWM=".to_owned())]),
            },
            &[key],
        );
        let json = serde_json::to_string(&format!("x{key}y")).unwrap();
        let folded = key.split_whitespace().collect::<Vec<_>>().join(" ");
        for text in [key, &json, &folded, "ghij", "p%40ss!w", "p@ss!w", "a+bc", "me:basic", "basic"]
        {
            let hidden = secrets.hidden(text);
            assert!(hidden.trim_matches(['"', 'x', 'y']) == "***", "{text}: {hidden}");
        }
        let sent = STANDARD.encode("me:p@ss!w");
        assert_eq!(secrets.hidden(&format!("Basic {sent}")), "Basic ***");
    }

    #[test]
    fn what_calls_are_made_with_is_hidden_too() {
        let arguments = serde_json::json!({
            "q": "{query|raw} plain", "one": "a ${ONE} b", "list": [{ "api_key": "literal" }], "pin": 12345,
            "access_token": 123_456,
        });
        let read =
            crate::ask::ArgumentsTemplate::read(&arguments, &|_| Some("from-env".to_owned()));
        let mut config = ServerConfig {
            name: "docs".to_owned(),
            how: How::Http { url: String::new(), headers: BTreeMap::new() },
            disabled: false,
            secrets: Vec::new(),
            settings: ServerSettings::default(),
        };
        config.settings.calls.push(crate::ask::CallTemplate {
            tool: "t".to_owned(),
            arguments: Some(read.unwrap()),
            items: crate::items::Places::default(),
            may_write: false,
        });
        let secrets = Secrets::of(&config);
        let text = "a from-env b, literal, 12345, 123456, plain";
        assert_eq!(secrets.hidden(text), "a *** b, ***, 12345, ***, plain");
    }

    #[test]
    fn headers_and_urls_are_hidden_too() {
        let headers = BTreeMap::from([("authorization".to_owned(), "Bearer one11".to_owned())]);
        let url = "https://me:two22@example.com/mcp?api=three3#x".to_owned();
        let secrets = of(How::Http { url, headers }, &[]);
        let text = "one11, Bearer one11, two22, three3, example.com/mcp";
        assert_eq!(secrets.hidden(text), "***, ***, ***, ***, example.com/mcp");
    }
}
