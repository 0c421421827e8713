//! The options that an attribute accepts, and suggestions for others.

/// The options that an attribute accepts.
pub(crate) struct Grammar {
    /// The attribute's name, for messages.
    pub(crate) attribute: &'static str,
    /// The names of the accepted options.
    pub(crate) known: &'static [&'static str],
    /// The options that may be repeated.
    pub(crate) repeatable: &'static [&'static str],
    /// If `true`, the attribute is meaningful without options.
    pub(crate) bare: bool,
    /// The option that a string literal without a name represents.
    pub(crate) text: Option<&'static str>,
    /// Returns a suggestion for an unknown option if the nearest name would mislead.
    pub(crate) hint: fn(&str) -> Option<Hint>,
}

impl Grammar {
    /// A grammar without options. The nearest name is enough as a hint.
    pub(crate) const EMPTY: Self = Self {
        attribute: "",
        known: &[],
        repeatable: &[],
        bare: false,
        text: None,
        hint: |_| None,
    };
}

/// A suggestion for an unknown option.
pub(crate) struct Hint {
    /// The code to write instead.
    pub(crate) remedy: String,
    /// The attribute to which the option belongs, if it exists elsewhere.
    pub(crate) place: Option<&'static str>,
    /// The option that was probably meant. It is then not reported as missing.
    pub(crate) meant: Option<&'static str>,
}

impl Hint {
    pub(crate) fn new(remedy: impl Into<String>) -> Option<Self> {
        Some(Self { remedy: remedy.into(), place: None, meant: None })
    }

    /// Returns a hint that names the attribute to which the option belongs.
    pub(crate) fn belongs(place: &'static str, remedy: impl Into<String>) -> Option<Self> {
        Some(Self { remedy: remedy.into(), place: Some(place), meant: None })
    }
}
