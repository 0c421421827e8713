//! Tests of the configuration: parsing, error messages and defaults.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn variables(name: &str) -> Option<String> {
    match name {
        "HOME" => Some("/home/me".to_owned()),
        "TOKEN" => Some("s3cr3t-value".to_owned()),
        "DOCS" => Some("https://docs.example.com/mcp?key=s3cr3t-value".to_owned()),
        _ => None,
    }
}

fn read(text: &str) -> Result<Config, ConfigError> {
    Config::from_json(text, &variables)
}

fn good(value: &Value) -> Config {
    read(&value.to_string()).unwrap()
}

/// Returns the mistakes as `path: message`.
fn faults(value: &Value) -> Vec<String> {
    let error = read(&value.to_string()).expect_err(&value.to_string());
    error.faults().iter().map(ToString::to_string).collect()
}

fn servers(value: Value) -> Value {
    json!({ "mcpServers": value })
}

fn with_aggregator(aggregator: Value) -> Value {
    json!({
        "mcpServers": { "memory": { "command": "m" }, "docs": { "url": "http://127.0.0.1:8800/mcp" } },
        "aggregator": aggregator,
    })
}

#[test]
fn a_clients_file_is_accepted_unchanged() {
    let config = read(
        r#"{
          // as an editor would have it
          "inputs": [{"type": "promptString", "id": "x"}],
          "servers": {
            "zoo": {
              "type": "stdio", "command": "${HOME}/bin/zoo", "args": ["--key", "${TOKEN}", 7, true],
              "env": {"KEY": "${TOKEN}", "PORT": 3000, "GONE": null, "OTHER": "${NONE:-x}"},
              "cwd": "${HOME}", "autoApprove": ["a"], "timeout": 60,
            },
            "docs": {"type": "streamableHttp", "url": "${DOCS}", "headers": {"Authorization": "Bearer ${TOKEN}"}},
            "api": {"serverUrl": "http://localhost:1/mcp"},
          },
        }"#,
    )
    .unwrap();
    assert_eq!(config.server_names().collect::<Vec<_>>(), ["zoo", "docs", "api"], "in their order");
    let text = str::to_owned;
    assert_eq!(
        config.servers[0].how,
        How::Command {
            command: text("/home/me/bin/zoo"),
            args: ["--key", "s3cr3t-value", "7", "true"].map(text).to_vec(),
            env: [("KEY", "s3cr3t-value"), ("PORT", "3000"), ("OTHER", "x")]
                .map(|(name, value)| (text(name), text(value)))
                .into(),
            cwd: Some("/home/me".into()),
        }
    );
    assert_eq!(
        config.servers[1].how,
        How::Http {
            url: text("https://docs.example.com/mcp?key=s3cr3t-value"),
            headers: [(text("Authorization"), text("Bearer s3cr3t-value"))].into(),
        }
    );
    assert!(!format!("{config:?}").contains("s3cr3t"), "{config:?}");
}

#[test]
fn every_setting_is_read() {
    let config = good(&with_aggregator(json!({
        "serverTimeoutMs": 1, "deadlineMs": 2, "startTimeoutMs": 3, "maxResults": 10,
        "maxResponseBytes": 1024, "maxItemsPerServer": 5, "maxItemChars": 100, "maxOutputBytes": 4096,
        "discovery": "named", "maxQueries": 7, "callsPerServer": 8, "breakerFailures": 9,
        "breakerOpenMs": 10, "maxPerServer": 11, "mmr": 0.5, "allowHttpHosts": ["a.internal"], "lazy": true,
        "rules": [{ "match": "(?i)DOCS", "servers": ["docs"] }],
        "servers": {
            "memory": {
                "weight": 2, "timeoutMs": 12, "lifecycle": "discover", "discovery": "off",
                "calls": [{ "tool": "t", "arguments": { "q": "{query}" }, "items": "a.b", "split": "^- ", "mayWrite": true }],
            },
            "docs": { "disabled": true },
        },
    })));
    let settings = &config.settings;
    let millis =
        [settings.server_timeout, settings.deadline, settings.start_timeout, settings.breaker_open]
            .map(|time| time.as_millis());
    assert_eq!(millis, [1, 2, 3, 10]);
    let sizes = [
        settings.max_results,
        settings.max_response_bytes,
        settings.max_items_per_server,
        settings.max_item_chars,
        settings.max_output_bytes,
        settings.max_queries,
        settings.calls_per_server,
        settings.max_per_server.unwrap(),
    ];
    assert_eq!(sizes, [10, 1024, 5, 100, 4096, 7, 8, 11]);
    assert_eq!(settings.breaker_failures, 9);
    assert_eq!(settings.mmr, Some(0.5));
    assert_eq!(settings.discovery, Discovery::Named);
    assert_eq!(settings.allow_http_hosts, ["a.internal"]);
    assert!(settings.lazy);
    assert!(settings.rules[0].matches.is_match("my docs"));
    // `json!` sorts members.
    assert_eq!(settings.rules[0].servers, [0]);
    let memory = &config.servers[1].settings;
    assert_eq!(memory.weight, 2.0);
    assert_eq!(memory.timeout, Some(Duration::from_millis(12)));
    assert_eq!(memory.lifecycle, Lifecycle::Discover);
    assert_eq!(memory.discovery, Some(Discovery::Off));
    assert_eq!(memory.calls[0].tool, "t");
    assert_eq!(memory.calls[0].items.path.as_deref(), Some("a.b"));
    assert_eq!(memory.calls[0].items.between.as_ref().map(|it| it.as_str()), Some("^- "));
    assert!(memory.calls[0].may_write);
    assert_eq!(memory.calls[0].arguments.as_ref().unwrap().raw(), json!({ "q": "{query}" }));
    assert!(config.servers[0].disabled);
}

