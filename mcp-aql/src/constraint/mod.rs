//! Constraints on values. What refuses a value is also what introspection prints, so that the two
//! cannot drift apart.

mod format;

pub use format::Format;

/// A bound of a number, exact for every integer type of Rust up to 64 bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// A whole number.
    Int(i128),
    /// Any other number.
    Float(f64),
}

/// A JSON scalar of an `enum` constraint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EnumValue {
    /// Text.
    Str(&'static str),
    /// A number.
    Number(Bound),
    /// `true` or `false`.
    Bool(bool),
}

/// One constraint of a parameter or field, as the macros write it into the operation's table.
///
/// Source: REQ-RQ-11, REQ-INT-13.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Constraint {
    /// The number is this or more.
    Minimum(Bound),
    /// The number is this or less.
    Maximum(Bound),
    /// The text has this many characters (Unicode scalar values) or more.
    MinLength(usize),
    /// The text has this many characters (Unicode scalar values) or fewer.
    MaxLength(usize),
    /// The text matches this regular expression somewhere; anchor it with `^` and `$`.
    Pattern(&'static str),
    /// The text has this form.
    Format(Format),
    /// The value is one of these.
    Enum(&'static [EnumValue]),
    /// The list has this many elements or more.
    MinItems(usize),
    /// The list has this many elements or fewer.
    MaxItems(usize),
}
