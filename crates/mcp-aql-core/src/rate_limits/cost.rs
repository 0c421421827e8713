//! Computes the cost of calls.

use serde::Deserialize;

use super::declaration::billionths;

/// Defines what calls cost, in the currency of the [`RateLimits`](super::RateLimits). If you add several models,
/// their costs are added up.
///
/// Costs known in advance are counted before a call runs. Costs that depend on the usage reported by the operation
/// are counted afterwards. If you set a price per token or byte, call
/// [`Context::report_usage`](crate::Context::report_usage) in your operations.
///
/// The cost of a call is rounded up to a billionth of the currency's unit.
///
/// ```
/// use mcp_aql::rate_limits::{CostModel, RateLimits, Tier};
///
/// RateLimits::new()
///     .cost(CostModel::PerCall(0.01))
///     .cost(CostModel::PerToken(0.000_002))
///     .cost(CostModel::tiered([Tier::up_to(1000, 0.0), Tier::beyond(0.002)]));
/// ```
///
/// Source: adapter/rate-limiting §3.1 (REQ-RATE-10).
#[derive(Debug, Clone, PartialEq)]
pub enum CostModel {
    /// Price of each call.
    PerCall(f64),
    /// Price of each token reported by the operation.
    PerToken(f64),
    /// Price of each byte reported by the operation.
    PerByte(f64),
    /// Price of each call, depending on the number of calls in the calendar month (UTC).
    Tiered(Vec<Tier>),
}

/// A price that applies to a range of the calls of a month. In the configuration file:
///
/// ```toml
/// [cost]
/// tiered = [{ up_to = 1000, per_call = 0.0 }, { per_call = 0.002 }]
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tier {
    /// Last call of the month with this price. `None` in the last tier.
    pub(crate) up_to: Option<u64>,
    pub(crate) per_call: f64,
}

impl Tier {
    /// Sets the price of the month's calls up to and including call number `calls`.
    pub const fn up_to(calls: u64, per_call: f64) -> Self {
        Self { up_to: Some(calls), per_call }
    }

    /// Sets the price of all further calls. You must end a list of tiers with it.
    pub const fn beyond(per_call: f64) -> Self {
        Self { up_to: None, per_call }
    }
}

impl CostModel {
    /// Creates a model with a price that depends on the number of calls in the calendar month. Pass the tiers in
    /// ascending order.
    pub fn tiered(tiers: impl IntoIterator<Item = Tier>) -> Self {
        Self::Tiered(tiers.into_iter().collect())
    }

    /// Returns the cost known before a call runs, in billionths. `calls` is the number of earlier calls in the month.
    pub(super) fn before(&self, calls: u64) -> u64 {
        match self {
            Self::PerCall(price) => billionths(*price),
            Self::PerToken(_) | Self::PerByte(_) => 0,
            Self::Tiered(tiers) => {
                let due = tiers.iter().find(|tier| tier.up_to.is_none_or(|last| calls < last));
                due.map_or(0, |tier| billionths(tier.per_call))
            }
        }
    }

    /// Returns the cost of the usage reported by an operation, in billionths.
    pub(super) fn after(&self, tokens: u64, bytes: u64) -> u64 {
        match self {
            Self::PerCall(_) | Self::Tiered(_) => 0,
            Self::PerToken(price) => billionths(price * tokens as f64),
            Self::PerByte(price) => billionths(price * bytes as f64),
        }
    }

    pub(super) fn problems(&self) -> Vec<String> {
        let is_price = |price: f64| price.is_finite() && price >= 0.0;
        let prices: Vec<_> = match self {
            Self::PerCall(price) | Self::PerToken(price) | Self::PerByte(price) => vec![*price],
            Self::Tiered(tiers) => tiers.iter().map(|tier| tier.per_call).collect(),
        };
        let mut problems = Vec::new();
        if !prices.into_iter().all(is_price) {
            problems.push(
                "a price of the cost model is negative or not a number: write 0 or more".to_owned(),
            );
        }
        if let Self::Tiered(tiers) = self {
            let ends: Vec<_> = tiers.iter().map(|tier| tier.up_to.unwrap_or(u64::MAX)).collect();
            let last_is_open = tiers.last().is_some_and(|tier| tier.up_to.is_none());
            if !last_is_open || !ends.is_sorted_by(|one, next| one < next) {
                problems.push(
                    "the tiers of the cost model must be in ascending order, and the last one must be open: write \
                     `Tier::beyond(…)`, or leave `up_to` out"
                        .to_owned(),
                );
            }
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_has_its_price() {
        // REQ-RATE-10
        let tiers =
            CostModel::tiered([Tier::up_to(2, 0.0), Tier::up_to(3, 0.5), Tier::beyond(0.1)]);
        for (model, calls, before, after) in [
            (CostModel::PerCall(0.02), 7, 20_000_000, 0),
            (CostModel::PerToken(0.000_002), 0, 0, 2_000_000),
            (CostModel::PerByte(0.001), 0, 0, 50_000_000),
            (tiers.clone(), 1, 0, 0),
            (tiers.clone(), 2, 500_000_000, 0),
            (tiers.clone(), 3, 100_000_000, 0),
        ] {
            assert_eq!(model.before(calls), before, "{model:?}");
            assert_eq!(model.after(1_000, 50), after, "{model:?}");
            assert_eq!(model.problems(), Vec::<String>::new());
        }
    }

    #[test]
    fn prices_and_tiers_that_make_no_sense_are_told() {
        for model in [
            CostModel::PerCall(-1.0),
            CostModel::PerToken(f64::NAN),
            CostModel::tiered([]),
            CostModel::tiered([Tier::up_to(5, 1.0)]),
            CostModel::tiered([Tier::up_to(5, 1.0), Tier::up_to(5, 1.0), Tier::beyond(1.0)]),
        ] {
            assert_eq!(model.problems().len(), 1, "{model:?}");
        }
    }
}
