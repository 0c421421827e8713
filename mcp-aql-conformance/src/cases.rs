//! What a check found: cases that passed, findings, and what was left out and why.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::Exchange;
use crate::learn::Category;
use crate::secrets::Secrets;

/// So many findings of one check are told; all are counted.
const MOST_FINDINGS: usize = 10;

/// So much of a text is told,
const LONGEST_TEXT: usize = 500;
/// so much of our own, which may quote what is short in itself and much together,
const LONGEST_SENTENCE: usize = 10_000;
/// and so many elements of a list.
const MOST_ELEMENTS: usize = 100;
/// So much is kept of why cases of one check were left out.
const MOST_REASONS: usize = 64 << 10;

/// Something that is not as it should be: [`Report::checks`](crate::Report::checks) has them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The mode in which it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The operation, parameter, type or tool.
    pub subject: String,
    /// What was sent, if anything.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub sent: Value,
    /// What came back, or what is there.
    pub received: Value,
    /// What should have been.
    pub expected: String,
    /// What to do about it.
    pub mend: String,
}

impl Finding {
    /// Of something that introspection or the list of tools shows.
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

    /// Of a call.
    pub(crate) fn of(
        exchange: &Exchange,
        subject: impl Into<String>,
        expected: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self { sent: exchange.sent(), ..Self::shown(subject, exchange.received(), expected, mend) }
    }

    /// Without what nobody may see.
    pub(crate) fn mask(&mut self, secrets: &Secrets) {
        for text in [&mut self.subject, &mut self.expected, &mut self.mend] {
            secrets.mask(text);
        }
        secrets.mask_value(&mut self.sent);
        secrets.mask_value(&mut self.received);
    }

    /// Without what nobody would read.
    fn abridge(&mut self) {
        abridge(&mut self.sent);
        abridge(&mut self.received);
        for text in [&mut self.subject, &mut self.expected, &mut self.mend] {
            shorten(text, LONGEST_SENTENCE);
        }
    }
}

/// Keeps the beginning of a text that is longer than this.
pub(crate) fn shorten(text: &mut String, longest: usize) {
    let bytes = text.len();
    if bytes > longest {
        let mut start: String = text.chars().take(longest / 5).collect();
        start.push_str(&format!("… ({bytes} bytes)"));
        *text = start;
    }
}

/// The same of one of our sentences that quotes what it was told, without what nobody may see. Its end may
/// say what to do, and is kept.
pub(crate) fn brief(text: &mut String, secrets: &Secrets) {
    if text.len() <= LONGEST_SENTENCE {
        return;
    }
    // First: what is cut off in the middle would not be known again.
    secrets.mask(text);
    let mut end = text.len().saturating_sub(LONGEST_TEXT);
    while !text.is_char_boundary(end) {
        end += 1;
    }
    let end = text.get(end..).unwrap_or_default().to_owned();
    shorten(text, LONGEST_SENTENCE - LONGEST_TEXT);
    text.push_str(" … ");
    text.push_str(&end);
}

