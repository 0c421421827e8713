//! The results of one check: passed cases, findings, and skipped cases with their reasons.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::call::{self, Exchange};
use crate::category::Category;
pub(crate) use crate::finding::{Finding, Hints, shorten};
use crate::finding::{MAX_MESSAGE_BYTES, MAX_TEXT_BYTES};
use crate::secrets::Secrets;
use crate::sync::lock;

/// Maximum number of findings with different causes kept per check. Further failed cases are only counted.
const MAX_FINDINGS: usize = 20;

/// Reason for everything that an interrupted run did not test.
pub(crate) const INTERRUPTED: &str = "the run was interrupted";

/// Maximum total length of the skip reasons of one check, in bytes.
const MAX_REASON_BYTES: usize = 64 << 10;

/// Masks the secrets in one of the runner's own messages and shortens it if it is too long.
///
/// The middle is cut out, because the end may hold the suggestion.
pub(crate) fn shorten_message(text: &mut String, secrets: &Secrets) {
    if text.len() <= MAX_MESSAGE_BYTES {
        return;
    }
    // Mask before cutting: half a secret would not be recognized.
    secrets.mask(text);
    let mut end = text.len().saturating_sub(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end += 1;
    }
    let end = text.get(end..).unwrap_or_default().to_owned();
    shorten(text, MAX_MESSAGE_BYTES - MAX_TEXT_BYTES);
    text.push_str(" … ");
    text.push_str(&end);
}

/// The reason why a case was skipped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Skip {
    /// The run may not call operations of this category.
    NotAllowed(Category),
    /// The operation has the category READ but may change data, for this reason.
    MayChange(String),
    /// The runner has no value to test with. The string names the setting that could provide one.
    NoFixture(String),
    /// The adapter stores too little data. The string names the missing data. Another operation with enough data makes
    /// up for it.
    Scarce(String),
    /// The operation had enough effects already, for this reason.
    Limited(String),
    /// The run exercises only a sample of the operations. The number counts all operations.
    NotSampled(usize),
    /// The named operation would act on data that the run did not create.
    NotOurs(String),
    /// The named operation is stated to read, but its name suggests that it changes data.
    NotReading(String),
    /// The named operation may only be called with the configured parameters, because the runner cannot know which data
    /// other parameters affect.
    Unsafe(String),
    /// The configuration excludes the case.
    LeftOut(String),
    /// The adapter stopped answering, or the time limit was reached.
    CutShort(String),
    /// The case could not be judged because of a finding of another check.
    Blocked {
        /// Id of the check with the finding.
        by: &'static str,
        /// Description of the unread part.
        why: String,
    },
}

impl Skip {
    /// Returns the reason to skip the case if a rate limit of the adapter rejected the call.
    pub(crate) fn rate_limited(exchange: &Exchange) -> Option<Self> {
        exchange.rate_limit_code().map(Self::too_fast)
    }

    /// Returns the reason to skip a case rejected by a rate limit with this error code.
    pub(crate) fn too_fast(code: &str) -> Self {
        Self::CutShort(format!(
            "the adapter rejects calls with {code}, and waiting for the stated time does not help: raise the \
             adapter's limits for the run"
        ))
    }

    /// Returns the variable part of the reason.
    fn text(&mut self) -> Option<&mut String> {
        match self {
            Self::NotAllowed(_) | Self::NotSampled(_) => None,
            Self::MayChange(text)
            | Self::NoFixture(text)
            | Self::Scarce(text)
            | Self::Limited(text)
            | Self::NotOurs(text)
            | Self::NotReading(text)
            | Self::LeftOut(text)
            | Self::CutShort(text)
            | Self::Blocked { why: text, .. }
            | Self::Unsafe(text) => Some(text),
        }
    }

