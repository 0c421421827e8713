//! Masking of the values of a server's configuration that only this server may see.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::path::Path;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::alphabet::{self, Alphabet};
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, STANDARD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

use crate::config::{How, ServerConfig};
use crate::secret::sounds_secret;
use crate::text::clean;

/// The replacement of a secret.
const MASK: &str = "***";

/// The minimum length of a secret, in bytes. Shorter texts occur in many words.
const MIN_SECRET_BYTES: usize = 4;
/// Common values that are not secrets.
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

/// A value of the configuration.
struct ConfigValue {
    text: String,
    /// Whether its name or its form marks it as a secret. Other values, such as the name of a
    /// region, may occur in an answer.
    is_secret: bool,
}

impl ConfigValue {
    fn named(name: &str, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { is_secret: sounds_secret(name) || looks_secret(&text), text }
    }

    fn secret(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_secret: true }
    }
}

/// The values of a server's configuration, which are masked wherever its texts are shown.
#[derive(Default)]
pub(super) struct Secrets {
    /// All values, masked in a server's texts on the operator's terminal.
    all: Masker,
    /// The values that are certainly secrets, masked in results.
    certain: Masker,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    /// Collects the values of a server's configuration.
    pub(super) fn of(config: &ServerConfig) -> Self {
        // A value is kept in an environment variable for a reason, even if its name is not that of
        // a secret.
        let mut given: Vec<_> =
            config.secrets.iter().map(|(name, value)| ConfigValue::named(name, value)).collect();
        let arguments = config.settings.calls.iter().filter_map(|call| call.arguments.as_ref());
        let named = arguments.flat_map(|arguments| arguments.secrets());
        given.extend(named.map(|(name, text)| ConfigValue::named(&name, text)));
        match &config.how {
            How::Command { args, env, .. } => {
                for (name, value) in env {
                    given.push(ConfigValue::named(name, value));
                    collect_url(value, &mut given);
                }
                collect_arguments(args, &mut given);
            }
            How::Http { url, headers } => {
                collect_url(url, &mut given);
                for (name, value) in headers {
                    given.push(ConfigValue::named(name, value));
                    // The scheme in `Bearer …` and `Basic …` is not a secret.
                    let Some((_, value)) = value.split_once(' ') else { continue };
                    let value = value.trim();
                    given.push(ConfigValue::named(name, value));
                    if let Some(who) =
                        STANDARD.decode(value).ok().and_then(|who| String::from_utf8(who).ok())
                    {
                        given.extend(who.split_once(':').map(|(_, it)| ConfigValue::secret(it)));
                        given.push(ConfigValue::secret(who));
                    }
                }
            }
        }
        Self::from_given(given)
    }

    /// Treats all these texts as secrets.
    #[cfg(test)]
    pub(super) fn new(texts: impl IntoIterator<Item = String>) -> Self {
        Self::from_given(texts.into_iter().map(ConfigValue::secret).collect())
    }

    fn from_given(given: Vec<ConfigValue>) -> Self {
        let certain = given.iter().filter(|it| it.is_secret);
        Self {
            certain: Masker::new(certain.map(|it| &*it.text)),
            all: Masker::new(given.iter().map(|it| &*it.text)),
        }
    }

    /// Masks all values of the configuration in a text.
    pub(super) fn hidden(&self, text: &str) -> String {
        self.all.mask(text).into_owned()
    }

    /// Masks the secrets in all parts of an answer that are used.
    pub(super) fn mask_answer(&self, answer: &mut CallToolResult) {
        if self.certain.is_empty() {
            return;
        }
        for block in &mut answer.content {
            match block {
                ContentBlock::Text(text) => self.certain.mask_in(&mut text.text),
                ContentBlock::Resource(embedded) => {
                    if let ResourceContents::TextResourceContents { text, uri, .. } =
                        &mut embedded.resource
                    {
                        self.certain.mask_in(text);
                        self.certain.mask_in(uri);
                    }
                }
                ContentBlock::ResourceLink(link) => {
                    self.certain.mask_in(&mut link.uri);
                    self.certain.mask_in(&mut link.name);
                    for text in [&mut link.title, &mut link.description].into_iter().flatten() {
                        self.certain.mask_in(text);
                    }
                }
                // Images and audio are left out of results.
                _ => {}
            }
        }
        if let Some(structured) = &mut answer.structured_content {
            self.certain.mask_value(structured);
        }
    }
}

