//! Reads the aggregator's own settings: the member `aggregator`.
//!
//! ```json
//! {
//!   "maxResults": 20,
//!   "rules": [{ "match": "(?i)manual", "servers": ["docs"] }],
//!   "servers": { "docs": { "calls": [{ "tool": "search_docs" }], "weight": 2 } }
//! }
//! ```

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use regex::RegexBuilder;
use serde_json::Value;

use super::calls::{MAX_REGEX_BYTES, calls, regex_fault};
use super::fault::ConfigPath;
use super::node::Node;
use super::reader::ConfigReader;
use super::{Config, Lifecycle, Rule, ServerSettings, Settings};
use crate::ask::Discovery;
use crate::names::{QuotedName, listed, nearest};

const NAMES: [&str; 19] = [
    "serverTimeoutMs",
    "deadlineMs",
    "startTimeoutMs",
    "maxResults",
    "maxResponseBytes",
    "maxItemsPerServer",
    "maxItemChars",
    "maxOutputBytes",
    "discovery",
    "rules",
    "maxQueries",
    "callsPerServer",
    "breakerFailures",
    "breakerOpenMs",
    "maxPerServer",
    "mmr",
    "allowHttpHosts",
    "lazy",
    "servers",
];
const SERVER_NAMES: [&str; 6] =
    ["calls", "weight", "timeoutMs", "lifecycle", "discovery", "disabled"];
const RULE_NAMES: [&str; 2] = ["match", "servers"];

/// Maximum time limit of one server in milliseconds, from the contract.
const MAX_SERVER_TIMEOUT_MS: u64 = 3000;
/// Maximum time limit of a query in milliseconds, from the contract.
const MAX_DEADLINE_MS: u64 = 5000;
const MEGABYTE: u64 = 1024 * 1024;
const MAX_RULES: usize = 200;

