//! The tables of the safety loop in configuration files.
//!
//! ```toml
//! [safety_loop]
//! mode = "enforcing"
//! max_autonomous_steps = 20
//! deny = ["rm -rf*"]
//!
//! [safety_loop.agents.deployer]
//! risk_tolerance = "conservative"
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mcp_aql_core::internal::config::{Key, ProjectRule, Setting, Tightening, ValueKind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::action::normalize;
use super::directive::{LoopMode, RiskTolerance};
use super::settings::{AgentSettings, DEFAULT_STEPS, SafetyLoop};

/// The keys of the table `[safety_loop]`.
pub(crate) const KEYS: &[Key] = &[
    Key::new(
        "safety_loop.mode",
        ValueKind::Word(&["enforcing", "monitoring", "logging", "disabled"]),
    )
    .variable("MCPAQL_SAFETY_LOOP")
    .project(ProjectRule::Stricter("a stricter mode is applied"))
    .doc(&["What the safety loop does with its decisions."]),
    Key::new("safety_loop.challenge_timeout_seconds", ValueKind::Number("seconds"))
        .range(10, 86_400)
        .project(ProjectRule::Lower)
        .doc(&["Time for which a request to a person is valid."]),
    Key::new("safety_loop.max_autonomous_steps", ValueKind::Number(""))
        .project(ProjectRule::Lower)
        .doc(&["Number of steps that an agent may take before a person is asked."]),
    Key::new(
        "safety_loop.risk_tolerance",
        ValueKind::Word(&["conservative", "moderate", "aggressive"]),
    )
    .project(ProjectRule::Stricter("a lower tolerance is applied"))
    .doc(&["Risk above which an agent is paused."]),
    Key::new("safety_loop.deny", ValueKind::List)
        .project(ProjectRule::Stricter("patterns are added"))
        .doc(&["Patterns of actions that block the agent until a person lifts the block."]),
    Key::new("safety_loop.requires_approval", ValueKind::List)
        .doc(&["Patterns of actions that a person must confirm."]),
    Key::new("safety_loop.auto_approve", ValueKind::List)
        .doc(&["Patterns of actions that pass without an evaluation of their risk."]),
    Key::new(
        "safety_loop.agents",
        ValueKind::Other("table by agent: the five keys above for this agent"),
    )
    .project(ProjectRule::Stricter("as for all agents"))
    .example("{ deployer = { risk_tolerance = \"conservative\" } }")
    .doc(&["Settings of single agents."]),
];

/// The table `[safety_loop]` of the configuration file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoopTable {
    mode: Option<String>,
    challenge_timeout_seconds: Option<u64>,
    #[serde(default)]
    agents: BTreeMap<String, AgentTable>,
    // The fields of `AgentTable` are repeated here, because serde's `flatten` would accept unknown keys. If you add a
    // key for agents, add it to both tables.
    max_autonomous_steps: Option<u32>,
    risk_tolerance: Option<String>,
    deny: Option<Vec<String>>,
    requires_approval: Option<Vec<String>>,
    auto_approve: Option<Vec<String>>,
}

impl LoopTable {
    /// Separates the settings for all agents from the tables of single agents.
    fn split(
        self,
        origin: &str,
        problems: &mut Vec<String>,
    ) -> (AgentSettings, BTreeMap<String, AgentTable>) {
        let base = AgentTable {
            max_autonomous_steps: self.max_autonomous_steps,
            risk_tolerance: self.risk_tolerance,
            deny: self.deny,
            requires_approval: self.requires_approval,
            auto_approve: self.auto_approve,
        };
        (base.settings(origin, problems), self.agents)
    }
}

/// The table `[safety_loop.agents.NAME]`.
///
/// ```toml
/// [safety_loop.agents.deployer]
/// max_autonomous_steps = 5
/// requires_approval = ["deploy_*"]
/// ```
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentTable {
    max_autonomous_steps: Option<u32>,
    risk_tolerance: Option<String>,
    deny: Option<Vec<String>>,
    requires_approval: Option<Vec<String>>,
    auto_approve: Option<Vec<String>>,
}

impl AgentTable {
    fn settings(self, origin: &str, problems: &mut Vec<String>) -> AgentSettings {
        let risk_tolerance = self.risk_tolerance.and_then(|word| {
            word.parse()
                .map_err(|problem| problems.push(format!("`{origin}.risk_tolerance`: {problem}")))
                .ok()
        });
        AgentSettings {
            max_autonomous_steps: self.max_autonomous_steps,
            risk_tolerance,
            deny: self.deny,
            requires_approval: self.requires_approval,
            auto_approve: self.auto_approve,
        }
    }
}

