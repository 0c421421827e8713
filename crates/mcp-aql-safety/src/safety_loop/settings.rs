//! The settings of the safety loop, from the builder and from configuration files.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_aql_core::internal::config::Tightening;

use super::action::normalize;
use super::directive::{LoopMode, RiskTolerance};
use super::evaluator::AgentPolicy;
use super::patterns::PatternList;
use super::risk::{DefaultScorer, RiskScorer};
use crate::human_channel::{ConsoleSettings, HumanChannel};

/// The settings of an agent: its number of steps without a person, and the actions that are denied, need approval or
/// pass.
///
/// Patterns are globs: `*` matches any characters, `?` one character, `[ab]` one of several characters, and `{a,b}` one
/// of the alternatives. Patterns of `deny` and `requires_approval` can start at any word of an action. A pattern of
/// `auto_approve` must match the whole action, and never matches several commands. Its `*` at the end allows any words
/// to follow, so use `deny` to exclude some of them.
///
/// Source: MCP-AQL §8.7.4 (REQ-AUT-17).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentSettings {
    pub(super) max_autonomous_steps: Option<u32>,
    pub(super) risk_tolerance: Option<RiskTolerance>,
    pub(super) deny: Option<Vec<String>>,
    pub(super) requires_approval: Option<Vec<String>>,
    pub(super) auto_approve: Option<Vec<String>>,
}

macro_rules! agent_settings {
    ($($place:ident)?) => {
        /// Sets how many steps an agent may take before a person is asked. Default: 50.
        #[must_use]
        pub fn max_autonomous_steps(mut self, steps: u32) -> Self {
            self.$($place.)?max_autonomous_steps = Some(steps);
            self
        }

        /// Sets the risk score above which an agent is paused. Default: [`RiskTolerance::Moderate`].
        #[must_use]
        pub fn risk_tolerance(mut self, tolerance: RiskTolerance) -> Self {
            self.$($place.)?risk_tolerance = Some(tolerance);
            self
        }

        /// Sets patterns of actions that block the agent until a person lifts the block. Default: none.
        #[must_use]
        pub fn deny<T: Into<String>>(mut self, patterns: impl IntoIterator<Item = T>) -> Self {
            self.$($place.)?deny = Some(texts(patterns));
            self
        }

        /// Sets patterns of actions that a person must confirm. Default: none.
        #[must_use]
        pub fn requires_approval<T: Into<String>>(
            mut self,
            patterns: impl IntoIterator<Item = T>,
        ) -> Self {
            self.$($place.)?requires_approval = Some(texts(patterns));
            self
        }

        /// Sets patterns of actions that pass without an evaluation of their risk. Default: none.
        #[must_use]
        pub fn auto_approve<T: Into<String>>(
            mut self,
            patterns: impl IntoIterator<Item = T>,
        ) -> Self {
            self.$($place.)?auto_approve = Some(texts(patterns));
            self
        }
    };
}

fn texts<T: Into<String>>(patterns: impl IntoIterator<Item = T>) -> Vec<String> {
    patterns.into_iter().map(Into::into).collect()
}

impl AgentSettings {
    agent_settings!();

    /// Returns these settings. Missing values come from `base`.
    pub(super) fn over(&self, base: &Self) -> Self {
        let list = |own: &Option<Vec<String>>, base: &Option<Vec<String>>| {
            own.as_ref().or(base.as_ref()).cloned()
        };
        Self {
            max_autonomous_steps: self.max_autonomous_steps.or(base.max_autonomous_steps),
            risk_tolerance: self.risk_tolerance.or(base.risk_tolerance),
            deny: list(&self.deny, &base.deny),
            requires_approval: list(&self.requires_approval, &base.requires_approval),
            auto_approve: list(&self.auto_approve, &base.auto_approve),
        }
    }