/// Returns only `allowHttpHosts`. Mistakes in it are reported later.
pub(super) fn http_hosts(aggregator: &Node) -> Vec<String> {
    match aggregator.get("allowHttpHosts") {
        Some(Node::List(hosts)) => hosts
            .iter()
            .filter_map(|host| match host {
                Node::Text(host) => Some(host.clone()),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Returns the servers disabled in this section. Mistakes are reported later.
pub(super) fn disabled(aggregator: &Node) -> HashSet<String> {
    let Some(Node::Members(servers)) = aggregator.get("servers") else { return HashSet::new() };
    let disabled = servers.iter().filter(|(_, node)| is_disabled(node));
    disabled.map(|(name, _)| name.clone()).collect()
}

fn is_disabled(node: &Node) -> bool {
    matches!(node.get("disabled"), Some(Node::Plain(Value::Bool(true))))
}

pub(super) fn read(
    reader: &mut ConfigReader<'_>,
    at: &ConfigPath<'_>,
    node: &Node,
    config: &mut Config,
) {
    for (name, node) in reader.members(at, node).unwrap_or_default() {
        let at = &at.member(name);
        match name.as_str() {
            "rules" => config.settings.rules = rules(reader, at, node, config),
            "servers" => servers(reader, at, node, config),
            _ => setting(reader, at, name, node, &mut config.settings),
        }
    }
}

fn setting(
    reader: &mut ConfigReader<'_>,
    at: &ConfigPath<'_>,
    name: &str,
    node: &Node,
    settings: &mut Settings,
) {
    match name {
        "serverTimeoutMs" => {
            reader.millis(at, node, 1..=MAX_SERVER_TIMEOUT_MS, &mut settings.server_timeout);
        }
        "deadlineMs" => reader.millis(at, node, 1..=MAX_DEADLINE_MS, &mut settings.deadline),
        "startTimeoutMs" => reader.millis(at, node, 1..=600_000, &mut settings.start_timeout),
        "maxResults" => reader.size(at, node, 10..=100, &mut settings.max_results),
        "maxResponseBytes" => {
            reader.size(at, node, 1024..=16 * MEGABYTE, &mut settings.max_response_bytes);
        }
        "maxItemsPerServer" => {
            reader.size(at, node, 1..=1000, &mut settings.max_items_per_server);
        }
        "maxItemChars" => reader.size(at, node, 100..=100_000, &mut settings.max_item_chars),
        "maxOutputBytes" => {
            reader.size(at, node, 4096..=16 * MEGABYTE, &mut settings.max_output_bytes);
        }
        "discovery" => {
            settings.discovery = discovery(reader, at, node).unwrap_or(settings.discovery)
        }
        "maxQueries" => reader.size(at, node, 1..=10_000, &mut settings.max_queries),
        "callsPerServer" => reader.size(at, node, 1..=1000, &mut settings.calls_per_server),
        "breakerFailures" => {
            let failures = reader.whole(at, node, 1..=1000);
            settings.breaker_failures = failures
                .and_then(|failures| u32::try_from(failures).ok())
                .unwrap_or(settings.breaker_failures);
        }
        "breakerOpenMs" => reader.millis(at, node, 1..=3_600_000, &mut settings.breaker_open),
        "maxPerServer" => {
            settings.max_per_server =
                reader.whole(at, node, 1..=100).and_then(|most| usize::try_from(most).ok());
        }
        "mmr" => settings.mmr = reader.number(at, node, 0.0..=1.0),
        "allowHttpHosts" => hosts(reader, at, node),
        "lazy" => settings.lazy = reader.truth(at, node).unwrap_or(settings.lazy),
        _ => reader.unknown(at, name, &NAMES),
    }
}

impl ConfigReader<'_> {
    fn whole(
        &mut self,
        at: &ConfigPath<'_>,
        node: &Node,
        range: RangeInclusive<u64>,
    ) -> Option<u64> {
        let number = match node {
            Node::Plain(Value::Number(number)) => number.as_u64(),
            _ => None,
        };
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let (least, most) = range.into_inner();
            self.faults.add(at, format!("write an integer from {least} to {most}"));
        }
        number
    }

    fn number(
        &mut self,
        at: &ConfigPath<'_>,
        node: &Node,
        range: RangeInclusive<f64>,
    ) -> Option<f64> {
        let number = match node {
            Node::Plain(Value::Number(number)) => number.as_f64(),
            _ => None,
        };
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let (least, most) = range.into_inner();
            self.faults.add(at, format!("write a number from {least} to {most}"));
        }
        number
    }

    fn size(
        &mut self,
        at: &ConfigPath<'_>,
        node: &Node,
        range: RangeInclusive<u64>,
        size: &mut usize,
    ) {
        if let Some(told) = self.whole(at, node, range).and_then(|told| usize::try_from(told).ok())
        {
            *size = told;
        }
    }

    fn millis(
        &mut self,
        at: &ConfigPath<'_>,
        node: &Node,
        range: RangeInclusive<u64>,
        time: &mut Duration,
    ) {
        if let Some(millis) = self.whole(at, node, range) {
            *time = Duration::from_millis(millis);
        }
    }

    /// Reads one of several words.
    fn word<T>(&mut self, at: &ConfigPath<'_>, node: &Node, words: &[(&str, T)]) -> Option<T>
    where
        T: Copy,
    {
        let text = self.raw_text(at, node)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let names = listed(words.iter().map(|(word, _)| *word));
            self.faults.add(at, format!("{} is unknown: write one of {names}", QuotedName(text)));
        }
        found
    }
}

fn discovery(reader: &mut ConfigReader<'_>, at: &ConfigPath<'_>, node: &Node) -> Option<Discovery> {
    let words =
        [("annotated", Discovery::Annotated), ("named", Discovery::Named), ("off", Discovery::Off)];
    reader.word(at, node, &words)
}

fn hosts(reader: &mut ConfigReader<'_>, at: &ConfigPath<'_>, node: &Node) {
    for (place, node) in reader.list(at, node).unwrap_or_default().iter().enumerate() {
        let at = &at.item(place);
        if let Some(host) = reader.raw_text(at, node)
            && !is_host(host)
        {
            reader.faults.add(
                at,
                "write only a host, without a port, such as \"docs.internal\"; write a name with non-ASCII \
                 letters in the form \"xn--…\"",
            );
        }
    }
}

/// Returns `true` if a string is a host in the form that parsed URLs contain.
fn is_host(text: &str) -> bool {
    let address = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    match address {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            !text.is_empty()
                && text.chars().all(|each| each.is_ascii_alphanumeric() || "-._~".contains(each))
        }
    }
}

