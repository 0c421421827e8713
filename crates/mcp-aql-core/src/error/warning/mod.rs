//! Warnings in successful replies.

mod deprecation;

use std::borrow::Cow;
use std::fmt;

use chrono::NaiveDate;
use serde::Serialize;
use serde_json::{Map, Value};

pub use deprecation::Deprecation;

/// A condition that did not stop the operation but may concern the caller. Add it to a reply with
/// [`Context::warn`](crate::Context::warn).
///
/// ```
/// use mcp_aql::{Severity, Warning};
///
/// let warning = Warning::new("PERFORMANCE_SLOW_QUERY_WARNING", "The query was slow")
///     .severity(Severity::Low)
///     .detail("duration_ms", 1200);
/// assert_eq!(warning.code(), "PERFORMANCE_SLOW_QUERY_WARNING");
/// ```
///
/// Source: features/warnings §3 (REQ-WRN-01, REQ-WRN-02).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Warning {
    code: Cow<'static, str>,
    message: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<Severity>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    details: Map<String, Value>,
}

/// A warning only known after the reply was written, for example about paths that no row has.
pub trait LateWarning: fmt::Debug + Send + Sync {
    /// Returns the warning, or `None` if the reply gives no reason for one.
    fn warning(&self) -> Option<Warning>;

    /// Returns `true` if writing the reply can still cause the warning. A reply without warnings is written faster.
    fn is_possible(&self) -> bool {
        true
    }
}

/// The severity of a warning. Severer values compare as smaller, so that sorting puts them first (REQ-WRN-04).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Requires attention now.
    High,
    /// Should be examined. This is the default.
    Medium,
    /// For information.
    Low,
}

