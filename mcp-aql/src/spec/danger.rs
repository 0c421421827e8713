//! The danger and the lifecycle that an operation declares.

use mcp_aql_protocol::DangerLevel;

/// What an operation declares of its danger: `danger(level = "destructive", …)`.
///
/// One that declares a question, a cooldown or `requires_reauth` is confirmed whatever its level.
///
/// ```
/// use mcp_aql::{DangerLevel, DangerSpec};
///
/// const DANGER: DangerSpec = DangerSpec::new(DangerLevel::Destructive)
///     .reasons(&["The task and its history are removed"])
///     .confirmation_message("Delete task '{task_id}'?");
/// assert_eq!(DANGER.level, Some(DangerLevel::Destructive));
/// ```
///
/// Source: adapter/danger-levels §3.2 (REQ-DNG-05).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DangerSpec {
    /// How dangerous; `None` takes what category and name say.
    pub level: Option<DangerLevel>,
    /// Why, a sentence each; shown to whoever confirms.
    pub reasons: &'static [&'static str],
    /// The question to whoever confirms; `{parameter}` stands for a parameter's value.
    pub confirmation_message: Option<&'static str>,
    /// How long after a confirmation the call may run first, in seconds.
    pub cooldown_seconds: Option<u32>,
    /// A person confirms through a channel of their own; the caller cannot (REQ-DNG-10).
    pub requires_reauth: bool,
}

impl DangerSpec {
    /// Nothing declared: level by category and name.
    pub const UNDECLARED: Self = Self {
        level: None,
        reasons: &[],
        confirmation_message: None,
        cooldown_seconds: None,
        requires_reauth: false,
    };

    /// Declares a level.
    pub const fn new(level: DangerLevel) -> Self {
        Self { level: Some(level), ..Self::UNDECLARED }
    }

    /// Says why.
    #[must_use]
    pub const fn reasons(mut self, reasons: &'static [&'static str]) -> Self {
        self.reasons = reasons;
        self
    }

    /// Sets the question to whoever confirms.
    #[must_use]
    pub const fn confirmation_message(mut self, message: &'static str) -> Self {
        self.confirmation_message = Some(message);
        self
    }

    /// Makes whoever has confirmed wait.
    #[must_use]
    pub const fn cooldown_seconds(mut self, seconds: u32) -> Self {
        self.cooldown_seconds = Some(seconds);
        self
    }

    /// Lets only a person confirm, through a channel that the caller cannot reach.
    #[must_use]
    pub const fn requires_reauth(mut self) -> Self {
        self.requires_reauth = true;
        self
    }
}

/// How a long-running operation may be steered: `lifecycle(cancel, retry, progress)`.
///
/// Source: MCP-AQL §8.4.5 (REQ-LIF-09).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LifecycleSpec {
    /// Callers may cancel it.
    pub cancel: bool,
    /// Callers may run it again after it has failed.
    pub retry: bool,
    /// It tells how far it is.
    pub progress: bool,
}

impl LifecycleSpec {
    /// A long-running operation with these abilities.
    pub const fn new(cancel: bool, retry: bool, progress: bool) -> Self {
        Self { cancel, retry, progress }
    }
}