/// Finds all forms of some texts in one pass.
#[derive(Default)]
struct Masker {
    /// `None` if there are no texts.
    forms: Option<AhoCorasick>,
    /// Whether there are too many forms for one search, so that every text is masked entirely.
    masks_all: bool,
}

impl Masker {
    fn new<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let forms: Vec<_> = texts.flat_map(forms).filter(|form| !is_plain(form)).collect();
        if forms.is_empty() {
            return Self::default();
        }
        // If one form is part of another, the longest one is masked.
        let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&forms);
        Self { masks_all: built.is_err(), forms: built.ok() }
    }

    const fn is_empty(&self) -> bool {
        self.forms.is_none() && !self.masks_all
    }

    fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.forms {
            _ if self.masks_all => Cow::Owned(MASK.to_owned()),
            Some(forms) if forms.is_match(text) => {
                Cow::Owned(forms.replace_all(text, &vec![MASK; forms.patterns_len()]))
            }
            _ => Cow::Borrowed(text),
        }
    }

    /// Masks secrets in a text, including those split by characters that cleaning removes.
    fn mask_in(&self, text: &mut String) {
        if let Cow::Owned(masked) = self.mask(text) {
            *text = masked;
        }
        if let Cow::Owned(clean) = clean(text)
            && let Cow::Owned(masked) = self.mask(&clean)
        {
            *text = masked;
        }
    }

    fn mask_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.mask_in(text),
            Value::Number(number) => {
                if let Cow::Owned(_) = self.mask(&number.to_string()) {
                    *value = MASK.into();
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_value(item)),
            Value::Object(members) => {
                let is_secret = |name: &String| matches!(self.mask(name), Cow::Owned(_));
                let named: Vec<_> =
                    members.keys().filter(|name| is_secret(name)).cloned().collect();
                for name in named {
                    if let Some(member) = members.remove(&name) {
                        members.insert(self.mask(&name).into_owned(), member);
                    }
                }
                members.values_mut().for_each(|member| self.mask_value(member));
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

fn collect_arguments(args: &[String], given: &mut Vec<ConfigValue>) {
    let mut is_next = false;
    for arg in args {
        let flag = arg.strip_prefix('-');
        let pair = arg.split_once('=');
        match (flag, pair) {
            (_, Some((name, value))) if flag.is_some() || sounds_secret(name) => {
                given.push(ConfigValue::named(name, value));
            }
            // The value of the preceding flag.
            (None, _) if is_next => given.push(ConfigValue::secret(arg)),
            (None, _) if looks_secret(arg) => given.push(ConfigValue::secret(arg)),
            _ => {}
        }
        collect_url(arg, given);
        is_next = flag.is_some_and(sounds_secret) && pair.is_none();
    }
}

/// Collects the credentials and query parameters of a URL.
fn collect_url(text: &str, given: &mut Vec<ConfigValue>) {
    let Some((_, rest)) = text.split_once("://") else { return };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = rest.split('/').next().unwrap_or_default();
    if let Some((who, _)) = authority.rsplit_once('@') {
        // As written in the URL, and decoded as sent.
        for who in [who.to_owned(), decoded(who)] {
            given.extend(who.split_once(':').map(|(_, password)| ConfigValue::secret(password)));
            given.push(ConfigValue::secret(STANDARD.encode(&who)));
            given.push(ConfigValue::secret(who));
        }
    }
    let query = query.split('#').next().unwrap_or_default();
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        given.extend(
            [value.to_owned(), decoded(value)].map(|value| ConfigValue::named(name, value)),
        );
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Returns the forms in which a text may occur: unchanged, in JSON and nested JSON, joined into one
/// line and line by line, in URLs, in hexadecimal digits, and in base64, also as a part of the
/// encoded data.
fn forms(text: &str) -> Vec<String> {
    /// The minimum length of an encoded form; shorter ones occur by chance.
    const MIN_ENCODED_BYTES: usize = 8;
    const UNRESERVED: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    let mut forms = vec![text.to_owned()];
    let once = escaped(text);
    forms.extend([escaped(&once), once]);
    if text.contains(char::is_whitespace) {
        forms.push(text.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    if text.contains('\n') {
        forms.extend(text.lines().map(|line| line.trim().to_owned()));
    }
    if !is_plain(text) {
        for set in [UNRESERVED, NON_ALPHANUMERIC] {
            let encoded = utf8_percent_encode(text, set).to_string();
            forms.extend([encoded.replace("%20", "+"), lower_escapes(&encoded), encoded]);
        }
        let mut digits = String::with_capacity(text.len() * 2);
        for byte in text.bytes() {
            // Writing to a `String` cannot fail.
            let _ = write!(digits, "{byte:02x}");
        }
        let mut encoded = vec![digits.to_uppercase(), digits];
        for alphabet in [&alphabet::STANDARD, &alphabet::URL_SAFE] {
            encoded.extend((0..3).map(|offset| base64_core(text, offset, alphabet)));
        }
        forms.extend(encoded.into_iter().filter(|form| form.len() >= MIN_ENCODED_BYTES));
    }
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// Escapes a text as inside a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// Returns percent-escapes with lower-case digits: `%2f`.
fn lower_escapes(encoded: &str) -> String {
    let mut lower = String::with_capacity(encoded.len());
    let mut digits = 0_u8;
    for each in encoded.chars() {
        lower.push(if digits > 0 { each.to_ascii_lowercase() } else { each });
        digits = if each == '%' { 2 } else { digits.saturating_sub(1) };
    }
    lower
}

/// Returns the base64 characters that a text determines if it starts at this byte of a group of
/// three.
fn base64_core(text: &str, offset: usize, alphabet: &Alphabet) -> String {
    let bytes = [[0; 2].get(..offset).unwrap_or_default(), text.as_bytes()].concat();
    let encoded = GeneralPurpose::new(alphabet, NO_PAD).encode(&bytes);
    // A character encodes six bits. Those that also encode bits of other bytes are left out.
    let (first, last) = ((offset * 8).div_ceil(6), bytes.len() * 8 / 6);
    encoded.get(first..last).unwrap_or_default().to_owned()
}

/// Returns whether a text looks randomly generated: long, with both letters and digits.
fn looks_secret(text: &str) -> bool {
    const LONG: usize = 20;
    let has = |is: fn(&char) -> bool| text.chars().filter(is).count() >= 3;
    text.len() >= LONG
        && has(char::is_ascii_digit)
        && has(char::is_ascii_alphabetic)
        && text.chars().all(|each| each.is_ascii_alphanumeric() || "-_+=.".contains(each))
}

/// Returns whether masking a text would protect nothing and garble much.
fn is_plain(text: &str) -> bool {
    let is_number = text.len() < 6 && text.chars().all(|each| each.is_ascii_digit());
    text.len() < MIN_SECRET_BYTES
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
            secrets: secrets.iter().map(|it| ("X".to_owned(), (*it).to_owned())).collect(),
            settings: ServerSettings::default(),
        })
    }

    #[test]
    fn configured_values_are_masked_and_little_else() {
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
    fn secrets_are_masked_in_all_forms() {
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
    fn arguments_of_calls_are_masked() {
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
            items: crate::items::ItemLocation::default(),
            may_write: false,
        });
        let secrets = Secrets::of(&config);
        let text = "a from-env b, literal, 12345, 123456, plain";
        assert_eq!(secrets.hidden(text), "a *** b, ***, 12345, ***, plain");
    }

    #[test]
    fn common_encodings_are_masked() {
        let secret = "s3cr3t/v+lue \"x\" ü";
        let secrets = Secrets::new([secret.to_owned()]);
        let env = format!("HOME=/\nAPI_KEY={secret}\nLANG=C");
        let json = serde_json::json!({ "env": env }).to_string();
        for (shows, text) in [
            ("as it is", env.clone()),
            ("in JSON", json.clone()),
            ("in JSON in JSON", serde_json::json!({ "text": json }).to_string()),
            ("in a URL", "x=s3cr3t%2Fv%2Blue%20%22x%22%20%C3%BC&y".to_owned()),
            ("with small letters", "x=s3cr3t%2fv%2blue%20%22x%22%20%c3%bc&y".to_owned()),
            ("in a form", "x=s3cr3t%2Fv%2Blue+%22x%22+%C3%BC&y".to_owned()),
            ("in hexadecimal digits", env.bytes().map(|it| format!("{it:02x}")).collect()),
            ("capital ones", env.bytes().map(|it| format!("{it:02X}")).collect()),
        ] {
            let hidden = secrets.hidden(&text);
            assert!(hidden.contains(MASK) && !hidden.contains("s3cr3t"), "{shows}: {hidden}");
        }
        // At any position in the encoded data.
        for before in ["", "a", "ab", "abc"] {
            for engine in [&STANDARD, &base64::engine::general_purpose::URL_SAFE_NO_PAD] {
                let hidden = secrets.hidden(&engine.encode(format!("{before}{secret} and more")));
                let rest: String = hidden.split(MASK).collect();
                assert!(hidden.contains(MASK), "{before}: {hidden}");
                let decoded = engine.decode(rest.trim_end_matches('=')).unwrap_or_default();
                assert!(!String::from_utf8_lossy(&decoded).contains("cr3"), "{before}: {hidden}");
            }
        }
    }

    #[test]
    fn answers_are_masked_in_all_their_parts() {
        let env = [
            ("API_KEY", "k-12345"),
            ("REGION", "us-east-1"),
            ("OPAQUE", "ghp_1234567890abcdefghij"),
            ("PIN_TOKEN", "7654321"),
        ];
        let how = How::Command {
            command: "x".to_owned(),
            args: Vec::new(),
            env: BTreeMap::from(env.map(|(name, value)| (name.to_owned(), value.to_owned()))),
            cwd: None,
        };
        let secrets = of(how, &[]);
        let told =
            "k-12345 k-\u{200b}12345 \u{1b}[1mk-\u{1b}[0m12345 us-east-1 ghp_1234567890abcdefghij";
        let link = rmcp::model::Resource::new("x:k-12345", "k-12345")
            .with_title("k-12345")
            .with_description("k-12345");
        let mut answer = CallToolResult::success(vec![
            ContentBlock::text(told),
            ContentBlock::resource(ResourceContents::text(told, "x:k-12345")),
            ContentBlock::resource_link(link),
        ]);
        answer.structured_content =
            Some(serde_json::json!({ "a": [told, { "k-12345": 7_654_321 }], "n": 5 }));
        secrets.mask_answer(&mut answer);
        let shown = serde_json::to_string(&answer).unwrap();
        for secret in ["12345", "ghp_", "7654321"] {
            assert!(!shown.contains(secret), "{secret}: {shown}");
        }
        assert!(shown.contains("us-east-1") && shown.contains("\"n\":5"), "{shown}");
    }

    #[test]
    fn headers_and_urls_are_masked() {
        let headers = BTreeMap::from([("authorization".to_owned(), "Bearer one11".to_owned())]);
        let url = "https://me:two22@example.com/mcp?api=three3#x".to_owned();
        let secrets = of(How::Http { url, headers }, &[]);
        let text = "one11, Bearer one11, two22, three3, example.com/mcp";
        assert_eq!(secrets.hidden(text), "***, ***, ***, ***, example.com/mcp");
    }
}
