//! Collects the limits and quotas of an adapter from the builder and from configuration files.

use std::collections::HashSet;

use mcp_aql_protocol::{SemanticCategory, nearest_name};
use serde::Deserialize;
use serde_json::Value;

use super::cost::{CostModel, Tier};
use super::declaration::{ApiLimit, Metric, Quota, Scope, Span, Window};
use crate::config::setting::Setting;
use crate::config::tightening::Tightening;

/// The currency of costs if none is set.
const DEFAULT_CURRENCY: &str = "USD";

/// The limits and quotas of an adapter. Pass them to
/// [`AdapterBuilder::rate_limits`](crate::AdapterBuilder::rate_limits).
///
/// ```
/// use mcp_aql::rate_limits::{ApiLimit, CostModel, Metric, Quota, RateLimits, Window};
///
/// let limits = RateLimits::new()
///     .limit(ApiLimit::global(100).per(Window::Minute))
///     .limit(ApiLimit::endpoint("create", 20).per(Window::Hour))
///     .quota(Quota::new(Metric::RequestsPerHour).warn(800).pause(950).hard_stop(1000))
///     .quota(Quota::new(Metric::CostPerMonth).hard_stop(25))
///     .cost(CostModel::PerCall(0.002));
/// let adapter = mcp_aql::Adapter::builder("rooms").rate_limits(limits).build();
/// # assert!(adapter.is_ok());
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct RateLimits {
    pub(crate) limits: Vec<ApiLimit>,
    pub(crate) quotas: Vec<Quota>,
    pub(crate) costs: Vec<CostModel>,
    pub(crate) currency: Option<String>,
}

impl RateLimits {
    /// Creates settings without limits. Limits reported by a wrapped API apply nevertheless.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a limit. You can add one for each scope and window.
    pub fn limit(mut self, limit: ApiLimit) -> Self {
        self.limits.push(limit);
        self
    }

    /// Adds a quota. You can add one for each metric.
    pub fn quota(mut self, quota: Quota) -> Self {
        self.quotas.push(quota);
        self
    }

    /// Adds a cost model. The costs of several models are added up.
    pub fn cost(mut self, model: CostModel) -> Self {
        self.costs.push(model);
        self
    }

    /// Sets the currency of costs, as three letters. Defaults to `USD`.
    pub fn currency(mut self, code: impl Into<String>) -> Self {
        self.currency = Some(code.into());
        self
    }

    /// Returns the currency of costs.
    pub(super) fn currency_or_default(&self) -> &str {
        self.currency.as_deref().unwrap_or(DEFAULT_CURRENCY)
    }

    /// Lists the settings for the operator.
    pub(super) fn listed(&self) -> Vec<Setting> {
        let limit = |limit: &ApiLimit| {
            let burst = limit.burst.map(|burst| format!(", burst {burst}")).unwrap_or_default();
            Value::from(format!("{}: {}{burst}", limit.id(), limit.limit))
        };
        let quota = |quota: &Quota| {
            let steps =
                [("warn", quota.warn), ("pause", quota.pause), ("hard_stop", quota.hard_stop)];
            let steps = steps.into_iter().filter_map(|(name, at)| Some(format!("{name} {}", at?)));
            let steps: Vec<_> = steps.collect();
            Value::from(format!("{}: {}", quota.metric.as_str(), steps.join(", ")))
        };
        let tier = |tier: &Tier| match tier.up_to {
            Some(calls) => format!("{} up to {calls}", tier.per_call),
            None => format!("{} beyond", tier.per_call),
        };
        let cost = |model: &CostModel| match model {
            CostModel::PerCall(price) => Value::from(format!("per_call {price}")),
            CostModel::PerToken(price) => Value::from(format!("per_token {price}")),
            CostModel::PerByte(price) => Value::from(format!("per_byte {price}")),
            CostModel::Tiered(tiers) => {
                let tiers: Vec<_> = tiers.iter().map(tier).collect();
                Value::from(format!("tiered {}", tiers.join(", ")))
            }
        };
        vec![
            Setting::joined("api_limits", self.limits.iter().map(limit)),
            Setting::joined("quotas", self.quotas.iter().map(quota)),
            Setting::joined("cost", self.costs.iter().map(cost)),
            Setting::new("cost.currency", self.currency_or_default(), DEFAULT_CURRENCY),
        ]
    }