    /// Applies the stricter settings of `given`. Patterns are only added to `deny`: those of `requires_approval` are
    /// evaluated before the risk, so adding one could prevent a block.
    pub(super) fn tighten(
        &mut self,
        given: AgentSettings,
        origin: &str,
        tightening: &mut Tightening,
    ) {
        let key = |name: &str| format!("{origin}.{name}");
        let mut steps = self.max_autonomous_steps.unwrap_or(DEFAULT_STEPS);
        let name = key("max_autonomous_steps");
        tightening.lower(&name, &mut steps, given.max_autonomous_steps);
        self.max_autonomous_steps = Some(steps);
        let mut tolerance = self.risk_tolerance.unwrap_or_default();
        tightening.replace(
            &key("risk_tolerance"),
            &mut tolerance,
            given.risk_tolerance,
            |new, old| new.threshold() < old.threshold(),
        );
        self.risk_tolerance = Some(tolerance);
        let denied = self.deny.get_or_insert_default();
        for pattern in given.deny.into_iter().flatten() {
            if !denied.contains(&pattern) {
                denied.push(pattern);
            }
        }
        tightening.refuse(&key("requires_approval"), given.requires_approval);
        tightening.refuse(&key("auto_approve"), given.auto_approve);
    }

    fn compile(&self, problems: &mut Vec<String>) -> AgentPolicy {
        let mut list = |patterns: &Option<Vec<String>>, name| {
            PatternList::new(patterns.as_deref().unwrap_or_default(), name, problems)
        };
        let policy = AgentPolicy {
            max_autonomous_steps: self.max_autonomous_steps.unwrap_or(DEFAULT_STEPS),
            tolerance: self.risk_tolerance.unwrap_or_default(),
            deny: list(&self.deny, "deny"),
            requires_approval: list(&self.requires_approval, "requires_approval"),
            auto_approve: list(&self.auto_approve, "auto_approve"),
        };
        if policy.max_autonomous_steps == 0 {
            let problem = "safety loop: `max_autonomous_steps` is 0: no agent could take a step";
            problems.push(problem.to_owned());
        }
        policy
    }
}

/// The default number of steps without a person.
pub(super) const DEFAULT_STEPS: u32 = 50;
/// The default time for which a code is valid.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);
/// The default limit on wrong codes per minute.
const DEFAULT_ATTEMPTS: usize = 10;

/// The safety loop: agents report each action before they take it, and people can stop them through a channel that no
/// agent can reach.
///
/// In mode `enforcing`, the loop needs at least one [`channel`](Self::channel) to people.
///
/// ```
/// use mcp_aql::prelude::*;
/// use mcp_aql::operator::MemoryChannel;
/// use mcp_aql::safety_loop::{RiskTolerance, SafetyLoop};
/// use mcp_aql::store::MemoryState;
///
/// # fn main() -> mcp_aql::Result<()> {
/// let people = MemoryChannel::default();
/// let adapter = Adapter::builder("guard")
///     .safety_loop(
///         SafetyLoop::new()
///             .deny(["drop_*", "rm -rf*"])
///             .requires_approval(["deploy_*", "git push*"])
///             .auto_approve(["read_*", "list_*"])
///             .agent("intern", |intern| {
///                 intern.max_autonomous_steps(5).risk_tolerance(RiskTolerance::Conservative)
///             })
///             .channel(people.clone()),
///     )
///     // The default is a file in the user's state directory.
///     .store(MemoryState::default())
/// #   .without_config()
///     .build()?;
/// assert!(adapter.operator().is_some());
/// # Ok(()) }
/// ```
///
/// The safety loop adds the protocol's operations `execute_agent`, `record_execution_step`, `complete_execution`,
/// `abort_execution`, `confirm_operation` and `verify_challenge`.
///
/// The configuration file overrides these settings, and the environment variable `MCPAQL_SAFETY_LOOP` overrides the
/// mode. All keys except the first two are also allowed in a table `[safety_loop.agents.NAME]`:
///
/// ```toml
/// [safety_loop]
/// mode = "enforcing"
/// challenge_timeout_seconds = 300
/// max_autonomous_steps = 50
/// risk_tolerance = "moderate"
/// deny = ["drop_*"]
/// requires_approval = ["deploy_*"]
/// auto_approve = ["read_*"]
/// ```
///
/// Source: MCP-AQL §8.6 to §8.8 (REQ-LOOP-01, REQ-AUT-17, REQ-OOB-07, REQ-OOB-12).
#[derive(Clone)]
pub struct SafetyLoop {
    pub(super) mode: LoopMode,
    pub(super) base: AgentSettings,
    /// The settings of single agents. The key is the normalized name.
    pub(super) agents: BTreeMap<String, AgentSettings>,
    scorer: Arc<dyn RiskScorer>,
    pub(super) timeout: Duration,
    pub(super) attempts: usize,
    pub(super) channels: Vec<Arc<dyn HumanChannel>>,
    pub(crate) console: ConsoleSettings,
}

