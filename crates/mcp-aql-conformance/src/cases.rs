//! The results of a check: passed cases, findings, and skipped cases with their reasons.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::Exchange;
use crate::category::Category;
use crate::secrets::Secrets;
use crate::sync::lock;

/// The maximum number of findings that one check keeps; all are counted.
const MAX_FINDINGS: usize = 10;

/// The maximum length of a reported text, in bytes.
const MAX_TEXT_BYTES: usize = 500;
/// The maximum length of the runner's own messages, in bytes. They may quote many short texts.
const MAX_MESSAGE_BYTES: usize = 10_000;
/// The maximum number of reported elements of a list or an object.
const MAX_ELEMENTS: usize = 100;
/// The maximum total length of one check's skip reasons, in bytes.
const MAX_REASON_BYTES: usize = 64 << 10;

/// A violation of a requirement. [`Report::checks`](crate::Report::checks) lists all findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The mode in which it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The operation, parameter, type or tool.
    pub subject: String,
    /// The request that was sent, if any.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub sent: Value,
    /// The reply, or the value that introspection shows.
    pub received: Value,
    /// The expected reply or value.
    pub expected: String,
    /// A suggestion for the adapter's author.
    pub mend: String,
}

impl Finding {
    /// Creates a finding about something that introspection or the list of tools shows.
    pub(crate) fn shown(
        subject: impl Into<String>,
        received: impl Into<Value>,
        expected: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self {
            mode: None,
            subject: subject.into(),
            sent: Value::Null,
            received: received.into(),
            expected: expected.into(),
            mend: mend.into(),
        }
    }

    /// Creates a finding about a call.
    pub(crate) fn of(
        exchange: &Exchange,
        subject: impl Into<String>,
        expected: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self { sent: exchange.sent(), ..Self::shown(subject, exchange.received(), expected, mend) }
    }

    /// Masks the secrets in all texts.
    pub(crate) fn mask(&mut self, secrets: &Secrets) {
        for text in [&mut self.subject, &mut self.expected, &mut self.mend] {
            secrets.mask(text);
        }
        secrets.mask_value(&mut self.sent);
        secrets.mask_value(&mut self.received);
    }

    /// Shortens all texts and values to the reported length.
    fn abridge(&mut self) {
        abridge(&mut self.sent);
        abridge(&mut self.received);
        for text in [&mut self.subject, &mut self.expected, &mut self.mend] {
            shorten(text, MAX_MESSAGE_BYTES);
        }
    }
}

/// Shortens a text of more than `longest` bytes to its beginning and its length.
pub(crate) fn shorten(text: &mut String, longest: usize) {
    let bytes = text.len();
    if bytes > longest {
        let mut start: String = text.chars().take(longest / 5).collect();
        start.push_str(&format!("… ({bytes} bytes)"));
        *text = start;
    }
}

/// Masks the secrets in one of the runner's own messages and cuts its middle out if it is too long. The end
/// stays because it may hold the suggestion.
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

/// Shortens long texts, lists and objects. Checks of limits send very long ones.
fn abridge(value: &mut Value) {
    match value {
        Value::String(text) => shorten(text, MAX_TEXT_BYTES),
        Value::Array(items) => {
            let more = items.len().saturating_sub(MAX_ELEMENTS);
            if more > 0 {
                items.truncate(MAX_ELEMENTS / 5);
                let more = more + MAX_ELEMENTS - items.len();
                items.push(Value::String(format!("… ({more} more)")));
            }
            items.iter_mut().for_each(abridge);
        }
        Value::Object(members) => {
            let is_endless = members.len() > MAX_ELEMENTS;
            if is_endless || members.keys().any(|name| name.len() > MAX_TEXT_BYTES) {
                let kept = if is_endless { MAX_ELEMENTS / 5 } else { MAX_ELEMENTS };
                let more = members.len().saturating_sub(kept);
                let first = std::mem::take(members).into_iter().take(kept);
                members.extend(first.map(|(mut name, member)| {
                    shorten(&mut name, MAX_TEXT_BYTES);
                    (name, member)
                }));
                if more > 0 {
                    members.insert("…".to_owned(), Value::String(format!("({more} more)")));
                }
            }
            members.values_mut().for_each(abridge);
        }
        _ => {}
    }
}

/// The reason why a case was skipped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub(crate) enum Skip {
    /// The run may not call operations of this category.
    NotAllowed(Category),
    /// The runner has no value to test with. The text names the setting that could provide one.
    NoFixture(String),
    /// The adapter stores too little data. The text names the missing data. Another operation with enough
    /// data makes up for it.
    Scarce(String),
    /// The operation would act on data that the run did not create. The text is the name of the operation.
    NotOurs(String),
    /// The operation may only be called with the configured parameters because the runner does not know which
    /// data other parameters affect. The text is the name of the operation.
    Unsafe(String),
    /// The configuration excludes the case.
    LeftOut(String),
    /// The adapter stopped answering, or the time limit was reached.
    CutShort(String),
    /// The case could not be judged because of a finding of another check.
    Blocked {
        /// The id of the check with the finding.
        by: &'static str,
        /// What could not be read.
        why: String,
    },
}