    /// Returns the reason as a short message.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::NotAllowed(category) => {
                format!("{category} operations were not allowed: use --allow {}", category.family())
            }
            Self::MayChange(why) => {
                format!("READ operations that may change data are not called: {why}")
            }
            Self::NotReading(operation) => format!(
                "`{operation}` has the category READ, but its name does not begin with a verb such as get or \
                 list, so it might change data and is not called: if it only reads, write \
                 `reading_operations = [\"{operation}\"]` at the top of the configuration file (--config FILE)"
            ),
            Self::NoFixture(what) => format!("no suitable value: {what}"),
            Self::Scarce(what) => format!("too little data: {what}"),
            Self::Limited(why) => format!("limited: {why}"),
            Self::NotSampled(all) => format!(
                "outside the sample of operations that the run exercises: `operations = {all}` under [limits] \
                 in the configuration file (--config FILE) exercises all operations"
            ),
            Self::NotOurs(operation) => format!(
                "`{operation}` would act on data that the run did not create: name the data that it may \
                 change under [params.{operation}]"
            ),
            Self::Unsafe(operation) => format!(
                "`{operation}` is only called with the values of [params.{operation}]: a call with other \
                 values that is not rejected could change unknown data"
            ),
            Self::LeftOut(why) => format!("excluded by the configuration: {why}"),
            Self::CutShort(why) => format!("cut short: {why}"),
            Self::Blocked { by, why } => format!("blocked by {by}: {why}"),
        }
    }
}

/// Collects the cases of one check in one mode while the check runs.
#[derive(Debug, Default)]
pub(crate) struct Cases {
    inner: Mutex<CaseResults>,
    secrets: Arc<Secrets>,
    /// If `true`, the check judges the form of errors.
    judges_forms: bool,
    /// If `true`, the check observes all calls, including those rejected by a rate limit.
    observes_calls: bool,
    /// Expectation and suggestion of findings that state none of their own.
    pub(crate) hints: Hints,
}

/// The collected results.
#[derive(Debug, Default, Clone)]
pub(crate) struct CaseResults {
    pub(crate) passed: usize,
    pub(crate) findings: Vec<Finding>,
    /// Number of failed cases, including those with a cause beyond `MAX_FINDINGS`.
    pub(crate) found: usize,
    /// Number of failed cases in `found` that only calls of level 2 checks revealed. The check itself has level 1.
    pub(crate) found_later: usize,
    pub(crate) skipped: BTreeMap<Skip, usize>,
    /// Total length of the skip reasons, in bytes.
    reasons: usize,
    pub(crate) not_applicable: Option<String>,
}

impl Cases {
    /// Creates an empty collection. These secrets are masked in findings.
    pub(crate) fn new(secrets: Arc<Secrets>) -> Self {
        Self { secrets, ..Self::default() }
    }

    /// Keeps findings about malformed errors instead of counting their cases as blocked.
    #[must_use]
    pub(crate) fn judging_forms(self, judges_forms: bool) -> Self {
        Self { judges_forms, ..self }
    }

    /// Keeps findings about calls rejected by a rate limit. For other checks, such a reply is not the answer to the
    /// call.
    #[must_use]
    pub(crate) fn observing_calls(self, observes_calls: bool) -> Self {
        Self { observes_calls, ..self }
    }

    /// Completes findings that state no expectation or no suggestion of their own.
    #[must_use]
    pub(crate) fn hinting(self, hints: Hints) -> Self {
        Self { hints, ..self }
    }

    /// Counts a case that passed.
    pub(crate) fn pass(&self) {
        self.lock().passed += 1;
    }

    /// Adds a finding, or only counts it if its cause is already known.
    ///
    /// If the finding concerns a failure with an unreadable error, the case is blocked instead: the unread code or
    /// message may be the expected one.
    pub(crate) fn fail(&self, finding: Finding) {
        match call::error_obstacle(&finding.sent, &finding.received).filter(|_| !self.judges_forms)
        {
            Some((by, why)) => self.block(by, why),
            None => self.add(finding),
        }
    }