impl Default for SafetyLoop {
    fn default() -> Self {
        Self::new()
    }
}

impl SafetyLoop {
    /// Creates a safety loop with the default settings. Its mode is `enforcing`.
    pub fn new() -> Self {
        Self {
            mode: LoopMode::Enforcing,
            base: AgentSettings::default(),
            agents: BTreeMap::new(),
            scorer: Arc::new(DefaultScorer),
            timeout: DEFAULT_TIMEOUT,
            attempts: DEFAULT_ATTEMPTS,
            channels: Vec::new(),
            console: ConsoleSettings::default(),
        }
    }

    /// Sets the mode. Default: [`LoopMode::Enforcing`].
    #[must_use]
    pub fn mode(mut self, mode: LoopMode) -> Self {
        self.mode = mode;
        self
    }

    agent_settings!(base);

    /// Sets the settings of a single agent. Values that you do not set are those of all agents. Two names are the same
    /// if their normalized forms are equal.
    #[must_use]
    pub fn agent(
        mut self,
        name: impl Into<String>,
        settings: impl FnOnce(AgentSettings) -> AgentSettings,
    ) -> Self {
        let name = normalize(&name.into()).0;
        let known = self.agents.remove(&name).unwrap_or_default();
        self.agents.insert(name, settings(known));
        self
    }

    /// Sets the scorer of the actions' risk. Default: [`DefaultScorer`].
    #[must_use]
    pub fn scorer(mut self, scorer: impl RiskScorer) -> Self {
        self.scorer = Arc::new(scorer);
        self
    }

    /// Sets how long a code is valid: from 10 seconds to one day. Default: 5 minutes (REQ-OOB-07).
    #[must_use]
    pub fn challenge_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how many wrong codes an agent, and a session, may send in 60 seconds. Another one locks it for a minute,
    /// and each further lock lasts twice as long. Default and maximum: 10 (REQ-OOB-12).
    #[must_use]
    pub fn max_wrong_codes(mut self, attempts: usize) -> Self {
        self.attempts = attempts;
        self
    }

    /// Adds a channel through which people receive requests. You can add several.
    #[must_use]
    pub fn channel(mut self, channel: impl HumanChannel) -> Self {
        self.channels.push(Arc::new(channel));
        self
    }

    /// Parses and sets the mode.
    pub(crate) fn set_mode(&mut self, mode: &str, origin: &str, problems: &mut Vec<String>) {
        match mode.parse() {
            Ok(mode) => self.mode = mode,
            Err(problem) => problems.push(format!("{origin}: {problem}")),
        }
    }