    /// Returns the ids of limits with a span of a day or a month. Their counters should outlive the process.
    pub(crate) fn lasting(&self) -> Vec<String> {
        let limits = self.limits.iter().filter(|limit| limit.window == Window::Day);
        let quotas = self.quotas.iter().map(|quota| quota.metric);
        let lasting =
            |metric: &Metric| matches!(metric.span(), Span::Month | Span::Sliding(Window::Day));
        let quotas = quotas.filter(lasting).map(|metric| metric.as_str().to_owned());
        limits.map(ApiLimit::id).chain(quotas).collect()
    }

    /// Returns the mistakes in the settings. `families` are the endpoint families of the profile.
    pub(crate) fn problems<'a>(
        &self,
        families: impl Iterator<Item = &'a str> + Clone,
    ) -> Vec<String> {
        let mut problems = Vec::new();
        let mut seen = HashSet::new();
        for limit in &self.limits {
            let id = limit.id();
            if limit.limit == 0 {
                problems.push(format!("limit `{id}` is 0, so no call could ever run"));
            }
            if limit.burst.is_some_and(|burst| burst == 0 || burst > limit.limit) {
                problems.push(format!("limit `{id}`: `burst` must be from 1 to the limit itself"));
            }
            if let Scope::Endpoint(name) = &limit.scope
                && !families.clone().any(|family| family == name)
            {
                let near = nearest_name(name, families.clone());
                let hint = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
                problems
                    .push(format!("limit `{id}` names an unknown endpoint of the profile{hint}"));
            }
            for header in [&limit.remaining_header, &limit.reset_header].into_iter().flatten() {
                if !is_header(header) {
                    problems.push(format!("limit `{id}`: `{header}` is not a valid header name"));
                }
            }
            if !seen.insert(id.clone()) {
                problems.push(format!("two limits for `{id}`: keep one"));
            }
        }
        for quota in &self.quotas {
            problems.extend(quota.problems());
            if !seen.insert(quota.metric.as_str().to_owned()) {
                problems.push(format!("two quotas for `{}`: keep one", quota.metric.as_str()));
            }
        }
        problems.extend(self.costs.iter().flat_map(CostModel::problems));
        let letters =
            |code: &&String| code.len() == 3 && code.bytes().all(|it| it.is_ascii_uppercase());
        if let Some(code) = self.currency.as_ref().filter(|code| !letters(code)) {
            problems.push(format!("currency `{code}` must be three capital letters, as in `EUR`"));
        }
        problems
    }
}

/// Returns `true` if the name is a token as defined by RFC 9110.
fn is_header(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// The tables of limits in the configuration file. They can be written in the protocol's form and in the short form
/// of adapter files (choice C-52).
#[derive(Debug, Default, Deserialize)]
pub(super) struct LimitTables {
    #[serde(default)]
    api_limits: Vec<ApiLimitTable>,
    #[serde(default)]
    quotas: Vec<Quota>,
    cost: Option<CostTable>,
    rate_limits: Option<FlatTable>,
}

/// An entry of `[[api_limits]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApiLimitTable {
    scope: ScopeName,
    endpoint: Option<String>,
    category: Option<String>,
    limit: u32,
    window: Window,
    burst: Option<u32>,
    remaining_header: Option<String>,
    reset_header: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ScopeName {
    Global,
    Endpoint,
    Category,
}

/// The table `[cost]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CostTable {
    currency: Option<String>,
    per_call: Option<f64>,
    per_token: Option<f64>,
    per_byte: Option<f64>,
    tiered: Option<Vec<Tier>>,
}

/// The table `[rate_limits]`, the short form.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlatTable {
    requests_per_minute: Option<u32>,
    requests_per_hour: Option<u32>,
    requests_per_day: Option<u32>,
    burst_limit: Option<u32>,
}

