//! The notice that an operation or a parameter is deprecated.

/// Notice that an operation or a parameter will go away. Every use of it adds a
/// `DEPRECATION_WARNING` to the reply (REQ-WRN-07, REQ-INT-32).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Deprecation {
    /// What to use instead.
    pub replacement: Option<&'static str>,
    /// When it goes away, `2031-05-06`.
    pub removal_date: Option<&'static str>,
}

impl Deprecation {
    /// A notice without replacement and date.
    pub const fn new() -> Self {
        Self { replacement: None, removal_date: None }
    }

    /// Names what to use instead.
    #[must_use]
    pub const fn replacement(mut self, name: &'static str) -> Self {
        self.replacement = Some(name);
        self
    }

    /// Says when it goes away, as `YYYY-MM-DD`.
    #[must_use]
    pub const fn removal_date(mut self, date: &'static str) -> Self {
        self.removal_date = Some(date);
        self
    }

    /// The sentence that introspection appends to the description.
    pub(crate) fn notice(&self) -> String {
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
