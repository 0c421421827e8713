//! Converts the text of a file to a [`Config`].

use std::collections::HashSet;

use super::expand::{Variables, expanded};
use super::fault::{ConfigPath, Faults, QuotedName};
use super::node::Node;
use super::{Config, ConfigError, ServerConfig, servers, settings};

/// The maximum number of servers.
const MAX_SERVERS: usize = 1000;

/// The reader's state: the variables, and the faults found so far.
pub(super) struct ConfigReader<'a> {
    pub(super) variables: Variables<'a>,
    pub(super) faults: Faults,
    /// Whether the block of a disabled server is being read, in which unset variables are allowed.
    pub(super) allows_unset: bool,
    /// The names and values of the variables expanded so far.
    pub(super) held: Vec<(String, String)>,
    /// Servers that are disabled in the `aggregator` section.
    pub(super) disabled: HashSet<String>,
}

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
            // The same holds for disabled servers, whose blocks are not checked in full.
            reader.disabled = settings::disabled(node);
        }
        config.servers = reader.servers(&at, members, &config.settings.allow_http_hosts);
        if let Some((name, node)) = aggregator {
            settings::read(&mut reader, &at.member(name), node, &mut config);
        }
        // A client's file may contain anything else, but a misspelt `aggregator` is a mistake.
        for (name, _) in members {
            if name != "aggregator" && strsim::damerau_levenshtein(name, "aggregator") <= 3 {
                reader.faults.add(&at.member(name), "unknown: write `aggregator`");
            }
        }
    }
    reader.faults.into_result()?;
    Ok(config)
}

impl ConfigReader<'_> {
    fn servers(
        &mut self,
        root: &ConfigPath<'_>,
        members: &[(String, Node)],
        http_hosts: &[String],
    ) -> Vec<ServerConfig> {
        const KEYS: [&str; 2] = ["mcpServers", "servers"];
        let mut found = members.iter().filter(|(name, _)| KEYS.contains(&name.as_str()));
        let Some((key, node)) = found.next() else {
            let near = nearest(members.iter().map(|(name, _)| name.as_str()), "mcpServers");
            let hint = near.map(|name| format!(" for {}", QuotedName(name))).unwrap_or_default();
            self.faults.add(
                root,
                format!(
                    "there are no servers: write `mcpServers`{hint}, as in a client's configuration"
                ),
            );
            return Vec::new();
        };
        if let Some((other, _)) = found.next() {
            self.faults.add(
                &root.member(other),
                format!("`{key}` already contains servers: keep one of them"),
            );
        }
        let at = root.member(key);
        let Some(members) = self.members(&at, node) else { return Vec::new() };
        if members.is_empty() {
            self.faults.add(&at, "it contains no server: name at least one");
        }
        if members.len() > MAX_SERVERS {
            self.faults.add(&at, format!("it has more than {MAX_SERVERS} servers"));
            return Vec::new();
        }
        members
            .iter()
            .map(|(name, node)| servers::read(self, &at.member(name), name, node, http_hosts))
            .collect()
    }

    /// Returns the members of an object, or reports a fault.
    pub(super) fn members<'n>(
        &mut self,
        at: &ConfigPath<'_>,
        node: &'n Node,
    ) -> Option<&'n [(String, Node)]> {
        let Node::Members(members) = node else {
            self.faults.add(at, format!("this is {}: write an object, {{ … }}", node.kind()));
            return None;
        };
        let mut seen = HashSet::new();
        for (name, _) in members {
            if !seen.insert(name) {
                self.faults.add(&at.member(name), "it is written twice: keep one of them");
            }
        }
        Some(members)
    }

    /// Returns the elements of a list, or reports a fault.
    pub(super) fn list<'n>(&mut self, at: &ConfigPath<'_>, node: &'n Node) -> Option<&'n [Node]> {
        match node {
            Node::List(items) => Some(items),
            _ => {
                self.faults.add(at, format!("this is {}: write a list, [ … ]", node.kind()));
                None
            }
        }
    }

    /// Returns a string without expanding variables.
    pub(super) fn raw_text<'n>(&mut self, at: &ConfigPath<'_>, node: &'n Node) -> Option<&'n str> {
        match node {
            Node::Text(text) => Some(text),
            _ => {
                self.faults.add(at, format!("this is {}: write a string", node.kind()));
                None
            }
        }
    }

    /// Returns a string with its variables expanded. Numbers and booleans are converted to text, as
    /// clients do.
    pub(super) fn text(&mut self, at: &ConfigPath<'_>, node: &Node) -> Option<String> {
        let text = match node {
            Node::Plain(value) if !value.is_null() => return Some(value.to_string()),
            _ => self.raw_text(at, node)?,
        };
        match expanded(text, self.variables, &mut self.held) {
            Ok(text) if text.contains('\0') => {
                self.faults.add(at, "it contains the character U+0000, which is not allowed");
                None
            }
            Ok(text) => Some(text),
            Err(_) if self.allows_unset => Some(String::new()),
            Err(faults) => {
                faults.into_iter().for_each(|fault| self.faults.add(at, fault));
                None
            }
        }
    }

    /// Returns a string with its variables expanded, and reports a fault for numbers and booleans.
    pub(super) fn strict_text(&mut self, at: &ConfigPath<'_>, node: &Node) -> Option<String> {
        self.raw_text(at, node)?;
        self.text(at, node)
    }

    pub(super) fn truth(&mut self, at: &ConfigPath<'_>, node: &Node) -> Option<bool> {
        match node {
            Node::Plain(serde_json::Value::Bool(value)) => Some(*value),
            _ => {
                self.faults.add(at, format!("this is {}: write true or false", node.kind()));
                None
            }
        }
    }

    /// Reports a name that is not among the known ones.
    pub(super) fn unknown(&mut self, at: &ConfigPath<'_>, name: &str, known: &[&str]) {
        let message = match nearest(known.iter().copied(), name) {
            Some(near) => format!("unknown: did you mean `{near}`?"),
            None => format!("unknown: the names are {}", listed(known.iter().copied())),
        };
        self.faults.add(at, message);
    }
}

/// Returns the name that was probably meant.
pub(crate) fn nearest<'n>(names: impl Iterator<Item = &'n str>, written: &str) -> Option<&'n str> {
    // Longer names are not compared, because the comparison takes quadratic time.
    const MAX_COMPARED_BYTES: usize = 100;
    if written.len() > MAX_COMPARED_BYTES {
        return None;
    }
    let lower = written.to_lowercase();
    names
        .filter(|name| name.len() <= MAX_COMPARED_BYTES)
        .map(|name| (strsim::jaro_winkler(&name.to_lowercase(), &lower), name))
        .filter(|(likeness, _)| *likeness >= 0.8)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name)
}

/// Formats a list of names, shortened if there are many.
pub(crate) fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const MAX_LISTED: usize = 30;
    let mut names: Vec<String> =
        names.take(MAX_LISTED + 1).map(|name| QuotedName(name).to_string()).collect();
    if names.len() > MAX_LISTED {
        names.truncate(MAX_LISTED);
        names.push("…".to_owned());
    }
    names.join(", ").replace('"', "`")
}