    /// Adds one failed case with a finding for each of its causes.
    pub(crate) fn fail_for_causes(&self, findings: impl IntoIterator<Item = Finding>) {
        let mut findings = findings.into_iter();
        if let Some(first) = findings.next() {
            let is_judged =
                self.judges_forms || call::error_obstacle(&first.sent, &first.received).is_none();
            self.fail(first);
            if is_judged {
                findings.for_each(|finding| self.keep(finding));
            }
        }
    }

    /// Counts a passed case if the call succeeded and the condition holds. Otherwise adds the finding.
    ///
    /// Use this for calls that should succeed. Their failures are findings in every form, so a malformed error does not
    /// block the case.
    pub(crate) fn expect_success(
        &self,
        exchange: &Exchange,
        holds: bool,
        finding: impl FnOnce() -> Finding,
    ) -> bool {
        if !exchange.succeeded() {
            self.add(finding());
            return false;
        }
        self.expect(holds, finding)
    }

    /// Returns `true` if the call did not fail or its error can be read. Otherwise blocks the case.
    ///
    /// Use this in checks that pass unless a call fails with a certain code.
    pub(crate) fn is_readable(&self, exchange: &Exchange) -> bool {
        exchange.error_obstacle().map(|(by, why)| self.block(by, why)).is_none()
    }

    fn add(&self, finding: Finding) {
        if let Some(code) =
            call::rate_limit_code(&finding.received).filter(|_| !self.observes_calls)
        {
            return self.skip(Skip::too_fast(code));
        }
        self.lock().found += 1;
        self.keep(finding);
    }

    /// Stores a finding, or merges it with an earlier one of the same cause.
    fn keep(&self, mut finding: Finding) {
        finding.complete(self.hints);
        // Mask before cutting: half a secret would not be recognized.
        finding.mask(&self.secrets);
        finding.identify();
        let mut inner = self.lock();
        if let Some(first) = inner.findings.iter_mut().find(|it| it.cause == finding.cause) {
            first.absorb(finding);
        } else if inner.findings.len() < MAX_FINDINGS {
            finding.abridge();
            inner.findings.push(finding);
        }
    }

    /// Counts a passed case if the condition holds. Otherwise adds the finding.
    pub(crate) fn expect(&self, holds: bool, finding: impl FnOnce() -> Finding) -> bool {
        if holds {
            self.pass();
        } else {
            self.fail(finding());
        }
        holds
    }

    /// Counts a skipped case with its reason.
    pub(crate) fn skip(&self, mut why: Skip) {
        let mut inner = self.lock();
        if let Some(text) = why.text() {
            shorten_message(text, &self.secrets);
        }
        if !inner.skipped.contains_key(&why)
            && let Some(text) = why.text()
        {
            if inner.reasons + text.len() > MAX_REASON_BYTES {
                "…".clone_into(text);
            } else {
                inner.reasons += text.len();
            }
        }
        *inner.skipped.entry(why).or_default() += 1;
    }

    /// Counts a case that cannot be judged because of a finding of another check.
    pub(crate) fn block(&self, by: &'static str, why: impl Into<String>) {
        self.skip(Skip::Blocked { by, why: why.into() });
    }

    /// Counts a case skipped because the runner has nothing to test it with.
    pub(crate) fn skip_without(&self, what: impl Into<String>) {
        self.skip(Skip::NoFixture(what.into()));
    }

    /// Counts a case skipped because the adapter stores too little data.
    pub(crate) fn skip_scarce(&self, what: impl Into<String>) {
        self.skip(Skip::Scarce(what.into()));
    }

    /// Returns the value. On an error, skips the case and returns `None`.
    pub(crate) fn ok_or_skip<T>(&self, found: Result<T, Skip>) -> Option<T> {
        found.map_err(|why| self.skip(why)).ok()
    }