    /// Compiles the settings and reports their errors.
    pub(crate) fn compile(&self, problems: &mut Vec<String>) -> AgentPolicies {
        if self.mode == LoopMode::Enforcing && self.channels.is_empty() {
            problems.push(
                "the safety loop is enforcing, but no person can be reached: add a `.channel(…)`, \
                 or choose another `.mode(…)`"
                    .to_owned(),
            );
        }
        if !(10..=86_400).contains(&self.timeout.as_secs()) {
            problems.push(format!(
                "safety loop: codes are valid for {} seconds: choose 10 to 86400",
                self.timeout.as_secs()
            ));
        }
        if !(1..=DEFAULT_ATTEMPTS).contains(&self.attempts) {
            problems.push(format!(
                "safety loop: {} attempts per minute: choose 1 to {DEFAULT_ATTEMPTS}",
                self.attempts
            ));
        }
        let agents = self.agents.iter().map(|(name, settings)| {
            let mut own = Vec::new();
            let policy = settings.over(&self.base).compile(&mut own);
            let told = own.into_iter().map(|problem| format!("{problem} (agent `{name}`)"));
            problems.extend(told);
            if name.is_empty() {
                problems.push("safety loop: settings of an agent need the agent's name".to_owned());
            }
            (name.clone(), policy)
        });
        let agents = agents.collect();
        AgentPolicies {
            base: self.base.compile(problems),
            agents,
            scorer: Arc::clone(&self.scorer),
        }
    }

    /// Returns `true` if a channel to people is configured.
    pub(crate) fn reaches_people(&self) -> bool {
        !self.channels.is_empty()
    }

    pub(crate) fn current_mode(&self) -> LoopMode {
        self.mode
    }

    /// Returns a summary of the settings, for introspection (REQ-AUT-17).
    pub(crate) fn summary(&self) -> String {
        let settings = self.base.over(&AgentSettings::default());
        let tolerance = settings.risk_tolerance.unwrap_or_default();
        let list = |patterns: Option<Vec<String>>| match patterns.unwrap_or_default() {
            patterns if patterns.is_empty() => "none".to_owned(),
            // The configuration file of a project may add patterns, so hidden characters are made visible.
            patterns => mcp_aql_text::visible(&patterns.join(" ")).into_owned(),
        };
        format!(
            "Settings here, with their defaults in brackets: mode {} (enforcing); \
             maxAutonomousSteps {} ({DEFAULT_STEPS}); riskTolerance {tolerance} = {} \
             (moderate = 50; conservative = 25, aggressive = 75); deny: {}; requiresApproval: {}; \
             autoApprove: {} (none each). Risk scores: to 30 advisory, to 60 confirm, to 85 verify, \
             above danger_zone. Each can be set per adapter and per agent.",
            self.mode,
            settings.max_autonomous_steps.unwrap_or(DEFAULT_STEPS),
            tolerance.threshold(),
            list(settings.deny),
            list(settings.requires_approval),
            list(settings.auto_approve),
        )
    }
}