#[test]
fn defaults_match_the_contract() {
    // REQ-AGR-03, REQ-AGR-07
    let config = good(&servers(json!({ "a": { "command": "x" } })));
    assert_eq!(config.settings.server_timeout, Duration::from_secs(3));
    assert!(config.settings.deadline <= Duration::from_secs(5));
    assert_eq!(config.settings.max_results, 30);
    for (setting, most) in [("serverTimeoutMs", 3000), ("deadlineMs", 5000), ("maxResults", 100)] {
        good(&with_aggregator(json!({ setting: most })));
        assert_eq!(faults(&with_aggregator(json!({ setting: most + 1 }))).len(), 1, "{setting}");
    }
    let longer = with_aggregator(json!({ "servers": { "docs": { "timeoutMs": 3001 } } }));
    assert_eq!(
        faults(&longer),
        ["aggregator.servers.docs.timeoutMs: write an integer from 1 to 3000"]
    );
}

#[test]
fn all_faults_are_reported_together() {
    let value = json!({
        "mcpServers": {
            "one": { "comand": "x" },
            "two": { "command": "x", "url": "http://localhost/" },
            "three": { "type": "sse", "url": "https://example.com/sse" },
            "four": { "command": "${NOWHERE}", "args": ["${NEITHER}"] },
            "five": 5,
        },
        "aggregator": {
            "maxResults": 5,
            "discover": "named",
            "rules": [{ "match": "(", "servers": ["on"] }],
            "servers": { "six": {}, "one": { "calls": [{ "tool": "x", "arguments": { "q": "{qury}" } }] } },
        },
    });
    assert_eq!(
        faults(&value),
        [
            "mcpServers.five: this is a number: write an object, { … }",
            "mcpServers.four.command: the environment variable `NOWHERE` is not set: set it, or write \
             `${NOWHERE:-default}`",
            "mcpServers.four.args[0]: the environment variable `NEITHER` is not set: set it, or write \
             `${NEITHER:-default}`",
            "mcpServers.one: it has neither `command` nor `url`: did you mean `command` instead of \"comand\"?",
            "mcpServers.three.type: the SSE transport of 2024 is not supported: write \"http\" if the \
             server supports streamable HTTP (usually under the path /mcp), or run a bridge as a `command`",
            "mcpServers.two: it has `command` and `url`: keep one of them",
            "aggregator.discover: unknown: did you mean `discovery`?",
            "aggregator.maxResults: write an integer from 10 to 100",
            "aggregator.rules[0].match: this is not a valid regular expression: unclosed group",
            "aggregator.rules[0].servers[0]: there is no server \"on\": did you mean \"one\"?",
            "aggregator.servers.one.calls[0].arguments.q: `{qury}` is unknown: did you mean `{query}`?",
            "aggregator.servers.six: there is no server \"six\": the servers are `five`, `four`, `one`, \
             `three`, `two`",
        ]
    );
}

