use chrono::TimeDelta;
use mcp_aql_protocol::{DangerLevel, pattern_matches};

use super::matrix::{Verdict, least_trust, verdict};
use super::policy::{Permission, Policy, strictest};
use super::{GateSettings, Trust, message};
use crate::operation::{Argument, Parameter};
use crate::spec::OperationSpec;

/// What the gate holds against one operation, worked out when the adapter is built.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) danger: DangerLevel,
    /// The pattern in its name that made it so, if it declares no level.
    pub(crate) inferred_from: Option<&'static str>,
    verdict: Verdict,
    /// The policies that may be about its calls.
    policies: Vec<Policy>,
}

/// What is to be done with a call.
#[derive(Debug, PartialEq)]
pub(super) enum Decision<'a> {
    Allow,
    Confirm {
        /// How long an answer counts in a session, if not for this call alone.
        session: Option<TimeDelta>,
        by_operator: bool,
        reason: Option<&'a str>,
        /// The places of the policies that have the call confirmed.
        policies: Vec<usize>,
    },
    Deny {
        reason: Option<&'a str>,
    },
    Untrusted {
        least: mcp_aql_protocol::TrustLevel,
    },
}

impl Decision<'_> {
    /// Of a call that is made again by another one: what has that one confirmed has this one confirmed,
    /// each time. Whether that one may run has been decided.
    pub(super) fn confirmed_like(self, other: Self) -> Self {
        match (self, other) {
            (Self::Allow, Self::Confirm { by_operator, reason, .. }) => {
                Self::Confirm { session: None, by_operator, reason, policies: Vec::new() }
            }
            (
                Self::Confirm { by_operator, reason, .. },
                Self::Confirm { by_operator: other_by_operator, reason: other_reason, .. },
            ) => Self::Confirm {
                session: None,
                by_operator: by_operator || other_by_operator,
                reason: reason.or(other_reason),
                policies: Vec::new(),
            },
            (own, _) => own,
        }
    }

    /// Of a call that makes another one again: it is that one that is confirmed.
    pub(super) fn left_to_what_comes_next(self) -> Self {
        match self {
            Self::Confirm { .. } => Self::Allow,
            own => own,
        }
    }
}

impl Plan {
    /// Of `introspect`, which every caller may call.
    pub(crate) fn open() -> Self {
        Self {
            danger: DangerLevel::Safe,
            inferred_from: None,
            verdict: Verdict::Allow,
            policies: Vec::new(),
        }
    }

    /// Of an operation; notes what is wrong with its declaration.
    pub(crate) fn new(
        spec: &OperationSpec,
        parameters: &[Parameter],
        settings: &GateSettings,
        problems: &mut Vec<String>,
    ) -> Self {
        let (inferred, pattern) = DangerLevel::inferred(spec.name, spec.category);
        let danger = spec.danger.level.unwrap_or(inferred);
        if danger == DangerLevel::Safe && spec.category != crate::SemanticCategory::Read {
            problems.push(format!(
                "operation `{}` declares itself `safe` and is not READ: declare `reversible` or above",
                spec.name
            ));
        }
        check_message(spec, parameters, problems);
        let mut verdict = verdict(danger, settings.trust.as_ref().map(Trust::level));
        // Whoever declares a question, a wait or a person wants to be asked, whatever the level.
        let declared = &spec.danger;
        let asks = declared.requires_reauth
            || declared.cooldown_seconds.is_some()
            || declared.confirmation_message.is_some();
        if asks && verdict == Verdict::Allow {
            verdict = Verdict::Confirm;
        }
        let matching = |policy: &&Policy| pattern_matches(&policy.operation, spec.name);
        Self {
            danger,
            inferred_from: pattern.filter(|_| spec.danger.level.is_none()),
            verdict,
            policies: settings.policies.iter().filter(matching).cloned().collect(),
        }
    }

    /// Whether no call is ever stopped or asked for.
    pub(crate) fn is_open(&self) -> bool {
        self.verdict == Verdict::Allow && self.policies.is_empty()
    }

    /// Whether a call may have to be confirmed.
    pub(crate) fn may_ask(&self) -> bool {
        let asks = |policy: &Policy| policy.permission == Permission::Confirm;
        self.verdict == Verdict::Confirm || self.policies.iter().any(asks)
    }

