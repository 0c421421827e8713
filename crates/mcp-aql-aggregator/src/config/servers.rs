//! Reads a server's block of the client's configuration.
//!
//! ```json
//! { "command": "mcp-server-memory", "env": { "MEMORY_FILE_PATH": "${HOME}/memory.jsonl" } }
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::fault::ConfigPath;
use super::node::Node;
use super::reader::ConfigReader;
use super::{How, ServerConfig, ServerSettings};
use crate::names::{QuotedName, nearest};

/// Maximum length of a server's name in characters. Every result shows the name.
const MAX_NAME_CHARS: usize = 100;

/// Names that clients use for `url`.
const URLS: [&str; 3] = ["url", "serverUrl", "httpUrl"];

/// Headers that the transport sets itself.
const TRANSPORT_HEADERS: [&str; 5] =
    ["Accept", "Content-Type", "Content-Length", "Mcp-Session-Id", "Mcp-Protocol-Version"];

/// The kind of transport that a block declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TransportKind {
    Command,
    Http,
    Sse,
}

pub(super) fn read(
    reader: &mut ConfigReader<'_>,
    at: &ConfigPath<'_>,
    name: &str,
    node: &Node,
    http_hosts: &[String],
) -> ServerConfig {
    check_name(reader, at, name);
    let is_object = reader.members(at, node).is_some();
    let disabled = is_disabled(reader, at, node);
    reader.allows_unset = disabled || reader.disabled.contains(name);
    reader.held.clear();
    let how = if is_object { how(reader, at, node, http_hosts) } else { None };
    reader.allows_unset = false;
    // An invalid server keeps its index, because rules may name it. The configuration is rejected
    // anyway.
    let how = how.unwrap_or(How::Http { url: String::new(), headers: BTreeMap::new() });
    ServerConfig {
        name: name.to_owned(),
        how,
        disabled,
        secrets: std::mem::take(&mut reader.held),
        settings: ServerSettings::default(),
    }
}

fn check_name(reader: &mut ConfigReader<'_>, at: &ConfigPath<'_>, name: &str) {
    if name.trim().is_empty() {
        reader.faults.add(at, "a server needs a name");
    } else if name.chars().count() > MAX_NAME_CHARS {
        reader.faults.add(at, format!("the name has more than {MAX_NAME_CHARS} characters"));
    } else if name.trim() != name
        || mcp_aql_rank::texts::clean(name) != name
        || name.contains(['\n', '\t'])
    {
        reader.faults.add(
            at,
            "the name contains invisible characters: write it with letters, digits and `-`",
        );
    }
}

fn is_disabled(reader: &mut ConfigReader<'_>, at: &ConfigPath<'_>, node: &Node) -> bool {
    let mut word =
        |name: &'static str| node.get(name).and_then(|node| reader.truth(&at.member(name), node));
    word("disabled").unwrap_or(false) | !word("enabled").unwrap_or(true)
}

fn how(
    reader: &mut ConfigReader<'_>,
    at: &ConfigPath<'_>,
    node: &Node,
    http_hosts: &[String],
) -> Option<How> {
    let told = declared_kind(reader, at, node);
    let command = node.get("command");
    let url = URLS.into_iter().find_map(|name| Some((name, node.get(name)?)));
    if node.get("envFile").is_some() && !reader.allows_unset {
        reader.faults.add(
            &at.member("envFile"),
            "it is not supported: copy its variables to `env`, or set them in the aggregator's environment",
        );
    }
    match (command, url) {
        (Some(_), Some((name, _))) => {
            reader.faults.add(at, format!("it has `command` and `{name}`: keep one of them"));
            None
        }
        (Some(node_of), None) => {
            if let Some((word, TransportKind::Http | TransportKind::Sse)) = told {
                reader.faults.add(
                    &at.member(word),
                    "it declares HTTP, but the server has a `command`: write \"stdio\", or replace it by `url`",
                );
            }
            command_transport(reader, at, node, node_of)
        }
        (None, Some((name, node_of))) => {
            match told {
                Some((word, TransportKind::Command)) => reader.faults.add(
                    &at.member(word),
                    format!("it declares stdio, but the server has a `{name}`: write \"http\""),
                ),
                Some((word, TransportKind::Sse)) if !reader.allows_unset => reader.faults.add(
                    &at.member(word),
                    "the SSE transport of 2024 is not supported: write \"http\" if the server supports \
                     streamable HTTP (usually under the path /mcp), or run a bridge as a `command`",
                ),
                _ => {}
            }
            http_transport(reader, at, node, (name, node_of), http_hosts)
        }
        (None, None) => {
            let Node::Members(members) = node else { return None };
            let names = || members.iter().map(|(name, _)| name.as_str());
            let near = ["command", "url"].into_iter().find_map(|word| {
                let name = QuotedName(nearest(names(), word)?);
                Some(format!(": did you mean `{word}` instead of {name}?"))
            });
            let hint = near.unwrap_or_else(|| {
                ": write `command` for a program, or `url` for a server over HTTP".to_owned()
            });
            reader.faults.add(at, format!("it has neither `command` nor `url`{hint}"));
            None
        }
    }
}