#[test]
fn each_fault_says_what_to_write() {
    let block = |block: Value| servers(json!({ "a": block }));
    let setting = |name: &str, value: Value| with_aggregator(json!({ name: value }));
    let call =
        |call: Value| with_aggregator(json!({ "servers": { "memory": { "calls": [call] } } }));
    for (value, path, message) in [
        (json!([]), "", "write an object"),
        (json!({}), "", "write `mcpServers`"),
        (json!({ "mcpServer": {} }), "", "`mcpServers` instead of \"mcpServer\""),
        (json!({ "mcpServers": {}, "servers": {} }), "servers", "keep one of them"),
        (servers(json!({})), "mcpServers", "add one"),
        (
            servers(json!({ " a": { "command": "x" } })),
            "mcpServers[\" a\"]",
            "invisible characters",
        ),
        (servers(json!({ "": { "command": "x" } })), "mcpServers[\"\"]", "needs a name"),
        (
            servers(json!({ "a\u{202e}b": { "command": "x" } })),
            "mcpServers[\"a\\u{202e}b\"]",
            "invisible characters",
        ),
        (servers(json!({ "a".repeat(101): { "command": "x" } })), "mcpServers", "100 characters"),
        (block(json!({ "command": "" })), "mcpServers.a.command", "write the server's program"),
        (block(json!({ "command": ["x"] })), "mcpServers.a.command", "its arguments in `args`"),
        (block(json!({ "command": 1 })), "mcpServers.a.command", "write a string"),
        (block(json!({ "command": "x", "args": "y" })), "mcpServers.a.args", "write a list"),
        (block(json!({ "command": "x", "args": [{}] })), "mcpServers.a.args[0]", "write a string"),
        (block(json!({ "command": "x\u{0}" })), "mcpServers.a.command", "U+0000"),
        (block(json!({ "command": "x", "env": [] })), "mcpServers.a.env", "write an object"),
        (
            block(json!({ "command": "x", "env": { "A=": "" } })),
            "mcpServers.a.env[\"A=\"]",
            "not a valid variable name",
        ),
        (
            block(json!({ "command": "x", "envFile": ".env" })),
            "mcpServers.a.envFile",
            "copy its variables to `env`",
        ),
        (block(json!({ "command": "x", "type": "http" })), "mcpServers.a.type", "write \"stdio\""),
        (
            block(json!({ "url": "https://e.com", "type": "stdio" })),
            "mcpServers.a.type",
            "write \"http\"",
        ),
        (
            block(json!({ "url": "https://e.com", "transport": "sse" })),
            "mcpServers.a.transport",
            "SSE",
        ),
        (
            block(json!({ "url": "https://e.com", "type": "smoke" })),
            "mcpServers.a.type",
            "\"smoke\" is unknown",
        ),
        (block(json!({ "url": "example.com/mcp" })), "mcpServers.a.url", "https://example.com/mcp"),
        (block(json!({ "url": "ftp://example.com" })), "mcpServers.a.url", "only http and https"),
        (block(json!({ "url": "http://example.com" })), "mcpServers.a.url", "allowHttpHosts"),
        (
            block(json!({ "url": "http://127.0.0.1.example.com" })),
            "mcpServers.a.url",
            "allowHttpHosts",
        ),
        (
            block(json!({ "url": "http://localhost@example.com" })),
            "mcpServers.a.url",
            "allowHttpHosts",
        ),
        (
            block(json!({ "url": "https://e.com", "headers": { "a b": "" } })),
            "mcpServers.a.headers[\"a b\"]",
            "not a valid header name",
        ),
        (
            block(json!({ "url": "https://e.com", "headers": { "accept": "x" } })),
            "mcpServers.a.headers.accept",
            "leave it out",
        ),
        (
            block(json!({ "url": "https://e.com", "headers": { "a": "x\ny" } })),
            "mcpServers.a.headers.a",
            "line break",
        ),
        (
            block(json!({ "command": "x", "disabled": "yes" })),
            "mcpServers.a.disabled",
            "true or false",
        ),
        (block(json!({ "command": "${input:key}" })), "mcpServers.a.command", "`${input:key}`"),
        (
            json!({ "mcpServers": { "a": { "command": "x" } }, "agregator": {} }),
            "agregator",
            "write `aggregator`",
        ),
        (setting("mmr", json!(2)), "aggregator.mmr", "from 0 to 1"),
        (setting("maxItemChars", json!("9")), "aggregator.maxItemChars", "an integer"),
        (setting("lazy", json!(1)), "aggregator.lazy", "true or false"),
        (setting("discovery", json!("all")), "aggregator.discovery", "`annotated`, `named`, `off`"),
        (
            setting("allowHttpHosts", json!(["http://x/"])),
            "aggregator.allowHttpHosts[0]",
            "only a host",
        ),
        (
            setting("allowHttpHosts", json!(["docs.internal:8080"])),
            "aggregator.allowHttpHosts[0]",
            "without a port",
        ),
        (
            setting("allowHttpHosts", json!(["[fd00::1]", "b\u{fc}cher.example"])),
            "aggregator.allowHttpHosts[1]",
            "xn--",
        ),
        (setting("rules", json!([{}])), "aggregator.rules[0]", "`match` is missing"),
        (
            setting("rules", json!([{ "match": "a", "servers": [] }])),
            "aggregator.rules[0].servers",
            "name a server",
        ),
        (
            setting("rules", json!([{ "mach": "a", "servers": ["docs"] }])),
            "aggregator.rules[0].mach",
            "did you mean `match`?",
        ),
        (
            setting("rules", json!([{ "match": "(a{1000}){1000}", "servers": ["docs"] }])),
            "aggregator.rules[0].match",
            "too much memory",
        ),
        (
            setting("servers", json!({ "docs": { "wait": 1 } })),
            "aggregator.servers.docs.wait",
            "unknown",
        ),
        (
            setting("servers", json!({ "docs": { "weight": 0 } })),
            "aggregator.servers.docs.weight",
            "from 0.01 to 100",
        ),
        (
            setting("servers", json!({ "docs": { "calls": [] } })),
            "aggregator.servers.docs.calls",
            "name a tool",
        ),
        (call(json!({})), "aggregator.servers.memory.calls[0]", "`tool` is missing"),
        (call(json!({ "tool": "" })), "aggregator.servers.memory.calls[0].tool", "write the name"),
        (
            call(json!({ "tool": "t", "arguments": [] })),
            "aggregator.servers.memory.calls[0].arguments",
            "an object",
        ),
        (
            call(json!({ "tool": "t", "arguments": { "a": [{ "b": "{query|regx}" }] } })),
            "aggregator.servers.memory.calls[0].arguments.a[0].b",
            "did you mean `regex`?",
        ),
        (
            call(json!({ "tool": "t", "split": " *" })),
            "aggregator.servers.memory.calls[0].split",
            r#"such as "\n\n" or "^- ""#,
        ),
        (
            call(json!({ "tool": "t", "split": "(" })),
            "aggregator.servers.memory.calls[0].split",
            "not a valid regular expression",
        ),
        (
            call(json!({ "tool": "t", "argument": {} })),
            "aggregator.servers.memory.calls[0].argument",
            "did you mean `arguments`?",
        ),
    ] {
        let found = faults(&value);
        let is_told = |fault: &String| fault.starts_with(path) && fault.contains(message);
        assert!(found.iter().any(is_told), "{value}: {found:#?}");
    }
}

