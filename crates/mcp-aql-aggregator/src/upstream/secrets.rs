//! Masks the configured values that only one server may see.

use std::fmt;

use mcp_aql_client::secrets::{Masker, PossibleSecret};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use crate::config::{How, ServerConfig};
use mcp_aql_rank::texts::clean;

/// The values of a server's configuration. They are masked wherever output of the server is shown.
#[derive(Default)]
pub(super) struct Secrets {
    /// All values. They are masked in a server's messages on the operator's terminal.
    all: Masker,
    /// Only the values that are certainly secrets. They are masked in results.
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
        // Treat variables as possible secrets even if their names are harmless: values are moved
        // into variables for a reason.
        let mut given: Vec<_> =
            config.secrets.iter().map(|(name, value)| PossibleSecret::named(name, value)).collect();
        let arguments = config.settings.calls.iter().filter_map(|call| call.arguments.as_ref());
        let named = arguments.flat_map(|arguments| arguments.secrets());
        given.extend(named.map(|(name, text)| PossibleSecret::named(&name, text)));
        match &config.how {
            How::Command { args, env, .. } => {
                let variables = env.iter();
                given.extend(
                    variables.flat_map(|(name, value)| PossibleSecret::of_variable(name, value)),
                );
                given.extend(PossibleSecret::of_command_line(args.iter().map(String::as_str)));
            }
            How::Http { url, headers } => {
                given.extend(PossibleSecret::of_url(url));
                let headers = headers.iter();
                given.extend(
                    headers.flat_map(|(name, value)| PossibleSecret::of_header(name, value)),
                );
            }
        }
        Self::from_given(&given)
    }

    /// Treats all these strings as secrets.
    #[cfg(test)]
    pub(super) fn new(texts: impl IntoIterator<Item = String>) -> Self {
        Self::from_given(&texts.into_iter().map(PossibleSecret::secret).collect::<Vec<_>>())
    }

    fn from_given(given: &[PossibleSecret]) -> Self {
        let certain = given.iter().filter(|it| it.is_secret);
        // Results must stay readable.
        Self {
            certain: Masker::except_common(certain.map(|it| &*it.text)).with_cleaning(clean),
            all: Masker::except_common(given.iter().map(|it| &*it.text)),
        }
    }

    /// Masks all values of the configuration in a string.
    pub(super) fn hidden(&self, text: &str) -> String {
        self.all.mask(text).into_owned()
    }

    /// Masks the secrets in all parts of an answer that become results.
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
        let sent = "bWU6cEBzcyF3";
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