impl LimitTables {
    fn is_empty(&self) -> bool {
        self.api_limits.is_empty()
            && self.quotas.is_empty()
            && self.cost.is_none()
            && self.rate_limits.is_none()
    }

    /// Applies the file to the builder's settings. A limit with the same scope and window, a quota with the same
    /// metric, and prices replace those of the builder.
    pub(super) fn apply(self, settings: &mut Option<RateLimits>, problems: &mut Vec<String>) {
        if self.is_empty() {
            return;
        }
        let settings = settings.get_or_insert_default();
        let limits = limits(self.rate_limits, self.api_limits, problems);
        let ids: HashSet<_> = limits.iter().map(ApiLimit::id).collect();
        settings.limits.retain(|limit| !ids.contains(&limit.id()));
        settings.limits.extend(limits);
        let metrics: HashSet<Metric> = self.quotas.iter().map(|quota| quota.metric).collect();
        settings.quotas.retain(|quota| !metrics.contains(&quota.metric));
        settings.quotas.extend(self.quotas);
        if let Some(cost) = self.cost {
            let models: Vec<_> = [
                cost.per_call.map(CostModel::PerCall),
                cost.per_token.map(CostModel::PerToken),
                cost.per_byte.map(CostModel::PerByte),
                cost.tiered.map(CostModel::Tiered),
            ]
            .into_iter()
            .flatten()
            .collect();
            if !models.is_empty() {
                settings.costs = models;
            }
            settings.currency = cost.currency.or(settings.currency.take());
        }
    }
}

/// Returns the limits of both forms.
fn limits(
    flat: Option<FlatTable>,
    tables: Vec<ApiLimitTable>,
    problems: &mut Vec<String>,
) -> Vec<ApiLimit> {
    let mut limits = Vec::new();
    if let Some(flat) = flat {
        flat.read(&mut limits, problems);
    }
    limits.extend(tables.into_iter().filter_map(|table| table.read(problems)));
    limits
}

impl LimitTables {
    /// Applies a file that can only make an adapter stricter. Additional and lower limits and quotas take effect.
    /// Prices and the headers of a limit are not changed.
    pub(super) fn tighten(
        self,
        settings: &mut Option<RateLimits>,
        tightening: &mut Tightening,
        problems: &mut Vec<String>,
    ) {
        tightening.refuse("cost", self.cost);
        let limits = limits(self.rate_limits, self.api_limits, problems);
        if limits.is_empty() && self.quotas.is_empty() {
            return;
        }
        let settings = settings.get_or_insert_default();
        for given in limits {
            let id = given.id();
            let key = format!("limit {id}");
            if given.remaining_header.is_some() || given.reset_header.is_some() {
                tightening.ignore(format!("headers of {key}"));
            }
            match settings.limits.iter_mut().find(|known| known.id() == id) {
                Some(known) => {
                    let mut burst = known.burst.unwrap_or(known.limit);
                    tightening.lower(&key, &mut known.limit, Some(given.limit));
                    tightening.lower(&key, &mut burst, given.burst);
                    known.burst = Some(burst.min(known.limit))
                        .filter(|_| known.burst.is_some() || given.burst.is_some());
                }
                None => {
                    settings.limits.push(ApiLimit {
                        remaining_header: None,
                        reset_header: None,
                        ..given
                    });
                }
            }
        }
        for given in self.quotas {
            let key = format!("quota {}", given.metric.as_str());
            match settings.quotas.iter_mut().find(|known| known.metric == given.metric) {
                Some(known) => {
                    for (step, value) in [
                        (&mut known.warn, given.warn),
                        (&mut known.pause, given.pause),
                        (&mut known.hard_stop, given.hard_stop),
                    ] {
                        let mut amount = step.unwrap_or(f64::INFINITY);
                        tightening.lower(&key, &mut amount, value);
                        *step = Some(amount).filter(|amount| amount.is_finite());
                    }
                }
                None => settings.quotas.push(given),
            }
        }
    }
}