#[test]
fn invalid_json_is_reported_by_line_and_column() {
    let error = read("{\n  \"mcpServers\": {\n    \"a\" {}\n  }\n}").unwrap_err();
    assert_eq!(error.to_string(), "this is not valid JSON: expected `:` at line 3 column 9");
}

#[test]
fn duplicate_members_are_reported() {
    let text = r#"{"mcpServers": {"a": {"command": "x", "command": "y"}, "a": {"command": "z"}}}"#;
    let found: Vec<String> =
        read(text).unwrap_err().faults().iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "mcpServers.a: it occurs twice: keep one of them",
            "mcpServers.a.command: it occurs twice: keep one of them",
        ]
    );
}

#[test]
fn a_server_disabled_in_either_section_is_not_checked() {
    let text = r#"{
        "mcpServers": {
            "old": { "type": "sse", "url": "http://example.com/sse" },
            "token": { "command": "x", "env": { "T": "${UNSET}" } },
            "off": { "command": "x", "disabled": true }
        },
        "aggregator": { "servers": {
            "old": { "disabled": true }, "token": { "disabled": true },
            "off": { "calls": [{ "tool": "t", "arguments": { "k": "${UNSET}" } }] }
        } }
    }"#;
    let config = Config::from_json(text, &|_| None).unwrap();
    assert!(config.servers.iter().all(|server| server.disabled));
    let enabled = text.replace("\"disabled\": true", "\"weight\": 1");
    assert!(Config::from_json(&enabled, &|_| None).is_err());
}