    /// What happens to a call that no policy with conditions is about, in the protocol's words
    /// (choice C-23).
    pub(super) fn permission(&self) -> &'static str {
        match self.verdict {
            Verdict::IntrospectOnly => return "introspect_only",
            Verdict::Deny(_) => return "deny",
            Verdict::Allow | Verdict::Confirm => {}
        }
        match self.permission_of(self.policies.iter().filter(|it| it.conditions.is_empty())) {
            Permission::Deny => "deny",
            Permission::Confirm => "confirm",
            Permission::Allow => "allow",
        }
    }

    /// The permission of a call that these policies are about. The strictest one decides in place of the
    /// operation's danger; those of a project's file can only add to that.
    fn permission_of<'a>(&self, policies: impl Iterator<Item = &'a Policy> + Clone) -> Permission {
        let strictest = |from_project| {
            let some = policies.clone().filter(move |policy| policy.from_project == from_project);
            some.map(|policy| policy.permission).max()
        };
        let own = strictest(false).unwrap_or(self.permission_by_danger());
        strictest(true).unwrap_or(own).max(own)
    }

    fn permission_by_danger(&self) -> Permission {
        match self.verdict {
            Verdict::Confirm => Permission::Confirm,
            _ => Permission::Allow,
        }
    }

    /// Whether a policy has a person confirm every call.
    pub(super) fn by_operator(&self) -> bool {
        let asks = |policy: &Policy| {
            policy.permission == Permission::Confirm
                && policy.by_operator
                && policy.conditions.is_empty()
        };
        self.permission() == "confirm" && self.policies.iter().any(asks)
    }

    /// Whether policies with conditions may change that for some calls.
    pub(super) fn has_conditions(&self) -> bool {
        self.policies.iter().any(|policy| !policy.conditions.is_empty())
    }

    /// Whether some calls have to be confirmed for what they bring along.
    pub(super) fn may_ask_for_some(&self) -> bool {
        let asks = |policy: &Policy| {
            policy.permission == Permission::Confirm && !policy.conditions.is_empty()
        };
        self.policies.iter().any(asks)
    }

    /// Trust first, then the strictest policy, then the operation's own danger.
    pub(super) fn decide(&self, arguments: &[Argument]) -> Decision<'_> {
        match self.verdict {
            Verdict::Deny(least) => return Decision::Untrusted { least },
            Verdict::IntrospectOnly => {
                return Decision::Untrusted { least: least_trust(self.danger) };
            }
            Verdict::Allow | Verdict::Confirm => {}
        }
        let about = self.policies.iter().filter(|policy| policy.is_about(arguments));
        let permission = self.permission_of(about.clone());
        let deciding = about.clone().filter(|policy| policy.permission == permission);
        let reason = strictest(deciding.clone()).and_then(|policy| policy.reason.as_deref());
        match permission {
            Permission::Allow => Decision::Allow,
            Permission::Deny => Decision::Deny { reason },
            // Each of them has to be satisfied: the shortest time counts, and a person confirms where one
            // of them says so.
            Permission::Confirm => {
                let by_danger = about.clone().all(|policy| policy.from_project)
                    && self.permission_by_danger() == Permission::Confirm;
                let times = deciding.clone().map(|policy| policy.session);
                let session = times.reduce(|one, other| Some(one?.min(other?))).flatten();
                let places = self.policies.iter().enumerate().filter(|(_, policy)| {
                    policy.permission == permission && policy.is_about(arguments)
                });
                Decision::Confirm {
                    session: session
                        .filter(|_| !by_danger)
                        .map(|time| TimeDelta::from_std(time).unwrap_or(TimeDelta::MAX)),
                    by_operator: deciding.clone().any(|policy| policy.by_operator),
                    reason,
                    policies: places.map(|(place, _)| place).collect(),
                }
            }
        }
    }
}

/// The question to whoever confirms has slots for parameters that exist.
fn check_message(spec: &OperationSpec, parameters: &[Parameter], problems: &mut Vec<String>) {
    let Some(text) = spec.danger.confirmation_message else { return };
    let fault =
        |what: String| format!("operation `{}`: its confirmation message {what}", spec.name);
    match message::slots(text) {
        Err(problem) => problems.push(fault(format!("is not readable: {problem}"))),
        Ok(slots) => {
            let unknown = slots
                .into_iter()
                .filter(|slot| !parameters.iter().any(|parameter| &*parameter.name == *slot));
            problems.extend(unknown.map(|slot| fault(format!("names no parameter with `{slot}`"))));
        }
    }
}