/// Lists the settings of agents for the operator. Settings without a value are listed only for all agents together.
fn listed_agents<'a>(
    table: &'a str,
    settings: &'a AgentSettings,
) -> impl Iterator<Item = Setting> + 'a {
    let tolerance = |tolerance: RiskTolerance| json!(tolerance.as_str());
    let all = [
        (
            "max_autonomous_steps",
            settings.max_autonomous_steps.map(Value::from),
            json!(DEFAULT_STEPS),
        ),
        (
            "risk_tolerance",
            settings.risk_tolerance.map(tolerance),
            tolerance(RiskTolerance::default()),
        ),
        ("deny", settings.deny.as_ref().map(|list| json!(list)), json!([])),
        (
            "requires_approval",
            settings.requires_approval.as_ref().map(|list| json!(list)),
            json!([]),
        ),
        ("auto_approve", settings.auto_approve.as_ref().map(|list| json!(list)), json!([])),
    ];
    // An agent has no defaults of its own. It inherits the settings of the loop.
    let has_defaults = table == "safety_loop";
    all.into_iter().filter_map(move |(name, value, default)| {
        let default = if has_defaults { default } else { Value::Null };
        let value = value.or_else(|| has_defaults.then(|| default.clone()))?;
        Some(Setting::new(format!("{table}.{name}"), value, default))
    })
}

impl SafetyLoop {
    /// Lists the settings for the operator.
    pub(crate) fn listed(&self) -> Vec<Setting> {
        let default = Self::new();
        let seconds = |settings: &Self| settings.timeout.as_secs();
        let mut all = vec![
            Setting::new("safety_loop.mode", self.mode.as_str(), default.mode.as_str()),
            Setting::new("safety_loop.challenge_timeout_seconds", seconds(self), seconds(&default)),
        ];
        all.extend(listed_agents("safety_loop", &self.base));
        for (name, settings) in &self.agents {
            all.extend(listed_agents(&format!("safety_loop.agents.{name}"), settings));
        }
        all
    }

    /// Applies the table of the configuration file.
    pub(crate) fn apply_table(&mut self, table: LoopTable, problems: &mut Vec<String>) {
        if let Some(mode) = &table.mode {
            self.set_mode(mode, "`safety_loop.mode`", problems);
        }
        if let Some(seconds) = table.challenge_timeout_seconds {
            self.timeout = Duration::from_secs(seconds);
        }
        let (base, agents) = table.split("safety_loop", problems);
        self.base = base.over(&self.base);
        let mut seen = BTreeSet::new();
        for (name, table) in agents {
            let settings = table.settings(&format!("safety_loop.agents.{name}"), problems);
            let key = normalize(&name).0;
            if !seen.insert(key.clone()) {
                problems.push(format!(
                    "`safety_loop.agents.{name}`: another agent has the same normalized name"
                ));
            }
            let base = self.agents.remove(&key).unwrap_or_default();
            self.agents.insert(key, settings.over(&base));
        }
    }

    /// Applies a file that can only make an adapter stricter. Its stricter settings apply to every agent.
    pub(crate) fn tighten_table(
        &mut self,
        table: LoopTable,
        tightening: &mut Tightening,
        problems: &mut Vec<String>,
    ) {
        if let Some(mode) = &table.mode {
            match mode.parse::<LoopMode>() {
                Ok(mode) => tightening.replace(
                    "safety_loop.mode",
                    &mut self.mode,
                    Some(mode),
                    |new, old| old.is_laxer_than(*new),
                ),
                Err(problem) => problems.push(format!("`safety_loop.mode`: {problem}")),
            }
        }
        let timeout = table.challenge_timeout_seconds.map(Duration::from_secs);
        let name = "safety_loop.challenge_timeout_seconds";
        tightening.lower(name, &mut self.timeout, timeout);
        let (given, agents) = table.split("safety_loop", problems);
        let base = self.base.clone();
        self.base.tighten(given.clone(), "safety_loop", tightening);
        for settings in self.agents.values_mut() {
            *settings = settings.over(&base);
            // The settings of an agent may already be stricter. They are kept without a notice.
            settings.tighten(given.clone(), "safety_loop", &mut Tightening::default());
        }
        for (name, table) in agents {
            let origin = format!("safety_loop.agents.{name}");
            let given = table.settings(&origin, problems);
            let base = &self.base;
            let settings = self.agents.entry(normalize(&name).0).or_insert_with(|| base.clone());
            settings.tighten(given, &origin, tightening);
        }
    }
}