#[test]
fn names_below_localhost_are_not_local() {
    let of = |url: &str| {
        let text = format!(r#"{{ "mcpServers": {{ "a": {{ "url": "{url}" }} }} }}"#);
        Config::from_json(&text, &|_| None).map(drop)
    };
    for url in ["http://localhost./mcp", "http://LOCALHOST/mcp", "http://[::1]/mcp"] {
        assert_eq!(of(url), Ok(()), "{url}");
    }
    assert!(of("http://x.localhost/mcp").is_err());
}

#[test]
fn values_of_variables_are_secret_and_not_shown() {
    let text = r#"{ "mcpServers": {
        "a": { "command": "x", "args": ["--to", "${KEY}"], "env": { "PLAIN": "word" } },
        "b": { "command": "x" }
    } }"#;
    let config = Config::from_json(text, &|_| Some("s3cret-key".to_owned())).unwrap();
    let [(_, held)] = config.servers[0].secrets.as_slice() else { panic!() };
    assert_eq!(held, "s3cret-key");
    assert!(config.servers[1].secrets.is_empty());
    assert!(!format!("{config:?}").contains("s3cret"));
}

#[test]
fn a_disabled_server_is_not_checked() {
    let config = good(&json!({
        "mcpServers": {
            "a": { "command": "x" },
            "off": { "disabled": true, "command": "${NOWHERE}", "env": { "K": "${NEITHER}" } },
            "old": { "enabled": false, "type": "sse", "url": "http://example.com/sse" },
        },
        "aggregator": { "servers": {
            "off": { "disabled": true, "calls": [{ "tool": "t", "arguments": { "k": "${NOWHERE}" } }] },
        } },
    }));
    let disabled: Vec<_> = config.servers.iter().map(|server| server.disabled).collect();
    assert_eq!(disabled, [false, true, true]);
}

#[test]
fn rules_choose_servers() {
    let config = good(&json!({
        "mcpServers": {
            "a": { "command": "x" }, "b": { "command": "x" },
            "c": { "command": "x" }, "off": { "command": "x", "disabled": true },
        },
        "aggregator": { "rules": [
            { "match": "(?i)book", "servers": ["c", "off"] },
            { "match": "film$", "servers": ["b", "c"] },
            { "match": "^secret", "servers": ["off"] },
        ] },
    }));
    for (shows, query, expected) in [
        ("no rule matches", "song", vec![0, 1, 2]),
        ("one rule, without the disabled server", "Books", vec![2]),
        ("several rules, in the order of the file", "book or film", vec![1, 2]),
        ("nothing is left of the rule", "secret", vec![0, 1, 2]),
    ] {
        assert_eq!(config.chosen(query), expected, "{shows}");
    }
}

#[test]
fn plain_http_is_accepted_for_allowed_hosts() {
    for url in [
        "http://localhost:1/mcp",
        "http://LOCALHOST/",
        "http://127.1.2.3/",
        "http://[::1]:80/",
        "http://docs.internal/mcp",
        " https://example.com ",
    ] {
        let config = good(&json!({
            "mcpServers": { "a": { "url": url } },
            "aggregator": { "allowHttpHosts": ["Docs.Internal"] },
        }));
        let How::Http { url: read, .. } = &config.servers[0].how else { panic!("{url}") };
        assert_eq!(read, url.trim());
    }
}

