//! The five stages of an evaluation (REQ-AUT-04).
//!
//! Each stage is a function that returns a ruling or `None`. The first ruling ends the evaluation:
//!
//! ```text
//! step limit → previous outcome → patterns → risk tier → risk tolerance
//! ```

use serde::{Deserialize, Serialize};

use super::action::Action;
use super::directive::{RiskTolerance, SafetyTier, StepOutcome};
use super::patterns::PatternList;
use super::risk::{Risk, RiskScorer};

/// The compiled settings of an agent.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentPolicy {
    pub(super) max_autonomous_steps: u32,
    pub(super) tolerance: RiskTolerance,
    pub(super) deny: PatternList,
    pub(super) requires_approval: PatternList,
    pub(super) auto_approve: PatternList,
}

/// The input of the stages.
pub(super) struct EvaluationInput<'a> {
    pub(super) policy: &'a AgentPolicy,
    pub(super) scorer: &'a dyn RiskScorer,
    pub(super) action: &'a Action,
    /// The outcome of the previous step. `None` if it was not reported, or if a person has already dealt with it.
    pub(super) outcome: Option<StepOutcome>,
    /// The number of steps since the last request to a person.
    pub(super) steps: u32,
}

/// A stage of the evaluation. A pause and a permission record the stage that they belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    Limit,
    Outcome,
    Patterns,
    Tier,
    Tolerance,
}

/// The result of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EvaluationResult {
    pub(super) ruling: Ruling,
    pub(super) factors: Vec<String>,
    pub(super) tier: Option<SafetyTier>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ruling {
    Continue,
    /// A person must confirm the action.
    Pause(Stage, String),
    /// A person must verify the action.
    Verify(String),
    /// The agent is blocked.
    Stop(String),
}

/// Runs the stages in their order.
pub(super) fn evaluate(input: &EvaluationInput<'_>) -> EvaluationResult {
    let mut verdict =
        EvaluationResult { ruling: Ruling::Continue, factors: Vec::new(), tier: None };
    let ended = step_limit(input, &mut verdict)
        .or_else(|| previous_outcome(input, &mut verdict))
        .or_else(|| patterns(input, &mut verdict));
    verdict.ruling = ended.unwrap_or_else(|| {
        let risk = input.scorer.score(input.action);
        safety_tier(&risk, &mut verdict)
            .or_else(|| risk_tolerance(input, &risk, &mut verdict))
            .unwrap_or(Ruling::Continue)
    });
    verdict
}

/// Stage 1: the step limit (REQ-AUT-05, REQ-AUT-06).
fn step_limit(input: &EvaluationInput<'_>, verdict: &mut EvaluationResult) -> Option<Ruling> {
    let most = input.policy.max_autonomous_steps;
    let step = input.steps.saturating_add(1);
    verdict.factors.push(format!("step {step} of {most} without a person"));
    (step > most).then(|| Ruling::Pause(Stage::Limit, "Step limit exceeded".to_owned()))
}

/// Stage 2: the previous outcome (REQ-AUT-07).
fn previous_outcome(input: &EvaluationInput<'_>, verdict: &mut EvaluationResult) -> Option<Ruling> {
    if input.outcome? != StepOutcome::Failure {
        return None;
    }
    verdict.factors.push("the previous step has failed".to_owned());
    Some(Ruling::Pause(Stage::Outcome, "The previous step failed".to_owned()))
}

/// Stage 3: patterns (REQ-AUT-08, REQ-AUT-09).
fn patterns(input: &EvaluationInput<'_>, verdict: &mut EvaluationResult) -> Option<Ruling> {
    let policy = input.policy;
    if let Some(pattern) = policy.deny.guards(input.action) {
        verdict.factors.push(format!("matched deny pattern {pattern}"));
        verdict.tier = Some(SafetyTier::DangerZone);
        return Some(Ruling::Stop("The action is denied by a pattern".to_owned()));
    }
    if let Some(pattern) = policy.requires_approval.guards(input.action) {
        verdict.factors.push(format!("matched pattern {pattern}"));
        verdict.tier = Some(SafetyTier::Confirm);
        return Some(Ruling::Pause(Stage::Patterns, "The action needs approval".to_owned()));
    }
    if let Some(pattern) = policy.auto_approve.passes(input.action) {
        verdict.factors.push(format!("matched automatic pattern {pattern}"));
        verdict.tier = Some(SafetyTier::Advisory);
        return Some(Ruling::Continue);
    }
    None
}

/// Stage 4: the risk tier (REQ-AUT-10).
fn safety_tier(risk: &Risk, verdict: &mut EvaluationResult) -> Option<Ruling> {
    let tier = SafetyTier::of_score(risk.score);
    verdict.tier = Some(tier);
    verdict.factors.push(format!("risk {} of 100", risk.score.min(100)));
    verdict.factors.extend(risk.factors.iter().cloned());
    let reason = || format!("The risk is {} of 100", risk.score.min(100));
    match tier {
        SafetyTier::Advisory => None,
        SafetyTier::Confirm => Some(Ruling::Pause(Stage::Tier, reason())),
        SafetyTier::Verify => Some(Ruling::Verify(reason())),
        SafetyTier::DangerZone => Some(Ruling::Stop(reason())),
    }
}