fn rules(
    reader: &mut ConfigReader<'_>,
    at: &ConfigPath<'_>,
    node: &Node,
    config: &Config,
) -> Vec<Rule> {
    let nodes = reader.list(at, node).unwrap_or_default();
    if nodes.len() > MAX_RULES {
        reader.faults.add(at, format!("there are more than {MAX_RULES} rules"));
        return Vec::new();
    }
    let rules = nodes.iter().enumerate();
    rules.filter_map(|(place, node)| rule(reader, &at.item(place), node, config)).collect()
}

fn rule(
    reader: &mut ConfigReader<'_>,
    at: &ConfigPath<'_>,
    node: &Node,
    config: &Config,
) -> Option<Rule> {
    for (name, _) in reader.members(at, node)? {
        if !RULE_NAMES.contains(&name.as_str()) {
            reader.unknown(&at.member(name), name, &RULE_NAMES);
        }
    }
    for name in RULE_NAMES {
        if node.get(name).is_none() {
            reader.faults.add(at, format!("`{name}` is missing"));
        }
    }
    let matches = node.get("match").and_then(|node| {
        let at = at.member("match");
        let pattern = reader.raw_text(&at, node)?;
        let built = RegexBuilder::new(pattern).size_limit(MAX_REGEX_BYTES).build();
        built.map_err(|error| reader.faults.add(&at, regex_fault(&error))).ok()
    });
    let servers = node.get("servers").map(|node| {
        let at = at.member("servers");
        let nodes = reader.list(&at, node).unwrap_or_default();
        if matches!(node, Node::List(nodes) if nodes.is_empty()) {
            reader.faults.add(&at, "it is empty: name a server, or remove the rule");
        }
        let places = nodes.iter().enumerate();
        places
            .filter_map(|(place, node)| {
                let at = at.item(place);
                let name = reader.raw_text(&at, node)?;
                place_of(reader, &at, name, config)
            })
            .collect()
    });
    Some(Rule { matches: matches?, servers: servers? })
}

/// Returns the index of a server named in this section.
fn place_of(
    reader: &mut ConfigReader<'_>,
    at: &ConfigPath<'_>,
    name: &str,
    config: &Config,
) -> Option<usize> {
    let found = config.servers.iter().position(|server| server.name == name);
    if found.is_none() {
        let names: Vec<_> = config.server_names().collect();
        let hint = match nearest(names.iter().copied(), name) {
            Some(near) => format!("did you mean {}?", QuotedName(near)),
            None => format!("the servers are {}", listed(names.into_iter())),
        };
        reader.faults.add(at, format!("there is no server {}: {hint}", QuotedName(name)));
    }
    found
}

fn servers(reader: &mut ConfigReader<'_>, at: &ConfigPath<'_>, node: &Node, config: &mut Config) {
    for (name, node) in reader.members(at, node).unwrap_or_default() {
        let at = &at.member(name);
        let place = place_of(reader, at, name, config);
        let is_off =
            place.and_then(|place| config.servers.get(place)).is_some_and(|it| it.disabled);
        let (settings, disabled) = server(reader, at, node, is_off);
        if let Some(server) = place.and_then(|place| config.servers.get_mut(place)) {
            server.settings = settings;
            server.disabled |= disabled;
        }
    }
}

fn server(
    reader: &mut ConfigReader<'_>,
    at: &ConfigPath<'_>,
    node: &Node,
    is_off: bool,
) -> (ServerSettings, bool) {
    let mut settings = ServerSettings::default();
    let mut disabled = false;
    // The settings of a disabled server may be incomplete.
    reader.allows_unset = is_off || is_disabled(node);
    for (name, node) in reader.members(at, node).unwrap_or_default() {
        let at = &at.member(name);
        match name.as_str() {
            "calls" => settings.calls = calls(reader, at, node),
            "weight" => {
                settings.weight = reader.number(at, node, 0.01..=100.0).unwrap_or(settings.weight);
            }
            "timeoutMs" => {
                settings.timeout =
                    reader.whole(at, node, 1..=MAX_SERVER_TIMEOUT_MS).map(Duration::from_millis);
            }
            "lifecycle" => {
                let words =
                    [("initialize", Lifecycle::Initialize), ("discover", Lifecycle::Discover)];
                settings.lifecycle = reader.word(at, node, &words).unwrap_or(settings.lifecycle);
            }
            "discovery" => settings.discovery = discovery(reader, at, node),
            "disabled" => disabled = reader.truth(at, node).unwrap_or(false),
            _ => reader.unknown(at, name, &SERVER_NAMES),
        }
    }
    reader.allows_unset = false;
    (settings, disabled)
}