impl Warning {
    /// Creates a warning with a code and a message.
    ///
    /// Write the code in upper snake case. It should start with `RATE_LIMIT_`, `DEPRECATION_`, `VALIDATION_` or
    /// `PERFORMANCE_` if one of these fits (REQ-WRN-05). A code in another form is converted, so that the reply stays
    /// valid.
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<Cow<'static, str>>) -> Self {
        let mut code = code.into();
        if !is_code(&code) {
            code = to_code(&code).into();
        }
        Self { code, message: message.into(), severity: None, details: Map::new() }
    }

    /// Sets the urgency. If you leave it out, the warning is sorted like one of medium urgency.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = Some(severity);
        self
    }

    /// Adds a structured detail.
    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Creates a warning that a result was cut to `kept` of `found` entries (REQ-WRN-08).
    pub fn truncated(field: &str, found: usize, kept: usize, limit: usize) -> Self {
        let severity = if found.saturating_sub(kept).saturating_mul(2) > found {
            Severity::Medium
        } else {
            Severity::Low
        };
        Self::new(
            "VALIDATION_TRUNCATED_WARNING",
            format!("'{field}' was cut to '{kept}' of '{found}' entries"),
        )
        .severity(severity)
        .detail("field", field)
        .detail("original_count", found)
        .detail("truncated_count", kept)
        .detail("limit", limit)
    }

    /// Creates a warning that an operation took longer than expected (REQ-WRN-09).
    pub fn slow(operation: &str, duration_ms: u64, threshold_ms: u64) -> Self {
        let severity = match duration_ms {
            duration if duration > threshold_ms.saturating_mul(10) => Severity::High,
            duration if duration >= threshold_ms.saturating_mul(2) => Severity::Medium,
            _ => Severity::Low,
        };
        Self::new(
            "PERFORMANCE_SLOW_QUERY_WARNING",
            format!(
                "Operation '{operation}' took '{duration_ms}' ms, more than the threshold of '{threshold_ms}' ms"
            ),
        )
        .severity(severity)
        .detail("operation", operation)
        .detail("duration_ms", duration_ms)
        .detail("threshold_ms", threshold_ms)
    }

    /// Creates a warning that a result exceeds the result budget. Use it for results other than a page that could be
    /// shortened. `reductions` are the ways to request a smaller result.
    pub(crate) fn large_result(
        bytes: usize,
        budget: usize,
        reductions: Option<String>,
        fitting_page_size: Option<usize>,
    ) -> Self {
        let advice = match (fitting_page_size, reductions) {
            (Some(size), _) => format!("; ask for pages of '{size}' entries or fewer"),
            (None, Some(reductions)) => format!("; ask for {reductions}"),
            (None, None) => String::new(),
        };
        let warning = Self::new(
            "PERFORMANCE_LARGE_RESULT_WARNING",
            format!(
                "The result has '{bytes}' bytes, but clients may cut it after '{budget}' bytes{advice}"
            ),
        )
        .severity(Severity::Low)
        .detail("result_bytes", bytes)
        .detail("result_budget", budget);
        match fitting_page_size {
            Some(size) => warning.detail("fitting_page_size", size),
            None => warning,
        }
    }

    /// Creates a warning about the use of something deprecated (REQ-WRN-07). `kind` is `operation`, `parameter` or
    /// `feature`.
    ///
    /// ```json
    /// {
    ///   "code": "DEPRECATION_WARNING", "severity": "low",
    ///   "message": "Operation 'get_tasks' is deprecated; use 'list_tasks' instead",
    ///   "details": { "type": "operation", "deprecated_item": "get_tasks", "replacement": "list_tasks" }
    /// }
    /// ```
    pub(crate) fn deprecated(
        kind: &str,
        item: &str,
        deprecation: &Deprecation,
        today: NaiveDate,
    ) -> Self {
        let removal = deprecation.removal_date.and_then(|date| date.parse::<NaiveDate>().ok());
        let severity = match removal {
            Some(date) if (date - today).num_days() <= 30 => Severity::High,
            Some(_) => Severity::Medium,
            None => Severity::Low,
        };
        let (first, rest) = kind.split_at_checked(1).unwrap_or((kind, ""));
        let mut message = format!("{}{rest} '{item}' is deprecated", first.to_ascii_uppercase());
        if let Some(replacement) = deprecation.replacement {
            message.push_str(&format!("; use '{replacement}' instead"));
        }
        let mut warning = Self::new("DEPRECATION_WARNING", message)
            .severity(severity)
            .detail("type", kind)
            .detail("deprecated_item", item);
        if let Some(replacement) = deprecation.replacement {
            warning = warning.detail("replacement", replacement);
        }
        if let Some(date) = deprecation.removal_date {
            warning = warning.detail("removal_date", date);
        }
        warning
    }

    fn urgency(&self) -> Severity {
        self.severity.unwrap_or(Severity::Medium)
    }

    /// Returns the code of the warning.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Returns the message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the structured details.
    pub fn details(&self) -> &Map<String, Value> {
        &self.details
    }
}

