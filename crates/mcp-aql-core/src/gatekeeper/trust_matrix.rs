//! The matrix of trust and danger.

use mcp_aql_protocol::{DangerLevel, TrustLevel};

/// The decision about an operation by danger and trust alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrustDecision {
    /// The operation may run.
    Allow,
    /// The operation requires a confirmation.
    Confirm,
    /// At its trust level, the adapter may only run `introspect`.
    IntrospectOnly,
    /// The operation requires this trust level, and the adapter's level is lower.
    Deny(TrustLevel),
}

/// Decides by danger and trust, or by danger alone if trust is not declared. Operations with the danger level
/// `destructive` or higher require a confirmation at any trust level (REQ-DNG-03, REQ-DNG-06, choice C-46).
///
/// ```text
/// danger \ trust   untested      generated  validated  reviewed   certified
/// safe             introspect    allow      allow      allow      allow
/// reversible       deny          deny       allow      allow      allow
/// destructive      deny          deny       confirm    confirm    confirm
/// dangerous        deny          deny       deny       confirm    confirm
/// forbidden        deny          deny       deny       deny       confirm
/// ```
pub(crate) fn trust_decision(danger: DangerLevel, trust: Option<TrustLevel>) -> TrustDecision {
    let confirmed = danger >= DangerLevel::Destructive;
    let passed = if confirmed { TrustDecision::Confirm } else { TrustDecision::Allow };
    let Some(trust) = trust else { return passed };
    let least = minimum_trust(danger);
    if trust >= least {
        passed
    } else if danger == DangerLevel::Safe {
        TrustDecision::IntrospectOnly
    } else {
        TrustDecision::Deny(least)
    }
}

/// Returns the lowest trust level at which the matrix allows this danger level, with or without a confirmation.
pub(crate) const fn minimum_trust(danger: DangerLevel) -> TrustLevel {
    match danger {
        DangerLevel::Safe => TrustLevel::Generated,
        DangerLevel::Reversible | DangerLevel::Destructive => TrustLevel::Validated,
        DangerLevel::Dangerous => TrustLevel::CommunityReviewed,
        DangerLevel::Forbidden => TrustLevel::Certified,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_and_danger_decide_as_the_matrix_has_it() {
        // REQ-DNG-03, REQ-DNG-06
        use TrustLevel::{Certified, CommunityReviewed, Validated};
        let confirm = TrustDecision::Confirm;
        let rows = [
            (
                DangerLevel::Safe,
                [
                    TrustDecision::IntrospectOnly,
                    TrustDecision::Allow,
                    TrustDecision::Allow,
                    TrustDecision::Allow,
                    TrustDecision::Allow,
                ],
            ),
            (
                DangerLevel::Reversible,
                [
                    TrustDecision::Deny(Validated),
                    TrustDecision::Deny(Validated),
                    TrustDecision::Allow,
                    TrustDecision::Allow,
                    TrustDecision::Allow,
                ],
            ),
            (
                DangerLevel::Destructive,
                [
                    TrustDecision::Deny(Validated),
                    TrustDecision::Deny(Validated),
                    confirm,
                    confirm,
                    confirm,
                ],
            ),
            (
                DangerLevel::Dangerous,
                [
                    TrustDecision::Deny(CommunityReviewed),
                    TrustDecision::Deny(CommunityReviewed),
                    TrustDecision::Deny(CommunityReviewed),
                    confirm,
                    confirm,
                ],
            ),
            (
                DangerLevel::Forbidden,
                [
                    TrustDecision::Deny(Certified),
                    TrustDecision::Deny(Certified),
                    TrustDecision::Deny(Certified),
                    TrustDecision::Deny(Certified),
                    confirm,
                ],
            ),
        ];
        for (danger, row) in rows {
            for (trust, expected) in TrustLevel::ALL.iter().zip(row) {
                assert_eq!(trust_decision(danger, Some(*trust)), expected, "{danger} {trust}");
            }
        }
    }

    #[test]
    fn without_declared_trust_danger_alone_decides() {
        // REQ-DNG-03
        for danger in DangerLevel::ALL {
            let confirmed = *danger >= DangerLevel::Destructive;
            let expected = if confirmed { TrustDecision::Confirm } else { TrustDecision::Allow };
            assert_eq!(trust_decision(*danger, None), expected, "{danger}");
        }
    }
}
