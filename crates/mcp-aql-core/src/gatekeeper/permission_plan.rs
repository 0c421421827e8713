//! Decides the permission of calls. Everything independent of a call is computed when the adapter is built.

use chrono::TimeDelta;
use mcp_aql_protocol::{DangerLevel, pattern_matches};

use super::policy::{Permission, Policy, strictest};
use super::trust_matrix::{TrustDecision, minimum_trust, trust_decision};
use super::{GateSettings, Trust};
use crate::caller::principal::Principal;
use crate::operation::OperationSpec;
use crate::schema::Argument;

/// The permission of an operation's calls by trust, danger and policies, prepared when the adapter is built.
#[derive(Debug, Clone)]
pub struct PermissionPlan {
    /// Danger level of the operation.
    pub danger: DangerLevel,
    /// Pattern in the operation's name from which the level was inferred. `None` if the level is declared.
    pub(crate) inferred_from: Option<&'static str>,
    trust_decision: TrustDecision,
    /// Policies for its operation. Their conditions are tested for each call.
    policies: Vec<Policy>,
}

/// The decision about a call.
#[derive(Debug, PartialEq)]
pub(super) enum Decision<'a> {
    Allow,
    Confirm {
        /// How long a confirmation also covers other calls of the session. `None` limits it to this call.
        session: Option<TimeDelta>,
        by_operator: bool,
        reason: Option<&'a str>,
        /// Indexes of the policies that require the confirmation.
        policies: Vec<usize>,
    },
    Deny {
        reason: Option<&'a str>,
    },
    Untrusted {
        minimum_trust: mcp_aql_protocol::TrustLevel,
    },
}

impl Decision<'_> {
    /// Combines the decision for a call with the decision for the retry that repeats it. If the retry requires a
    /// confirmation, the call does too. The permission of the retry itself was checked before.
    pub(super) fn combined_with_retry(self, other: Self) -> Self {
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

    /// Returns the decision for a retry itself. The repeated call is confirmed, so the retry needs no confirmation.
    pub(super) fn without_confirmation(self) -> Self {
        match self {
            Self::Confirm { .. } => Self::Allow,
            own => own,
        }
    }
}

impl PermissionPlan {
    /// Returns the plan of `introspect`. Every caller may call it.
    pub(crate) fn open() -> Self {
        Self {
            danger: DangerLevel::Safe,
            inferred_from: None,
            trust_decision: TrustDecision::Allow,
            policies: Vec::new(),
        }
    }

    /// Computes the plan of an operation. Adds a problem if its declaration is invalid.
    pub(crate) fn new(
        spec: &OperationSpec,
        settings: &GateSettings,
        problems: &mut Vec<String>,
    ) -> Self {
        let (inferred, pattern) = DangerLevel::inferred(spec.name, spec.category);
        let danger = spec.danger.level.unwrap_or(inferred);
        if danger == DangerLevel::Safe && spec.category != crate::SemanticCategory::Read {
            problems.push(format!(
                "operation `{}` declares itself `safe` but is not READ: declare `reversible` or above",
                spec.name
            ));
        }
        let mut decision = trust_decision(danger, settings.trust.as_ref().map(Trust::level));
        // A declared message, cooldown or reauthentication requires a confirmation at any danger level.
        let declared = &spec.danger;
        let asks = declared.requires_reauth
            || declared.cooldown_seconds.is_some()
            || declared.confirmation_message.is_some();
        if asks && decision == TrustDecision::Allow {
            decision = TrustDecision::Confirm;
        }
        let matching = |policy: &&Policy| pattern_matches(&policy.operation, spec.name);
        Self {
            danger,
            inferred_from: pattern.filter(|_| spec.danger.level.is_none()),
            trust_decision: decision,
            policies: settings.policies.iter().filter(matching).cloned().collect(),
        }
    }

    /// Returns `true` if every call is allowed without a confirmation.
    pub(crate) fn is_open(&self) -> bool {
        self.trust_decision == TrustDecision::Allow && self.policies.is_empty()
    }