impl fmt::Debug for SafetyLoop {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SafetyLoop")
            .field("mode", &self.mode)
            .field("settings", &self.base)
            .field("agents", &self.agents)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// The compiled settings of all agents.
pub(crate) struct AgentPolicies {
    base: AgentPolicy,
    agents: BTreeMap<String, AgentPolicy>,
    pub(super) scorer: Arc<dyn RiskScorer>,
}

impl AgentPolicies {
    /// Returns the settings of the agent with this normalized name.
    pub(super) fn of(&self, agent: &str) -> &AgentPolicy {
        self.agents.get(agent).unwrap_or(&self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::human_channel::MemoryChannel;

    #[test]
    fn file_comes_over_builder_and_lists_replace_lists() {
        // REQ-AUT-17, REQ-OOB-07
        let mut given = SafetyLoop::new()
            .channel(MemoryChannel::default())
            .deny(["drop_*"])
            .requires_approval(["deploy_*"])
            .agent("mover", |agent| agent.max_autonomous_steps(7).deny(["move_*"]));
        let table = toml_edit::de::from_str(
            "mode = 'monitoring'\nmax_autonomous_steps = 9\nrisk_tolerance = 'aggressive'\n\
             deny = ['wipe_*']\nchallenge_timeout_seconds = 60\n\
             [agents.mover]\nrisk_tolerance = 'conservative'\n[agents.other]\ndeny = []",
        )
        .unwrap();
        let mut problems = Vec::new();
        given.apply_table(table, &mut problems);
        let rules = given.compile(&mut problems);
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!((given.mode, given.timeout.as_secs()), (LoopMode::Monitoring, 60));
        let action = crate::safety_loop::Action::new("drop_x, wipe_x, move_x, deploy_x");
        for (agent, steps, tolerance, denied) in [
            ("anyone", 9, RiskTolerance::Aggressive, Some("wipe_*")),
            ("mover", 7, RiskTolerance::Conservative, Some("move_*")),
            ("other", 9, RiskTolerance::Aggressive, None),
        ] {
            let policy = rules.of(agent);
            assert_eq!((policy.max_autonomous_steps, policy.tolerance), (steps, tolerance));
            assert_eq!(policy.deny.guards(&action), denied, "{agent}");
            assert_eq!(policy.requires_approval.guards(&action), Some("deploy_*"));
        }
        assert!(given.summary().contains("maxAutonomousSteps 9 (50)"), "{}", given.summary());
    }

    #[test]
    fn settings_of_an_agent_add_up_however_its_name_is_written() {
        // REQ-AUT-17
        let mut given = SafetyLoop::new()
            .channel(MemoryChannel::default())
            .agent("Intern", |intern| intern.max_autonomous_steps(5))
            .agent("intern", |intern| intern.deny(["drop_*"]));
        let table = "[agents.INTERN]\nrisk_tolerance = 'conservative'";
        let mut problems = Vec::new();
        given.apply_table(toml_edit::de::from_str(table).unwrap(), &mut problems);
        let rules = given.compile(&mut problems);
        assert_eq!(problems, Vec::<String>::new());
        let policy = rules.of("intern");
        assert_eq!(
            (policy.max_autonomous_steps, policy.tolerance),
            (5, RiskTolerance::Conservative)
        );
        assert!(policy.deny.guards(&crate::safety_loop::Action::new("drop_x")).is_some());

        let table = "[agents.a]\ndeny = []\n[agents.A]\ndeny = []\n[agents.' ']\ndeny = []";
        given.apply_table(toml_edit::de::from_str(table).unwrap(), &mut problems);
        given.compile(&mut problems);
        assert!(
            problems.iter().any(|problem| problem.contains("same normalized name")),
            "{problems:?}"
        );
        assert!(
            problems.iter().any(|problem| problem.contains("need the agent's name")),
            "{problems:?}"
        );
    }

    #[test]
    fn faults_are_told_and_nothing_is_ignored() {
        // REQ-AUT-17, REQ-OOB-12
        let mut problems = Vec::new();
        let given = SafetyLoop::new()
            .deny(["[x"])
            .agent("a", |agent| agent.auto_approve(["{"]).max_autonomous_steps(0))
            .max_wrong_codes(11)
            .challenge_timeout(Duration::from_secs(1));
        given.compile(&mut problems);
        for part in
            ["add a `.channel(…)`", "`[x`", "(agent `a`)", "is 0", "11 attempts", "10 to 86400"]
        {
            assert!(problems.iter().any(|problem| problem.contains(part)), "{part}: {problems:?}");
        }
        assert!(
            toml_edit::de::from_str::<crate::safety_loop::LoopTable>("denied = ['x']").is_err()
        );
        assert!(
            toml_edit::de::from_str::<crate::safety_loop::LoopTable>("[agents.a]\ndenied = ['x']")
                .is_err()
        );
        let mut problems = Vec::new();
        let mut given = SafetyLoop::new();
        let table = toml_edit::de::from_str("mode = 'on'\nrisk_tolerance = 'high'").unwrap();
        given.apply_table(table, &mut problems);
        assert_eq!(problems.len(), 2, "{problems:?}");
    }

    #[test]
    fn the_defaults_are_the_documented_ones() {
        // REQ-AUT-05, REQ-AUT-06, REQ-OOB-07, REQ-OOB-12
        let given = SafetyLoop::new();
        assert_eq!((given.timeout.as_secs(), given.attempts), (300, 10));
        let rules = given.compile(&mut Vec::new());
        assert_eq!(rules.of("x").max_autonomous_steps, 50);
        assert_eq!(rules.of("x").tolerance, RiskTolerance::Moderate);
        assert!(given.summary().contains("maxAutonomousSteps 50 (50)"));
    }
}