    /// Returns the exchange, or skips the case if the adapter did not reply or its rate limit persists.
    pub(crate) fn if_answered(&self, exchange: Exchange) -> Option<Exchange> {
        // The check `wire.answers` reports each missing reply.
        let lost = exchange.no_response().filter(|_| !exchange.was_too_long());
        let lost = lost.map(|lost| Skip::CutShort(lost.to_string()));
        match lost.or_else(|| Skip::rate_limited(&exchange)) {
            Some(why) => {
                self.skip(why);
                None
            }
            None => Some(exchange),
        }
    }

    /// Returns the elements. Marks the check as not applicable if there are none.
    pub(crate) fn some_or_not_applicable<T>(
        &self,
        found: impl IntoIterator<Item = T>,
        why: impl Into<String>,
    ) -> Vec<T> {
        let found: Vec<T> = found.into_iter().collect();
        if found.is_empty() {
            self.not_applicable(why);
        }
        found
    }

    /// Marks the check as not applicable, because the adapter documents that it lacks the feature. The first reason is
    /// kept.
    pub(crate) fn not_applicable(&self, why: impl Into<String>) {
        let mut why = why.into();
        shorten_message(&mut why, &self.secrets);
        self.lock().not_applicable.get_or_insert(why);
    }

    /// Returns `true` if no case and no reason was collected.
    pub(crate) fn is_empty(&self) -> bool {
        let inner = self.lock();
        let cases = inner.passed + inner.found + inner.skipped.len();
        cases == 0 && inner.not_applicable.is_none()
    }

    /// If the check is not applicable, skips it for this reason instead.
    pub(crate) fn skip_not_applicable(&self, why: Skip) {
        if self.lock().not_applicable.take().is_some() {
            self.skip(why);
        }
    }

    /// If the check is not applicable, blocks it instead: the feature may exist in a part of the adapter that could not
    /// be read.
    pub(crate) fn block_not_applicable(&self, by: &'static str, why: &str) {
        self.skip_not_applicable(Skip::Blocked { by, why: why.to_owned() });
    }

    /// Returns an independent copy. Running checks do not add cases to it.
    pub(crate) fn copy(&self) -> Self {
        let (inner, secrets) = (Mutex::new(self.results()), Arc::clone(&self.secrets));
        Self {
            inner,
            secrets,
            judges_forms: self.judges_forms,
            observes_calls: self.observes_calls,
            hints: self.hints,
        }
    }

    pub(crate) fn results(&self) -> CaseResults {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CaseResults> {
        lock(&self.inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_of_a_rate_limit_are_no_answers() {
        let of_code = |code: &str| {
            let body = serde_json::json!({ "success": false, "error": { "code": code } });
            let reply = call::Reply::Result { raw: body.clone(), body: Some(body) };
            Exchange { tool: String::new(), arguments: serde_json::Value::Null, reply }
        };
        let cases = Cases::default();
        assert!(cases.if_answered(of_code("NOT_FOUND_RESOURCE")).is_some() && cases.is_empty());
        assert!(cases.if_answered(of_code("RATE_LIMIT_EXCEEDED")).is_none());
        assert!(matches!(cases.results().skipped.keys().next(), Some(Skip::CutShort(_))));
    }

    #[test]
    fn shortens_reasons_and_masks_secrets() {
        let cases = Cases::new(Arc::new(Secrets::new(["s3cret".to_owned()])));
        let long = format!("{}s3cret{}: give one", "a".repeat(1_897), "b".repeat(20_000));
        cases.skip_without(long);
        let reason = cases.results().skipped.keys().next().map(Skip::reason).unwrap_or_default();
        assert!(reason.contains("a***") && !reason.contains("s3"), "{reason}");
        assert!(reason.len() < 3_000 && reason.ends_with("b: give one"), "{reason}");
        for number in 0..10_000 {
            cases.skip_scarce(format!("number {number} of many similar ones"));
        }
        let kept: usize = cases.results().skipped.keys().map(|skip| skip.reason().len()).sum();
        assert!(kept < 2 * MAX_REASON_BYTES, "{kept}");
        assert_eq!(cases.results().skipped.values().sum::<usize>(), 10_001);
    }
}