impl ApiLimitTable {
    fn read(self, problems: &mut Vec<String>) -> Option<ApiLimit> {
        let scope = match (self.scope, self.endpoint, self.category) {
            (ScopeName::Global, None, None) => Scope::Global,
            (ScopeName::Endpoint, Some(name), None) => Scope::Endpoint(name),
            (ScopeName::Category, None, Some(name)) => {
                let found = SemanticCategory::ALL.into_iter().find(|each| each.as_str() == name);
                let Some(category) = found else {
                    problems.push(format!(
                        "`api_limits`: category `{name}` is unknown: use one of CREATE, READ, \
                         UPDATE, DELETE, EXECUTE"
                    ));
                    return None;
                };
                Scope::Category(category)
            }
            _ => {
                problems.push(
                    "`api_limits`: scope `endpoint` requires `endpoint`, scope `category` requires \
                     `category`, and scope `global` allows neither"
                        .to_owned(),
                );
                return None;
            }
        };
        Some(ApiLimit {
            burst: self.burst,
            remaining_header: self.remaining_header,
            reset_header: self.reset_header,
            ..ApiLimit::of(scope, self.limit).per(self.window)
        })
    }
}

impl FlatTable {
    /// Converts the table to global limits. The burst applies to the limit with the shortest window.
    fn read(self, limits: &mut Vec<ApiLimit>, problems: &mut Vec<String>) {
        let windows = [
            (self.requests_per_minute, Window::Minute),
            (self.requests_per_hour, Window::Hour),
            (self.requests_per_day, Window::Day),
        ];
        let given = windows.into_iter().filter_map(|(limit, window)| Some((limit?, window)));
        let mut flat: Vec<_> =
            given.map(|(limit, window)| ApiLimit::global(limit).per(window)).collect();
        match flat.first_mut() {
            Some(shortest) => shortest.burst = self.burst_limit,
            None => problems.push(
                "`rate_limits` needs `requests_per_minute`, `requests_per_hour` or \
                 `requests_per_day`"
                    .to_owned(),
            ),
        }
        limits.append(&mut flat);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAMILIES: [&str; 5] = ["create", "read", "update", "delete", "execute"];

    fn problems(limits: &RateLimits) -> Vec<String> {
        limits.problems(FAMILIES.into_iter())
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        // REQ-RATE-03, REQ-RATE-04
        for (fragment, limits) in [
            ("is 0", RateLimits::new().limit(ApiLimit::global(0))),
            ("`burst`", RateLimits::new().limit(ApiLimit::global(5).burst(6))),
            ("did you mean `create`", RateLimits::new().limit(ApiLimit::endpoint("craete", 5))),
            (
                "not a valid header name",
                RateLimits::new().limit(ApiLimit::global(5).reset_header("a b")),
            ),
            (
                "two limits for `global:minute`",
                RateLimits::new().limit(ApiLimit::global(5)).limit(ApiLimit::global(6)),
            ),
            ("has no threshold", RateLimits::new().quota(Quota::new(Metric::CostPerDay))),
            (
                "out of order",
                RateLimits::new().quota(Quota::new(Metric::CostPerDay).warn(9).hard_stop(8)),
            ),
            ("above 0", RateLimits::new().quota(Quota::new(Metric::CostPerDay).pause(f64::NAN))),
            ("whole number", RateLimits::new().quota(Quota::new(Metric::TokensPerDay).pause(0.5))),
            (
                "too large",
                RateLimits::new().quota(Quota::new(Metric::CostPerDay).hard_stop(f64::MAX)),
            ),
            (
                "two quotas",
                RateLimits::new()
                    .quota(Quota::new(Metric::CostPerDay).warn(1))
                    .quota(Quota::new(Metric::CostPerDay).warn(1)),
            ),
            ("three capital letters", RateLimits::new().currency("euro")),
            ("price", RateLimits::new().cost(CostModel::PerCall(-0.1))),
        ] {
            let found = problems(&limits);
            assert!(matches!(&found[..], [one] if one.contains(fragment)), "{fragment}: {found:?}");
        }
    }

    #[test]
    fn what_is_to_outlive_a_process_is_known() {
        let limits = RateLimits::new()
            .limit(ApiLimit::global(5))
            .limit(ApiLimit::endpoint("create", 5).per(Window::Day))
            .quota(Quota::new(Metric::RequestsPerHour).warn(1))
            .quota(Quota::new(Metric::TokensPerDay).warn(1))
            .quota(Quota::new(Metric::CostPerMonth).warn(1));
        let lasting = ["endpoint:create:day", "tokens_per_day", "cost_per_month"];
        assert_eq!(limits.lasting(), lasting);
    }

    fn read(text: &str, settings: &mut Option<RateLimits>) -> Result<Vec<String>, String> {
        let tables: LimitTables =
            toml_edit::de::from_str(text).map_err(|error| error.to_string())?;
        let mut problems = Vec::new();
        tables.apply(settings, &mut problems);
        Ok(problems)
    }

    #[test]
    fn both_forms_of_the_file_are_read_and_lie_over_the_builders() {
        // REQ-RATE-03, REQ-RATE-10, choice C-52
        let mut settings = Some(
            RateLimits::new()
                .limit(ApiLimit::global(7).per(Window::Hour))
                .limit(ApiLimit::category(SemanticCategory::Read, 9))
                .quota(Quota::new(Metric::CostPerMonth).hard_stop(1)),
        );
        let text = r#"
            [[api_limits]]
            scope = "endpoint"
            endpoint = "create"
            limit = 5
            window = "second"
            remaining_header = "X-Left"
            [[quotas]]
            metric = "cost_per_month"
            warn = 8
            hard_stop = 10.5
            [cost]
            currency = "EUR"
            per_call = 0.01
            tiered = [{ up_to = 10, per_call = 0.0 }, { per_call = 0.5 }]
            [rate_limits]
            requests_per_minute = 60
            requests_per_hour = 600
            burst_limit = 3
        "#;
        assert_eq!(read(text, &mut settings), Ok(Vec::new()));
        let expected = RateLimits::new()
            .limit(ApiLimit::category(SemanticCategory::Read, 9))
            .limit(ApiLimit::global(60).burst(3))
            .limit(ApiLimit::global(600).per(Window::Hour))
            .limit(ApiLimit::endpoint("create", 5).per(Window::Second).remaining_header("X-Left"))
            .quota(Quota::new(Metric::CostPerMonth).warn(8).hard_stop(10.5))
            .cost(CostModel::PerCall(0.01))
            .cost(CostModel::tiered([Tier::up_to(10, 0.0), Tier::beyond(0.5)]))
            .currency("EUR");
        assert_eq!(settings.as_ref(), Some(&expected));
        assert_eq!(problems(&expected), Vec::<String>::new());
        let mut none = None;
        assert_eq!(read("", &mut none), Ok(Vec::new()));
        assert_eq!(none, None, "an adapter without limits has none");
    }

    #[test]
    fn nothing_in_the_file_is_ignored() {
        for (fragment, text) in [
            ("limitt", "[[api_limits]]\nscope='global'\nlimitt=1\nwindow='hour'"),
            ("month", "[[api_limits]]\nscope='global'\nlimit=1\nwindow='month'"),
            ("requests_per_year", "[[quotas]]\nmetric='requests_per_year'\nwarn=1"),
            ("stop", "[[quotas]]\nmetric='cost_per_day'\nstop=1"),
            ("per_cal", "[cost]\nper_cal=1.0"),
            ("burst", "[rate_limits]\nrequests_per_day=1\nburst=1"),
        ] {
            let refused = read(text, &mut None).unwrap_err();
            assert!(refused.contains(fragment), "{fragment}: {refused}");
        }
        for (fragment, text) in [
            ("requires", "[[api_limits]]\nscope='endpoint'\nlimit=1\nwindow='hour'"),
            ("requires", "[[api_limits]]\nscope='global'\ncategory='READ'\nlimit=1\nwindow='hour'"),
            ("READ", "[[api_limits]]\nscope='category'\ncategory='read'\nlimit=1\nwindow='hour'"),
            ("needs", "[rate_limits]\nburst_limit=1"),
        ] {
            let problems = read(text, &mut None).unwrap();
            assert!(matches!(&problems[..], [one] if one.contains(fragment)), "{problems:?}");
        }
    }
}
