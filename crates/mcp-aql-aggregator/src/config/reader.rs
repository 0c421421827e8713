//! Reads typed values of the configuration and collects the mistakes in them.

use std::collections::HashSet;

use super::fault::{ConfigPath, Faults};
use super::node::Node;
use crate::names::{listed, nearest};
use crate::variables::{Variables, expanded};

/// The reader's state: the variables, and the mistakes found so far.
pub(super) struct ConfigReader<'a> {
    pub(super) variables: Variables<'a>,
    pub(super) faults: Faults,
    /// If `true`, the block of a disabled server is being read. Unset variables are allowed in it.
    pub(super) allows_unset: bool,
    /// The names and values of the variables expanded so far.
    pub(super) held: Vec<(String, String)>,
    /// Servers disabled in the `aggregator` section.
    pub(super) disabled: HashSet<String>,
}

impl ConfigReader<'_> {
    /// Returns the members of an object, or reports a mistake.
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
                self.faults.add(&at.member(name), "it occurs twice: keep one of them");
            }
        }
        Some(members)
    }

    /// Returns the elements of a list, or reports a mistake.
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

    /// Returns a string with its variables expanded. Numbers and booleans are converted to strings,
    /// as clients do.
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

    /// Returns a string with its variables expanded. Numbers and booleans are mistakes.
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

    /// Reports an unknown name, with the most similar known one.
    pub(super) fn unknown(&mut self, at: &ConfigPath<'_>, name: &str, known: &[&str]) {
        let message = match nearest(known.iter().copied(), name) {
            Some(near) => format!("unknown: did you mean `{near}`?"),
            None => format!("unknown: the known names are {}", listed(known.iter().copied())),
        };
        self.faults.add(at, message);
    }
}
