//! The violations found in a value, with their paths.

use std::fmt;

use serde_json::Value;

use super::{Shape, Shapes};
use crate::text::shorten;

/// A violation in a value, and its path.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Dotted path inside the parameter: `metadata.owner`, `tags[2]`.
    pub path: String,
    pub(crate) kind: FaultKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FaultKind {
    /// The JSON type is wrong. The hint describes what to send instead.
    Type { expected: String, actual: &'static str, hint: Option<String> },
    /// A nested object lacks a required field.
    Missing { expected: String },
    /// An object has no such field.
    Unknown { name: String, valid: Vec<String>, hint: Hint },
    /// Only the adapter may set the field.
    ReadOnly,
    /// The value violates a constraint. The string completes the sentence "Parameter 'x' …".
    Value { expectation: String },
}

impl FaultKind {
    /// Creates the violation for an unknown field. `near` is the probably intended field.
    pub(super) fn unknown(name: &str, valid: Vec<String>, near: Option<&str>) -> Self {
        let hint = near.map_or(Hint::None, |near| Hint::Name(near.to_owned()));
        Self::Unknown { name: name.to_owned(), valid, hint }
    }
}

/// The probable intention of a caller who sends an unknown name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Hint {
    None,
    /// Another field.
    Name(String),
    /// An identifier. It belongs next to `input`, not inside it.
    Identifier,
    /// A field of an object further inside. The string is the path to that object, for example `address` or
    /// `items[]`.
    Inside(String),
    /// The surrounding object, because the value has its fields.
    Around,
    /// The path of a field, for example `address.city`, as a list of its parts.
    Path(Vec<String>),
}

/// The path from a parameter to a value inside it. It borrows its parts, and is only formatted if a violation is
/// found.
#[derive(Clone, Copy)]
pub enum Path<'a> {
    /// A parameter.
    Root(&'a str),
    /// A field of the value at a path.
    Field(&'a Path<'a>, &'a str),
    /// An item of the list at a path.
    Item(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(name) => formatter.write_str(&shorten(name)),
            Self::Field(parent, name) => write!(formatter, "{parent}.{}", shorten(name)),
            Self::Item(parent, index) => write!(formatter, "{parent}[{index}]"),
        }
    }
}

/// The violations in a value. Their number is limited, and so is the number of steps to find them.
///
/// A union tries its variants in order, so a recursive union can take exponentially many steps for a small value. The
/// limit is far above the steps of other requests.
#[derive(Debug)]
pub struct Faults {
    list: Vec<Fault>,
    steps: u32,
    /// While a variant of a union is tried, contains `true` as long as the variant fits. Violations are not stored
    /// meanwhile.
    trial: Option<bool>,
}

/// Maximum number of reported violations.
const MAX_FAULTS: usize = 20;
const MAX_STEPS: u32 = 4_000_000;
/// Maximum number of steps to find a hint for one violation.
const MAX_HINT_STEPS: u32 = 10_000;

impl Default for Faults {
    fn default() -> Self {
        Self { list: Vec::new(), steps: MAX_STEPS, trial: None }
    }
}

impl Faults {
    /// Returns `true` if a shape accepts a value that the caller may have meant.
    pub(super) fn accepts(shape: &Shape, value: &Value, path: Path<'_>, shapes: &Shapes) -> bool {
        let mut faults = Self { steps: MAX_HINT_STEPS, ..Self::default() };
        faults.fits(|faults| shape.check(value, path, shapes, faults))
    }

    /// Returns the violations.
    pub fn into_vec(self) -> Vec<Fault> {
        self.list
    }

    /// Returns `true` if no violation was found.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn push(&mut self, path: Path<'_>, kind: FaultKind) {
        self.push_with(path, || kind);
    }

    /// Adds a violation. It is only described if it will be reported.
    pub(super) fn push_with(&mut self, path: Path<'_>, kind: impl FnOnce() -> FaultKind) {
        if let Some(fits) = &mut self.trial {
            *fits = false;
        } else if !self.is_full() {
            self.list.push(Fault { path: path.to_string(), kind: kind() });
        }
    }

    /// Replaces the hint of the last violation if its type is wrong.
    pub(super) fn hint_last(&mut self, text: &str) {
        if let Some(Fault { kind: FaultKind::Type { hint, .. }, .. }) = self.list.last_mut()
            && self.trial.is_none()
        {
            *hint = Some(text.to_owned());
        }
    }

    /// Replaces all violations after the first `count` by one.
    pub(super) fn replace_from(&mut self, count: usize, path: Path<'_>, kind: FaultKind) {
        self.list.truncate(count);
        self.push(path, kind);
    }

    /// Removes all violations after the first `count`.
    pub(super) fn forget_from(&mut self, count: usize) {
        match &mut self.trial {
            Some(fits) => *fits = self.list.len() == count,
            None => self.list.truncate(count),
        }
    }

    /// Returns `true` while a variant of a union is tried. Violations are not reported then.
    pub(super) fn is_trial(&self) -> bool {
        self.trial.is_some()
    }

    /// Returns `true` if no further violation will be reported.
    pub(super) fn is_full(&self) -> bool {
        self.trial == Some(false) || self.list.len() >= MAX_FAULTS
    }

    /// Returns the number of violations. Compare it with an earlier number to detect new ones.
    pub(super) fn count(&self) -> usize {
        self.list.len() + usize::from(self.trial == Some(false))
    }

    /// Returns `true` if the maximum number of steps was reached.
    pub(super) fn is_exhausted(&self) -> bool {
        self.steps == 0
    }

    /// Counts a step. If the maximum is reached, adds a violation and returns `false`.
    pub(super) fn step(&mut self, path: Path<'_>) -> bool {
        if self.steps > 1 {
            self.steps -= 1;
            return true;
        }
        if self.steps == 1 {
            self.steps = 0;
            let expectation = "is too complex to be checked: simplify it".to_owned();
            self.list
                .push(Fault { path: path.to_string(), kind: FaultKind::Value { expectation } });
        }
        if let Some(fits) = &mut self.trial {
            *fits = false;
        }
        false
    }

    /// Returns `true` if `check` finds no violation. Its steps count.
    pub(super) fn fits(&mut self, check: impl FnOnce(&mut Self)) -> bool {
        let outer = self.trial.replace(true);
        check(self);
        let fits = self.trial == Some(true);
        self.trial = outer;
        fits
    }
}