    /// Returns `true` if a call may require a confirmation.
    pub fn may_ask(&self) -> bool {
        let asks = |policy: &Policy| policy.permission == Permission::Confirm;
        self.trust_decision == TrustDecision::Confirm || self.policies.iter().any(asks)
    }

    /// Returns the permission by trust, danger and unconditional policies, as named by the protocol (choice C-23).
    pub(super) fn permission(&self) -> &'static str {
        match self.trust_decision {
            TrustDecision::IntrospectOnly => return "introspect_only",
            TrustDecision::Deny(_) => return "deny",
            TrustDecision::Allow | TrustDecision::Confirm => {}
        }
        match self.permission_of(self.policies.iter().filter(|it| it.conditions.is_empty())) {
            Permission::Deny => "deny",
            Permission::Confirm => "confirm",
            Permission::Allow => "allow",
        }
    }

    /// Returns the permission of a call to which these policies apply. The strictest policy replaces the decision by
    /// danger. Policies from a project's file can only make the result stricter.
    fn permission_of<'a>(&self, policies: impl Iterator<Item = &'a Policy> + Clone) -> Permission {
        let strictest = |from_project| {
            let some = policies.clone().filter(move |policy| policy.from_project == from_project);
            some.map(|policy| policy.permission).max()
        };
        let own = strictest(false).unwrap_or(self.permission_by_danger());
        strictest(true).unwrap_or(own).max(own)
    }

    fn permission_by_danger(&self) -> Permission {
        match self.trust_decision {
            TrustDecision::Confirm => Permission::Confirm,
            _ => Permission::Allow,
        }
    }

    /// Returns `true` if a policy requires a person's confirmation for every call.
    pub(super) fn by_operator(&self) -> bool {
        let asks = |policy: &Policy| {
            policy.permission == Permission::Confirm
                && policy.by_operator
                && policy.conditions.is_empty()
        };
        self.permission() == "confirm" && self.policies.iter().any(asks)
    }

    /// Returns `true` if policies with conditions may change the permission of some calls.
    pub(super) fn has_conditions(&self) -> bool {
        self.policies.iter().any(|policy| !policy.conditions.is_empty())
    }

    /// Returns `true` if some calls require a confirmation because of their arguments.
    pub(super) fn may_ask_for_some(&self) -> bool {
        let asks = |policy: &Policy| {
            policy.permission == Permission::Confirm && !policy.conditions.is_empty()
        };
        self.policies.iter().any(asks)
    }

    /// Decides by trust first, then by the strictest policy, then by the operation's danger.
    pub(super) fn decide(
        &self,
        arguments: &[Argument],
        principal: Option<&Principal>,
    ) -> Decision<'_> {
        match self.trust_decision {
            TrustDecision::Deny(minimum_trust) => return Decision::Untrusted { minimum_trust },
            TrustDecision::IntrospectOnly => {
                return Decision::Untrusted { minimum_trust: minimum_trust(self.danger) };
            }
            TrustDecision::Allow | TrustDecision::Confirm => {}
        }
        let applying =
            self.policies.iter().filter(|policy| policy.applies_to(arguments, principal));
        let permission = self.permission_of(applying.clone());
        let deciding = applying.clone().filter(|policy| policy.permission == permission);
        let reason = strictest(deciding.clone()).and_then(|policy| policy.reason.as_deref());
        match permission {
            Permission::Allow => Decision::Allow,
            Permission::Deny => Decision::Deny { reason },
            // All of these policies must be satisfied. The shortest time applies, and a person confirms if any policy
            // requires it.
            Permission::Confirm => {
                let by_danger = applying.clone().all(|policy| policy.from_project)
                    && self.permission_by_danger() == Permission::Confirm;
                let times = deciding.clone().map(|policy| policy.session);
                let session = times.reduce(|one, other| Some(one?.min(other?))).flatten();
                let places = self.policies.iter().enumerate().filter(|(_, policy)| {
                    policy.permission == permission && policy.applies_to(arguments, principal)
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
