//! The danger and the lifecycle declared by an operation.

use mcp_aql_protocol::DangerLevel;

/// The declared danger of an operation: `danger(level = "destructive", …)`.
///
/// An operation that declares a message, a cooldown or `requires_reauth` requires a confirmation at any level.
///
/// ```
/// use mcp_aql::table::DangerSpec;
/// use mcp_aql::DangerLevel;
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
    /// Danger level. `None` derives it from the category and the name.
    pub level: Option<DangerLevel>,
    /// Reasons, one sentence each. The user sees them before a call is confirmed.
    pub reasons: &'static [&'static str],
    /// Question shown before a call is confirmed. `{parameter}` is replaced by the parameter's value, and
    /// `{input.address.city}` by a field of an object.
    pub confirmation_message: Option<&'static str>,
    /// Minimum time between the confirmation and the call, in seconds.
    pub cooldown_seconds: Option<u32>,
    /// If `true`, a person must confirm the call through a separate channel instead of the caller (REQ-DNG-10).
    pub requires_reauth: bool,
}

impl DangerSpec {
    /// No declaration: the level follows from the category and the name.
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

    /// Sets the reasons.
    #[must_use]
    pub const fn reasons(mut self, reasons: &'static [&'static str]) -> Self {
        self.reasons = reasons;
        self
    }

    /// Sets the question shown before a call is confirmed.
    #[must_use]
    pub const fn confirmation_message(mut self, message: &'static str) -> Self {
        self.confirmation_message = Some(message);
        self
    }

    /// Sets the minimum time between the confirmation and the call, in seconds.
    #[must_use]
    pub const fn cooldown_seconds(mut self, seconds: u32) -> Self {
        self.cooldown_seconds = Some(seconds);
        self
    }

    /// Requires confirmation by a person, through a channel that the caller cannot reach.
    #[must_use]
    pub const fn requires_reauth(mut self) -> Self {
        self.requires_reauth = true;
        self
    }
}

/// The actions supported by a long-running operation: `lifecycle(cancel, retry, progress)`.
///
/// Source: MCP-AQL §8.4.5 (REQ-LIF-09).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LifecycleSpec {
    /// If `true`, callers may cancel it.
    pub cancel: bool,
    /// If `true`, callers may retry it after a failure.
    pub retry: bool,
    /// If `true`, it reports progress.
    pub progress: bool,
}

impl LifecycleSpec {
    /// Creates a lifecycle with these actions.
    pub const fn new(cancel: bool, retry: bool, progress: bool) -> Self {
        Self { cancel, retry, progress }
    }
}