/// Leaves out of a value what nobody would read: what tests limits is as long as these.
fn abridge(value: &mut Value) {
    match value {
        Value::String(text) => shorten(text, LONGEST_TEXT),
        Value::Array(items) => {
            let more = items.len().saturating_sub(MOST_ELEMENTS);
            if more > 0 {
                items.truncate(MOST_ELEMENTS / 5);
                let more = more + MOST_ELEMENTS - items.len();
                items.push(Value::String(format!("… ({more} more)")));
            }
            items.iter_mut().for_each(abridge);
        }
        Value::Object(members) => {
            let is_endless = members.len() > MOST_ELEMENTS;
            if is_endless || members.keys().any(|name| name.len() > LONGEST_TEXT) {
                let kept = if is_endless { MOST_ELEMENTS / 5 } else { MOST_ELEMENTS };
                let more = members.len().saturating_sub(kept);
                let first = std::mem::take(members).into_iter().take(kept);
                members.extend(first.map(|(mut name, member)| {
                    shorten(&mut name, LONGEST_TEXT);
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

/// Why a case was left out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub(crate) enum Skip {
    /// Changes of this kind were not allowed.
    NotAllowed(Category),
    /// Nothing is known to test it with; the text says what the configuration file could give.
    NoFixture(String),
    /// The adapter holds too little for it; the text says of what. Where it holds enough elsewhere, that does.
    Scarce(String),
    /// What it acts on would not be the run's own: the text names the operation.
    NotOurs(String),
    /// It may be called as the configuration says and not otherwise, for nothing in it says what it would
    /// act on: the text names the operation.
    Unsafe(String),
    /// The author of the configuration left it out.
    LeftOut(String),
    /// The adapter no longer answers, or time was over.
    CutShort(String),
}

impl Skip {
    /// What it says beside the kind of reason.
    fn text(&mut self) -> Option<&mut String> {
        match self {
            Self::NotAllowed(_) => None,
            Self::NoFixture(text)
            | Self::Scarce(text)
            | Self::NotOurs(text)
            | Self::LeftOut(text)
            | Self::CutShort(text)
            | Self::Unsafe(text) => Some(text),
        }
    }

    /// In a few words.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::NotAllowed(category) => {
                format!("{category} operations were not allowed: --allow {}", category.family())
            }
            Self::NoFixture(what) => format!("nothing to test it with: {what}"),
            Self::Scarce(what) => format!("too little to test it with: {what}"),
            Self::NotOurs(operation) => format!(
                "`{operation}` acts on what the run has not made: name what it may act on under \
                 [params.{operation}]"
            ),
            Self::Unsafe(operation) => format!(
                "`{operation}` is called just as [params.{operation}] says: should it not refuse another \
                 call, nobody knows what that would hit"
            ),
            Self::LeftOut(why) => format!("left out by the configuration: {why}"),
            Self::CutShort(why) => format!("cut short: {why}"),
        }
    }
}

/// The cases of one check in one mode, collected while it runs.
#[derive(Debug, Default)]
pub(crate) struct Cases {
    inner: Mutex<Collected>,
    secrets: Arc<Secrets>,
}

/// What was collected.
#[derive(Debug, Default, Clone)]
pub(crate) struct Collected {
    pub(crate) passed: usize,
    pub(crate) findings: Vec<Finding>,
    /// How many findings there are; of them, the first are kept.
    pub(crate) found: usize,
    pub(crate) skipped: BTreeMap<Skip, usize>,
    /// How long the reasons are.
    reasons: usize,
    pub(crate) not_applicable: Option<String>,
}

impl Cases {
    /// Cases whose findings are told without these.
    pub(crate) fn new(secrets: Arc<Secrets>) -> Self {
        Self { inner: Mutex::default(), secrets }
    }

    /// A case is as it should be.
    pub(crate) fn pass(&self) {
        self.lock().passed += 1;
    }

    /// A case is not.
    pub(crate) fn fail(&self, mut finding: Finding) {
        let mut inner = self.lock();
        inner.found += 1;
        if inner.findings.len() < MOST_FINDINGS {
            // First: what is cut off in the middle would not be known again.
            finding.mask(&self.secrets);
            finding.abridge();
            inner.findings.push(finding);
        }
    }

    /// A case is as it should be, or else this is found.
    pub(crate) fn expect(&self, holds: bool, finding: impl FnOnce() -> Finding) -> bool {
        if holds {
            self.pass();
        } else {
            self.fail(finding());
        }
        holds
    }

    /// A case could not be tested.
    pub(crate) fn skip(&self, mut why: Skip) {
        let mut inner = self.lock();
        if let Some(text) = why.text() {
            brief(text, &self.secrets);
        }
        if !inner.skipped.contains_key(&why)
            && let Some(text) = why.text()
        {
            if inner.reasons + text.len() > MOST_REASONS {
                "…".clone_into(text);
            } else {
                inner.reasons += text.len();
            }
        }
        *inner.skipped.entry(why).or_default() += 1;
    }

    /// Returns the value, or skips the case if it could not be found.
    pub(crate) fn ok_or_skip<T>(&self, found: Result<T, Skip>) -> Option<T> {
        found.map_err(|why| self.skip(why)).ok()
    }

    /// Nothing here is what the check is about, and that is certain: the adapter documents that it does
    /// not have the feature.
    pub(crate) fn not_applicable(&self, why: impl Into<String>) {
        let mut why = why.into();
        brief(&mut why, &self.secrets);
        self.lock().not_applicable.get_or_insert(why);
    }

    pub(crate) fn collected(&self) -> Collected {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Collected> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reasons_are_short_and_tell_no_secret() {
        let cases = Cases::new(Arc::new(Secrets::new(["s3cret".to_owned()])));
        let long = format!("{}s3cret{}: give one", "a".repeat(1_897), "b".repeat(20_000));
        cases.skip(Skip::NoFixture(long));
        let reason = cases.collected().skipped.keys().next().map(Skip::reason).unwrap_or_default();
        assert!(reason.contains("a***") && !reason.contains("s3"), "{reason}");
        assert!(reason.len() < 3_000 && reason.ends_with("b: give one"), "{reason}");
        for number in 0..10_000 {
            cases.skip(Skip::Scarce(format!("number {number} of many that are alike")));
        }
        let kept: usize = cases.collected().skipped.keys().map(|skip| skip.reason().len()).sum();
        assert!(kept < 2 * MOST_REASONS, "{kept}");
        assert_eq!(cases.collected().skipped.values().sum::<usize>(), 10_001);
    }

    #[test]
    fn findings_tell_the_beginning_of_what_is_long() {
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