/// Stage 5: the risk tolerance (REQ-AUT-11).
fn risk_tolerance(
    input: &EvaluationInput<'_>,
    risk: &Risk,
    verdict: &mut EvaluationResult,
) -> Option<Ruling> {
    let tolerance = input.policy.tolerance;
    (risk.score > tolerance.threshold()).then(|| {
        verdict.factors.push(format!("the agent's tolerance is {tolerance}"));
        let reason = format!("The risk is above {}", tolerance.threshold());
        Ruling::Pause(Stage::Tolerance, reason)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(patterns: &[&str]) -> PatternList {
        let patterns: Vec<_> = patterns.iter().map(|&each| each.to_owned()).collect();
        PatternList::new(&patterns, "deny", &mut Vec::new())
    }

    fn policy() -> AgentPolicy {
        AgentPolicy {
            max_autonomous_steps: 3,
            deny: list(&["drop_*", "both_*"]),
            requires_approval: list(&["deploy_*", "both_*", "two_*"]),
            auto_approve: list(&["read_*", "two_*", "deploy_*"]),
            ..AgentPolicy::default()
        }
    }

    fn ruled(hint: &str, outcome: Option<StepOutcome>, steps: u32, score: u8) -> EvaluationResult {
        let scorer = move |_: &Action| Risk::new(score);
        evaluate(&EvaluationInput {
            policy: &policy(),
            scorer: &scorer,
            action: &Action::new(hint),
            outcome,
            steps,
        })
    }

    fn pause(stage: Stage) -> impl Fn(&Ruling) -> bool {
        move |ruling| matches!(ruling, Ruling::Pause(at, _) if *at == stage)
    }

    #[test]
    fn the_first_stage_that_pauses_or_stops_ends_the_evaluation() {
        // REQ-AUT-04 to REQ-AUT-10
        let failure = Some(StepOutcome::Failure);
        assert!(pause(Stage::Limit)(&ruled("drop_x", failure, 3, 99).ruling));
        assert!(pause(Stage::Outcome)(&ruled("drop_x", failure, 2, 99).ruling));
        assert!(matches!(ruled("drop_x", None, 2, 0).ruling, Ruling::Stop(_)));
        for fine in [StepOutcome::Success, StepOutcome::Skipped] {
            assert_eq!(ruled("go", Some(fine), 0, 0).ruling, Ruling::Continue);
        }
        // A deny pattern takes precedence over an approval pattern, and that one over an automatic pattern.
        assert!(matches!(ruled("both_x", None, 0, 0).ruling, Ruling::Stop(_)));
        assert!(pause(Stage::Patterns)(&ruled("two_x", None, 0, 0).ruling));
        assert!(pause(Stage::Patterns)(&ruled("deploy_x", None, 0, 0).ruling));
        // An automatic pattern skips the remaining stages.
        let verdict = ruled("read_x", None, 0, 99);
        assert_eq!((verdict.ruling, verdict.tier), (Ruling::Continue, Some(SafetyTier::Advisory)));
        assert_eq!(verdict.factors.last().unwrap(), "matched automatic pattern read_*");
        // Without a matching pattern, the score decides.
        assert_eq!(ruled("go", None, 0, 30).ruling, Ruling::Continue);
        assert!(pause(Stage::Tier)(&ruled("go", None, 0, 31).ruling));
        assert!(matches!(ruled("go", None, 0, 61).ruling, Ruling::Verify(_)));
        assert!(matches!(ruled("go", None, 0, 86).ruling, Ruling::Stop(_)));
        let verdict = ruled("go", None, 3, 0);
        assert_eq!(verdict.ruling, Ruling::Pause(Stage::Limit, "Step limit exceeded".to_owned()));
    }

    #[test]
    fn tolerance_pauses_what_the_tier_lets_pass() {
        // REQ-AUT-11
        for (tolerance, score, pauses) in [
            (RiskTolerance::Conservative, 25, false),
            (RiskTolerance::Conservative, 26, true),
            (RiskTolerance::Moderate, 30, false),
            (RiskTolerance::Aggressive, 30, false),
        ] {
            let policy =
                AgentPolicy { tolerance, max_autonomous_steps: 9, ..AgentPolicy::default() };
            let scorer = move |_: &Action| Risk::new(score);
            let verdict = evaluate(&EvaluationInput {
                policy: &policy,
                scorer: &scorer,
                action: &Action::new("go"),
                outcome: None,
                steps: 0,
            });
            assert_eq!(pause(Stage::Tolerance)(&verdict.ruling), pauses, "{tolerance} {score}");
        }
    }

    #[test]
    fn words_of_verdicts_leak_nothing() {
        // REQ-CNF-09
        for verdict in [
            ruled("drop_x", None, 3, 0),
            ruled("drop_x", Some(StepOutcome::Failure), 0, 0),
            ruled("drop_x", None, 0, 0),
            ruled("deploy_x", None, 0, 0),
            ruled("read_x", None, 0, 0),
            ruled("go", None, 0, 70),
            ruled("go", None, 0, 45),
        ] {
            let reason = match &verdict.ruling {
                Ruling::Continue => "",
                Ruling::Pause(_, reason) | Ruling::Verify(reason) | Ruling::Stop(reason) => reason,
            };
            assert!(!mcp_aql_core::internal::text::leaks_internals(reason), "{reason}");
            for factor in verdict.factors {
                assert!(!mcp_aql_core::internal::text::leaks_internals(&factor), "{factor}");
            }
        }
    }
}
