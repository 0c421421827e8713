//! The danger levels stated by introspection.

use serde_json::{Value, json};

use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::Cases;
use crate::run::Run;

/// The danger levels in ascending order.
pub(super) const LEVELS: [&str; 5] =
    ["safe", "reversible", "destructive", "dangerous", "forbidden"];

/// Index of the lowest level that requires confirmation.
const DESTRUCTIVE: usize = 2;

/// The danger levels and permissions stated by introspection.
pub(super) struct DangerLevels {
    /// The reply to the query `danger`, or `None` if introspection does not document the query.
    pub(super) reply: Option<Exchange>,
}

impl DangerLevels {
    /// Sends the query `danger` if `introspect` supports it.
    pub(super) async fn query(run: &Run, cases: &Cases) -> Self {
        let reply = match run.adapter.documents_query("danger") {
            true => run.introspect(json!({ "query": "danger" }), cases).await,
            false => None,
        };
        Self { reply }
    }

    /// Returns the entry of an operation in the reply to the query `danger`.
    pub(super) fn of(&self, operation: &str) -> Option<&Value> {
        let entries = self.reply.as_ref()?.data()?.get("operations")?.as_array()?;
        entries.iter().find(|entry| entry.get("name").is_some_and(|name| name == operation))
    }

    /// Returns the stated danger level of an operation, from the reply to the query `danger` or from its details.
    pub(super) fn level<'v>(&'v self, operation: &'v Operation) -> Option<&'v str> {
        let own = |entry: &'v Value| {
            let level = entry.get("level").or_else(|| entry.get("danger_level"));
            level
                .or_else(|| entry.pointer("/danger/level"))
                .or_else(|| entry.get("danger"))?
                .as_str()
        };
        self.of(&operation.name).and_then(own).or_else(|| own(operation.details()))
    }

    /// Returns `true` if the level of an operation is stated, or if its description mentions a level.
    ///
    /// Descriptions are not interpreted further, since they may say "not destructive".
    pub(super) fn is_reported(&self, operation: &Operation) -> bool {
        self.level(operation).is_some() || LEVELS.iter().skip(1).any(|it| describes(operation, it))
    }

    /// Returns the permission that introspection states for an operation.
    pub(super) fn permission(&self, operation: &Operation) -> Option<&Value> {
        self.of(&operation.name)?.get("permission")
    }

    /// Returns `true` if an operation has a level that requires confirmation.
    ///
    /// A policy or a high trust level may still allow the call. The stated permission `allow` says so.
    pub(super) fn requires_gate(&self, operation: &Operation) -> bool {
        let level = self.level(operation);
        LEVELS.iter().skip(DESTRUCTIVE).any(|gated| level == Some(*gated))
            && self.permission(operation).is_none_or(|permission| permission != "allow")
    }

    /// Returns `true` if introspection states that calls of this operation need confirmation.
    pub(super) fn says_confirmed(&self, operation: &Operation) -> bool {
        let entry = self.of(&operation.name);
        entry.and_then(|entry| entry.get("requires_confirmation")) == Some(&Value::Bool(true))
    }
}

/// Returns `true` if the description of an operation contains this word.
pub(super) fn describes(operation: &Operation, word: &str) -> bool {
    operation.description.split(|each: char| !each.is_ascii_alphabetic()).any(|it| it == word)
}
