//! The deprecation of operations and parameters.

/// The deprecation of an operation or a parameter. Every use adds a `DEPRECATION_WARNING` to the reply (REQ-WRN-07,
/// REQ-INT-32).
///
/// ```
/// use mcp_aql::table::Deprecation;
///
/// const DEPRECATED: Deprecation =
///     Deprecation::new().replacement("list_tasks").removal_date("2031-05-06");
/// assert_eq!(DEPRECATED.replacement, Some("list_tasks"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Deprecation {
    /// Replacement.
    pub replacement: Option<&'static str>,
    /// Date of the removal: `2031-05-06`.
    pub removal_date: Option<&'static str>,
}

impl Deprecation {
    /// Creates a deprecation without a replacement and a date.
    pub const fn new() -> Self {
        Self { replacement: None, removal_date: None }
    }

    /// Sets the name of the replacement.
    #[must_use]
    pub const fn replacement(mut self, name: &'static str) -> Self {
        self.replacement = Some(name);
        self
    }

    /// Sets the date of the removal as `YYYY-MM-DD`. Set it as soon as you know it: the warning becomes more urgent 30
    /// days before.
    #[must_use]
    pub const fn removal_date(mut self, date: &'static str) -> Self {
        self.removal_date = Some(date);
        self
    }

    /// Returns the sentence that introspection appends to the description.
    #[doc(hidden)]
    pub fn notice(&self) -> String {
        let mut notice = String::from("Deprecated");
        if let Some(date) = self.removal_date {
            notice.push_str(", to be removed on ");
            notice.push_str(date);
        }
        if let Some(replacement) = self.replacement {
            notice.push_str(": use '");
            notice.push_str(replacement);
            notice.push_str("' instead");
        }
        notice.push('.');
        notice
    }
}