#[test]
fn a_file_expands_environment_variables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("servers.json");
    std::fs::write(&path, r#"{"mcpServers": {"a": {"command": "${PATH}"}}}"#).unwrap();
    let config = Config::from_file(&path).unwrap();
    let How::Command { command, .. } = &config.servers[0].how else { panic!() };
    assert_eq!(*command, std::env::var("PATH").unwrap());
    let error = Config::from_file(&folder.path().join("none.json")).unwrap_err().to_string();
    assert!(error.starts_with("cannot read ") && error.contains("none.json"), "{error}");
    std::fs::write(&path, b"\xff{}").unwrap();
    assert!(Config::from_file(&path).unwrap_err().to_string().contains("UTF-8"));
    std::fs::write(&path, " ".repeat(4 * 1024 * 1024 + 1)).unwrap();
    assert!(Config::from_file(&path).unwrap_err().to_string().contains("4194304 bytes"));
    for path in
        [folder.path(), std::path::Path::new("/dev/zero")].into_iter().filter(|it| it.exists())
    {
        let error = Config::from_file(path).unwrap_err().to_string();
        assert!(error.contains("it is not a regular file"), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn no_link_on_a_relative_path_is_followed() {
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::create_dir(here.join("own")).unwrap();
    std::fs::write(here.join("own/servers.json"), "{}").unwrap();
    symlink(here.join("own/servers.json"), here.join("servers.json")).unwrap();
    symlink(here.join("own"), here.join("shared")).unwrap();
    for path in ["servers.json", "shared/servers.json"] {
        let error = read_file(&SettingPath::new(here, path)).unwrap_err().to_string();
        assert!(
            error.contains("is a symbolic link") && error.contains("absolute path"),
            "{path}: {error}"
        );
        // The links of an absolute path were chosen together with the path.
        assert_eq!(read_file(&SettingPath::new(here, here.join(path))).unwrap(), "{}", "{path}");
    }
    assert_eq!(read_file(&SettingPath::new(here, "own/servers.json")).unwrap(), "{}");
}

/// Generates JSON with known names, also where they are invalid.
fn any_json() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec![
        "mcpServers",
        "servers",
        "aggregator",
        "command",
        "args",
        "env",
        "cwd",
        "url",
        "headers",
        "type",
        "disabled",
        "enabled",
        "rules",
        "match",
        "calls",
        "tool",
        "arguments",
        "items",
        "weight",
        "mmr",
        "maxResults",
        "lazy",
        "discovery",
        "allowHttpHosts",
        "a",
        "",
        "\u{1b}[0m",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "http",
            "sse",
            "https://x.y/z",
            "${A}",
            "{query|regex}",
            "{keywords}",
            "a",
            "(",
            "${A:-}",
            "{{",
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names.clone(), inner), 0..6).prop_map(|members| {
                Value::Object(members.into_iter().map(|(name, it)| (name.to_owned(), it)).collect())
            }),
        ]
    })
}

/// Replaces a part of a valid configuration.
fn broken(mut value: Value, steps: &[usize], other: Value) -> Value {
    fn walk(value: &mut Value, steps: &[usize], other: Value) {
        let place = match value {
            Value::Array(items) if !items.is_empty() => steps.first().and_then(|step| {
                let length = items.len();
                items.get_mut(step % length)
            }),
            Value::Object(members) if !members.is_empty() => steps.first().and_then(|step| {
                let length = members.len();
                members.values_mut().nth(step % length)
            }),
            _ => None,
        };
        match place {
            Some(place) => walk(place, &steps[1..], other),
            None => *value = other,
        }
    }
    walk(&mut value, steps, other);
    value
}

fn secret_config() -> Value {
    json!({
        "mcpServers": {
            "a": {
                "command": "x", "args": ["--token", "${TOKEN}", "s3cr3t-value"],
                "env": { "KEY": "s3cr3t-value", "OTHER": "${TOKEN}" }, "cwd": "/s3cr3t-value",
            },
            "b": {
                "type": "http", "url": "https://me:s3cr3t-value@example.com/?k=s3cr3t-value",
                "headers": { "Authorization": "Bearer s3cr3t-value", "X": "${TOKEN}" },
            },
        },
        "aggregator": { "servers": { "a": { "calls": [
            { "tool": "t", "arguments": { "q": "{query}", "k": "${TOKEN}", "l": "s3cr3t-value" } },
        ] } } },
    })
}

proptest! {
    #[test]
    fn arbitrary_json_causes_no_panic(value in any_json()) {
        let _ = read(&value.to_string());
    }

    #[test]
    fn arbitrary_text_causes_no_panic(text in "[\\[\\]{}\",:/*\\\\a0 \\n$-]{0,60}") {
        let _ = read(&text);
    }

    #[test]
    fn no_fault_contains_a_secret(
        steps in prop::collection::vec(any::<usize>(), 0..6),
        other in any_json(),
    ) {
        let value = broken(secret_config(), &steps, other);
        match read(&value.to_string()) {
            Ok(config) => {
                let told = format!("{:?}", config.servers[0].how);
                prop_assert!(!told.contains("s3cr3t"), "{told}");
            }
            Err(error) => {
                let told = format!("{error} {error:?}");
                prop_assert!(!told.contains("s3cr3t"), "{value}: {told}");
                prop_assert!(!error.faults().is_empty());
                prop_assert!(
                    !error.to_string().chars().any(|each| each.is_control() && each != '\n'),
                    "{:?}", error
                );
            }
        }
    }
}