/// Reads `type` or `transport`.
fn declared_kind(
    reader: &mut ConfigReader<'_>,
    at: &ConfigPath<'_>,
    node: &Node,
) -> Option<(&'static str, TransportKind)> {
    let (word, told) =
        ["type", "transport"].into_iter().find_map(|word| Some((word, node.get(word)?)))?;
    let at = at.member(word);
    let raw = reader.raw_text(&at, told)?;
    let text = reader.text(&at, told)?;
    let plain: String =
        text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let kind = match plain.as_str() {
        "stdio" | "local" | "command" => TransportKind::Command,
        "http" | "https" | "streamablehttp" | "httpstream" | "httpstreamable" | "remote"
        | "streaminghttp" => TransportKind::Http,
        "sse" => TransportKind::Sse,
        _ => {
            reader.faults.add(
                &at,
                format!(
                    "{} is unknown: write \"stdio\" or \"http\", or leave it out",
                    QuotedName(raw)
                ),
            );
            return None;
        }
    };
    Some((word, kind))
}

fn command_transport(
    reader: &mut ConfigReader<'_>,
    at: &ConfigPath<'_>,
    node: &Node,
    command: &Node,
) -> Option<How> {
    let command_at = at.member("command");
    let command = match command {
        // Some clients write the command as a list.
        Node::List(_) => {
            reader.faults.add(
                &command_at,
                "this is a list: write the program here, and its arguments in `args`",
            );
            None
        }
        _ => reader.strict_text(&command_at, command),
    };
    if command.as_deref().is_some_and(|command| command.trim().is_empty()) && !reader.allows_unset {
        reader.faults.add(&command_at, "it is empty: write the server's program");
    }
    let mut args = Vec::new();
    if let Some(node) = node.get("args") {
        let at = at.member("args");
        for (place, node) in reader.list(&at, node).unwrap_or_default().iter().enumerate() {
            args.extend(reader.text(&at.item(place), node));
        }
    }
    let env = pairs(reader, &at.member("env"), node.get("env"), |name| {
        (name.is_empty() || name.contains(['=', '\0']))
            .then_some("this is not a valid variable name: it is empty or contains `=`")
    });
    let cwd = node.get("cwd").and_then(|node| reader.strict_text(&at.member("cwd"), node));
    Some(How::Command {
        command: command?,
        args,
        env,
        cwd: cwd.filter(|cwd| !cwd.is_empty()).map(PathBuf::from),
    })
}

fn http_transport(
    reader: &mut ConfigReader<'_>,
    at: &ConfigPath<'_>,
    node: &Node,
    (name, url): (&str, &Node),
    http_hosts: &[String],
) -> Option<How> {
    let url_at = at.member(name);
    let url = reader.strict_text(&url_at, url);
    if let Some(url) = &url
        && !reader.allows_unset
        && let Err(fault) = super::url::check_url(url.trim(), http_hosts)
    {
        reader.faults.add(&url_at, fault);
    }
    let headers_at = at.member("headers");
    let headers = pairs(reader, &headers_at, node.get("headers"), |name| {
        let is_token = !name.is_empty()
            && name
                .chars()
                .all(|each| each.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(each));
        if !is_token {
            return Some("this is not a valid header name");
        }
        TRANSPORT_HEADERS
            .iter()
            .any(|ours| name.eq_ignore_ascii_case(ours))
            .then_some("the MCP transport sets this header itself: leave it out")
    });
    for (name, value) in &headers {
        if value.chars().any(|each| each.is_control() && each != '\t') {
            // The value is secret, so the message does not quote it.
            reader.faults.add(
                &headers_at.member(name),
                "it contains control characters such as line breaks: remove them, because a header must not \
                 contain any",
            );
        }
    }
    Some(How::Http { url: url?.trim().to_owned(), headers })
}

/// Reads an object of strings, such as variables or headers. Members with `null` are left out.
fn pairs(
    reader: &mut ConfigReader<'_>,
    at: &ConfigPath<'_>,
    node: Option<&Node>,
    judge: impl Fn(&str) -> Option<&'static str>,
) -> BTreeMap<String, String> {
    let mut pairs = BTreeMap::new();
    let Some(node) = node else { return pairs };
    for (name, node) in reader.members(at, node).unwrap_or_default() {
        let at = at.member(name);
        if let Some(fault) = judge(name) {
            reader.faults.add(&at, fault);
        }
        if matches!(node, Node::Plain(value) if value.is_null()) {
            continue;
        }
        if let Some(value) = reader.text(&at, node) {
            pairs.insert(name.clone(), value);
        }
    }
    pairs
}