fn is_code(code: &str) -> bool {
    code.starts_with(|first: char| first.is_ascii_uppercase())
        && code
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

fn to_code(code: &str) -> String {
    let text: String = code
        .chars()
        .map(|each| if each.is_ascii_alphanumeric() { each.to_ascii_uppercase() } else { '_' })
        .collect();
    if is_code(&text) { text } else { format!("WARNING_{text}") }
}

/// The warnings of one reply.
#[derive(Debug, Clone, Default)]
pub struct Warnings(Vec<(Warning, u64)>);

/// Maximum number of warnings in a reply (REQ-WRN-10).
const MAX_WARNINGS: usize = 10;
/// Maximum number of stored warnings. The limit prevents a loop from filling the memory.
const MAX_STORED: usize = 200;

impl Warnings {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn push(&mut self, warning: Warning) {
        self.add(warning, 1);
    }

    pub(crate) fn extend(&mut self, other: Self) {
        for (warning, count) in other.0 {
            self.add(warning, count);
        }
    }

    fn add(&mut self, warning: Warning, count: u64) {
        if let Some((_, known)) = self.0.iter_mut().find(|(known, _)| *known == warning) {
            *known = known.saturating_add(count);
        } else if self.0.len() < MAX_STORED {
            self.0.push((warning, count));
        } else if let Some(least) = self.0.iter_mut().max_by_key(|(known, _)| known.urgency())
            && warning.urgency() < least.0.urgency()
        {
            *least = (warning, count);
        }
    }

    /// Returns the number of bytes that the warnings take in the reply.
    pub(crate) fn reply_bytes(self) -> usize {
        let shown = self.into_vec();
        if shown.is_empty() {
            return 0;
        }
        r#","warnings":"#.len() + serde_json::to_string(&shown).map_or(0, |text| text.len())
    }

    /// Returns the warnings for the reply. At most ten are returned, the most urgent first, and otherwise in the
    /// order of addition. If there are more, the last one states how many were left out.
    pub fn into_vec(mut self) -> Vec<Warning> {
        if self.is_empty() {
            return Vec::new();
        }
        self.0.sort_by_key(|(warning, _)| warning.urgency());
        let found = self.0.len();
        let mut warnings: Vec<_> = self
            .0
            .into_iter()
            .take(if found > MAX_WARNINGS { MAX_WARNINGS - 1 } else { MAX_WARNINGS })
            .map(
                |(warning, count)| {
                    if count > 1 { warning.detail("occurrence_count", count) } else { warning }
                },
            )
            .collect();
        if found > MAX_WARNINGS {
            warnings.push(Warning::truncated("warnings", found, MAX_WARNINGS - 1, MAX_WARNINGS));
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(warnings: Warnings) -> Vec<String> {
        warnings.into_vec().into_iter().map(|warning| warning.message.into_owned()).collect()
    }

    #[test]
    fn the_most_urgent_come_first_and_equals_become_one() {
        // REQ-WRN-04, REQ-WRN-11
        let mut warnings = Warnings::default();
        warnings.push(Warning::new("VALIDATION_A", "low").severity(Severity::Low));
        warnings.push(Warning::new("VALIDATION_A", "none"));
        warnings.push(Warning::new("VALIDATION_A", "high").severity(Severity::High));
        warnings.push(Warning::new("VALIDATION_A", "none"));
        let warnings = warnings.into_vec();
        let messages: Vec<_> = warnings.iter().map(Warning::message).collect();
        assert_eq!(messages, ["high", "none", "low"]);
        assert_eq!(warnings[1].details()["occurrence_count"], 2);
    }

    #[test]
    fn ten_warnings_are_the_most_and_the_cut_is_told() {
        // REQ-WRN-10
        let mut warnings = Warnings::default();
        for index in 0..25 {
            warnings.push(Warning::new("VALIDATION_A", index.to_string()));
        }
        let shown = shown(warnings);
        assert_eq!(shown.len(), 10);
        assert_eq!(shown[9], "'warnings' was cut to '9' of '25' entries");
    }

    #[test]
    fn deprecation_grows_urgent_as_the_date_comes_near() {
        // REQ-WRN-07
        let today: NaiveDate = "2031-05-06".parse().unwrap();
        for (date, severity) in [
            (None, Severity::Low),
            (Some("2031-12-31"), Severity::Medium),
            (Some("2031-06-05"), Severity::High),
            (Some("2031-06-06"), Severity::Medium),
            (Some("2030-01-01"), Severity::High),
        ] {
            let deprecation = Deprecation { removal_date: date, ..Deprecation::new() };
            let warning = Warning::deprecated("operation", "add_task", &deprecation, today);
            assert_eq!(warning.severity, Some(severity), "{date:?}");
        }
    }

    #[test]
    fn truncation_and_slowness_grade_themselves() {
        // REQ-WRN-08, REQ-WRN-09
        assert_eq!(Warning::truncated("items", 10, 4, 4).severity, Some(Severity::Medium));
        assert_eq!(Warning::truncated("items", 10, 5, 5).severity, Some(Severity::Low));
        assert_eq!(Warning::slow("list_tasks", 1_001, 100).severity, Some(Severity::High));
        assert_eq!(Warning::slow("list_tasks", 200, 100).severity, Some(Severity::Medium));
        assert_eq!(Warning::slow("list_tasks", 150, 100).severity, Some(Severity::Low));
    }

    #[test]
    fn codes_are_always_valid() {
        // REQ-WRN-02
        assert_eq!(Warning::new("slow query", "").code(), "SLOW_QUERY");
        assert_eq!(Warning::new("1st", "").code(), "WARNING_1ST");
    }
}
