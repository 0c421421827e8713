//! Parses the content of a configuration file into a [`Config`].

use std::collections::HashSet;

use super::fault::{ConfigPath, Faults};
use super::node::Node;
use super::reader::ConfigReader;
use super::{Config, ConfigError, ServerConfig, servers, settings};
use crate::names::{QuotedName, nearest};
use crate::variables::Variables;

/// Maximum number of servers.
const MAX_SERVERS: usize = 1000;

pub(super) fn config(text: &str, variables: Variables<'_>) -> Result<Config, ConfigError> {
    let root = Node::parse(text)
        .map_err(|error| ConfigError::of("", format!("this is not valid JSON: {error}")))?;
    let mut reader = ConfigReader {
        variables,
        faults: Faults::default(),
        allows_unset: false,
        held: Vec::new(),
        disabled: HashSet::new(),
    };
    let mut config = Config { servers: Vec::new(), settings: super::Settings::default() };
    let at = ConfigPath::Root;
    if let Some(members) = reader.members(&at, &root) {
        let aggregator = members.iter().find(|(name, _)| name == "aggregator");
        // Reading a server checks its URL, so the hosts allowed over plain HTTP are read first.
        if let Some((_, node)) = aggregator {
            config.settings.allow_http_hosts = settings::http_hosts(node);
            // So are the disabled servers, because their blocks are not checked completely.
            reader.disabled = settings::disabled(node);
        }
        config.servers = read_servers(&mut reader, &at, members, &config.settings.allow_http_hosts);
        if let Some((name, node)) = aggregator {
            settings::read(&mut reader, &at.member(name), node, &mut config);
        }
        // A client's file may contain anything else, but a misspelled `aggregator` is a mistake.
        for (name, _) in members {
            if name != "aggregator" && strsim::damerau_levenshtein(name, "aggregator") <= 3 {
                reader.faults.add(&at.member(name), "unknown: write `aggregator`");
            }
        }
    }
    reader.faults.into_result()?;
    Ok(config)
}

/// Reads the blocks of all servers.
fn read_servers(
    reader: &mut ConfigReader<'_>,
    root: &ConfigPath<'_>,
    members: &[(String, Node)],
    http_hosts: &[String],
) -> Vec<ServerConfig> {
    const KEYS: [&str; 2] = ["mcpServers", "servers"];
    let mut found = members.iter().filter(|(name, _)| KEYS.contains(&name.as_str()));
    let Some((key, node)) = found.next() else {
        let near = nearest(members.iter().map(|(name, _)| name.as_str()), "mcpServers");
        let hint = near.map(|name| format!(" instead of {}", QuotedName(name))).unwrap_or_default();
        reader.faults.add(
            root,
            format!(
                "there are no servers: write `mcpServers`{hint}, as in the configuration of an MCP client"
            ),
        );
        return Vec::new();
    };
    if let Some((other, _)) = found.next() {
        reader.faults.add(
            &root.member(other),
            format!("`{key}` already contains servers: keep one of them"),
        );
    }
    let at = root.member(key);
    let Some(members) = reader.members(&at, node) else { return Vec::new() };
    if members.is_empty() {
        reader.faults.add(&at, "it contains no servers: add one");
    }
    if members.len() > MAX_SERVERS {
        reader.faults.add(&at, format!("it has more than {MAX_SERVERS} servers"));
        return Vec::new();
    }
    members
        .iter()
        .map(|(name, node)| servers::read(reader, &at.member(name), name, node, http_hosts))
        .collect()
}