impl Skip {
    /// The reason to skip the case if the adapter's rate limit rejected the call.
    pub(crate) fn rate_limited(exchange: &Exchange) -> Option<Self> {
        let code = exchange.rate_limit_code()?;
        let why = format!("the adapter answers {code}: raise its limits for the run");
        Some(Self::CutShort(why))
    }

    /// The text of the reason.
    fn text(&mut self) -> Option<&mut String> {
        match self {
            Self::NotAllowed(_) => None,
            Self::NoFixture(text)
            | Self::Scarce(text)
            | Self::NotOurs(text)
            | Self::LeftOut(text)
            | Self::CutShort(text)
            | Self::Blocked { why: text, .. }
            | Self::Unsafe(text) => Some(text),
        }
    }

    /// The reason as a short message.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::NotAllowed(category) => {
                format!("{category} operations were not allowed: --allow {}", category.family())
            }
            Self::NoFixture(what) => format!("nothing to test it with: {what}"),
            Self::Scarce(what) => format!("too little to test it with: {what}"),
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

/// The cases of one check in one mode, collected while it runs.
#[derive(Debug, Default)]
pub(crate) struct Cases {
    inner: Mutex<CaseResults>,
    secrets: Arc<Secrets>,
}

/// The collected results.
#[derive(Debug, Default, Clone)]
pub(crate) struct CaseResults {
    pub(crate) passed: usize,
    pub(crate) findings: Vec<Finding>,
    /// The number of findings, including those beyond `MAX_FINDINGS`.
    pub(crate) found: usize,
    pub(crate) skipped: BTreeMap<Skip, usize>,
    /// The total length of the reasons, in bytes.
    reasons: usize,
    pub(crate) not_applicable: Option<String>,
}

impl Cases {
    /// Creates an empty collection that masks these secrets in findings.
    pub(crate) fn new(secrets: Arc<Secrets>) -> Self {
        Self { inner: Mutex::default(), secrets }
    }

    /// Counts a case that passed.
    pub(crate) fn pass(&self) {
        self.lock().passed += 1;
    }

    /// Adds a finding.
    pub(crate) fn fail(&self, mut finding: Finding) {
        let mut inner = self.lock();
        inner.found += 1;
        if inner.findings.len() < MAX_FINDINGS {
            // Mask before cutting: half a secret would not be recognized.
            finding.mask(&self.secrets);
            finding.abridge();
            inner.findings.push(finding);
        }
    }

    /// Counts a passed case if the condition holds and adds the finding otherwise.
    pub(crate) fn expect(&self, holds: bool, finding: impl FnOnce() -> Finding) -> bool {
        if holds {
            self.pass();
        } else {
            self.fail(finding());
        }
        holds
    }

    /// Counts a skipped case and its reason.
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

    /// Counts a case that could not be judged because of a finding of another check.
    pub(crate) fn block(&self, by: &'static str, why: impl Into<String>) {
        self.skip(Skip::Blocked { by, why: why.into() });
    }

    /// Counts a case that was skipped because the runner has nothing to test it with.
    pub(crate) fn skip_without(&self, what: impl Into<String>) {
        self.skip(Skip::NoFixture(what.into()));
    }

    /// Counts a case that was skipped because the adapter stores too little data.
    pub(crate) fn skip_scarce(&self, what: impl Into<String>) {
        self.skip(Skip::Scarce(what.into()));
    }

    /// Returns the value, or skips the case and returns `None`.
    pub(crate) fn ok_or_skip<T>(&self, found: Result<T, Skip>) -> Option<T> {
        found.map_err(|why| self.skip(why)).ok()
    }

    /// Returns the elements. If there are none, marks the check as not applicable.
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

    /// Marks the check as not applicable: the adapter documents that it does not have the feature.
    /// The first reason is kept.
    pub(crate) fn not_applicable(&self, why: impl Into<String>) {
        let mut why = why.into();
        shorten_message(&mut why, &self.secrets);
        self.lock().not_applicable.get_or_insert(why);
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
    use serde_json::json;

    use super::*;

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

    #[test]
    fn shortens_long_values_of_findings() {
        let mut value = json!({ "text": "é".repeat(400), "list": vec![7; 101], "short": ["a"] });
        abridge(&mut value);
        assert_eq!(value["text"], format!("{}… (800 bytes)", "é".repeat(100)));
        assert_eq!(value["list"].as_array().map(Vec::len), Some(21));
        assert_eq!(value["list"][20], "… (81 more)");
        assert_eq!(value["short"], json!(["a"]));
        let mut value: Value = (0..101).map(|number| (number.to_string(), number)).collect();
        abridge(&mut value);
        assert_eq!(value.as_object().map(serde_json::Map::len), Some(21));
        assert_eq!(value["…"], "(81 more)");
        let mut value = json!({ "x".repeat(501): 1 });
        abridge(&mut value);
        assert_eq!(value, json!({ format!("{}… (501 bytes)", "x".repeat(100)): 1 }));
    }
}
