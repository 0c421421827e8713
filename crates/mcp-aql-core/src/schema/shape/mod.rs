//! Shapes of values.
//!
//! A shape is compiled once from a type's JSON schema and the operation's constraints. It checks values and also
//! describes itself, so that the documented values are exactly the accepted ones (REQ-INT-20).

mod check;
mod compile;
mod describe;
mod explain;
mod faults;
mod forms;
mod input;
mod members;
mod misplaced_field;
mod sketch;
mod type_hint;
mod union;
mod variants;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use mcp_aql_protocol::Format;
use serde_json::Value;

pub use compile::Compiler;
pub(crate) use compile::{MAX_DEPTH, bound_value};
pub(crate) use describe::item_name;
pub use describe::{describe, further_constraints, type_name};
pub use faults::{Fault, Faults, Path};
pub(crate) use faults::{FaultKind, Hint};
pub(crate) use forms::{Form, endless_types, misfit_problem};
pub use input::input_name;
pub use members::Members;
pub(crate) use misplaced_field::objects_with_field;
pub(crate) use sketch::expected_form;

use crate::schema::constraint::Bound;

/// Describes which values are accepted.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    /// Kind of the value.
    pub kind: Kind,
    /// If `true`, `null` is accepted in addition.
    pub nullable: bool,
    /// Constraints beyond the type.
    pub checks: Checks,
    /// Description by the author of the type.
    pub description: Option<String>,
    /// If `true`, the value is masked in logs.
    pub sensitive: bool,
    /// Form of the value in messages, for a shape that does not know its members.
    pub form: Option<String>,
}

/// The kind of a value.
#[derive(Debug, Clone, Default)]
pub enum Kind {
    /// Any value.
    #[default]
    Any,
    /// No value is accepted.
    Never,
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number without a fraction.
    Integer,
    /// A number.
    Number,
    /// A string.
    String,
    /// A list whose items have one shape.
    Array(Box<Shape>),
    /// A list with a fixed number of items.
    Tuple(Vec<Shape>),
    /// An object.
    Object(Box<ObjectShape>),
    /// One of several shapes.
    Union(Vec<Shape>),
    /// A registered type.
    Named(Arc<str>),
}

/// The members of an object.
#[derive(Debug, Clone, Default)]
pub struct ObjectShape {
    /// Known fields.
    pub fields: BTreeMap<String, FieldShape>,
    /// Names of the fields in the order of descriptions.
    pub order: Vec<String>,
    /// Members accepted in addition to the known fields.
    pub rest: Rest,
    /// Shapes of flattened enums. They are checked by decoding into the Rust type, and are used here to mask
    /// sensitive fields.
    pub flattened: Vec<Shape>,
    /// Like [`Rest::Each`], for values checked by decoding into the Rust type.
    pub others: Vec<Shape>,
    /// Patterns for the keys of a map. A key must match one of them.
    pub keys: Vec<regex::Regex>,
    /// Merge rules. They are set for the `input` of an UPDATE operation, and for merged objects inside it.
    pub merge: Option<MergeRules>,
}

impl ObjectShape {
    /// Returns `true` if an unknown name violates the rule for the keys of a map.
    pub(crate) fn refuses_key(&self, name: &str) -> bool {
        !self.keys.is_empty() && !self.keys.iter().any(|key| key.is_match(name))
    }

    /// Returns the possible shapes of the value with this name.
    pub(crate) fn forms_of<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Shape> {
        let field = self.fields.get(name);
        let each = match &self.rest {
            Rest::Each(each) if field.is_none() => Some(&**each),
            _ => None,
        };
        let others = if field.is_none() { &*self.others } else { &[] };
        field.map(|field| &field.shape).into_iter().chain(each).chain(others)
    }
}

/// A field of an object.
#[derive(Debug, Clone)]
pub struct FieldShape {
    /// Shape of its value.
    pub shape: Shape,
    /// If `true`, the field must be present.
    pub required: bool,
    /// Value of an omitted field, unless it is `null`.
    pub default: Option<Value>,
}

/// The members accepted in addition to the known fields of an object.
#[derive(Debug, Clone, Default)]
pub enum Rest {
    /// None. Unknown names are rejected.
    #[default]
    Closed,
    /// Any.
    Open,
    /// Values of this shape, as in a map.
    Each(Box<Shape>),
}

/// Additional rules of UPDATE input (REQ-UPD-04 to REQ-UPD-10).
#[derive(Debug, Clone, Default)]
pub struct MergeRules {
    /// Fields that identify the resource. They are parameters next to `input`.
    pub(crate) identifiers: &'static [&'static str],
    /// Fields that only the adapter may set.
    pub read_only: &'static [&'static str],
}

/// The constraints of a value beyond its type.
#[derive(Debug, Clone, Default)]
pub struct Checks {
    /// The only allowed values. If it is empty, all values are allowed.
    pub allowed: Vec<Value>,
    /// Smallest allowed number.
    pub minimum: Option<Bound>,
    /// Largest allowed number.
    pub maximum: Option<Bound>,
    /// If `true`, the minimum is 0 because the type is unsigned. It is checked, but not described.
    pub counts: bool,
    /// If `true`, the bounds also apply to numbers in strings, because the author has set them for the parameter.
    pub text_too: bool,
    /// If `true`, the number is an `f32`. Its range is checked, but not described.
    pub single: bool,
    /// Exclusive lower bound.
    pub above: Option<Bound>,
    /// Exclusive upper bound.
    pub below: Option<Bound>,
    /// Minimum number of characters.
    pub min_length: Option<usize>,
    /// Maximum number of characters.
    pub max_length: Option<usize>,
    /// Patterns that a string must match.
    pub patterns: Vec<regex::Regex>,
    /// Format of a string.
    pub format: Option<Format>,
    /// An unchecked format, as written by the type's author.
    pub other_format: Option<String>,
    /// Minimum number of items.
    pub min_items: Option<usize>,
    /// Maximum number of items.
    pub max_items: Option<usize>,
    /// If `true`, a list has no item twice.
    pub distinct: bool,
    /// Minimum number of members of an object.
    pub min_members: Option<usize>,
    /// Maximum number of members of an object.
    pub max_members: Option<usize>,
    /// A number must be a multiple of this one.
    pub multiple_of: Option<Bound>,
}

/// The shapes of all named types.
pub type Shapes = HashMap<Arc<str>, Shape>;

impl Shape {
    /// Creates a shape without constraints.
    pub fn of(kind: Kind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Sets the form shown in messages. Use it for an object whose members are checked elsewhere.
    #[must_use]
    pub fn with_form(self, form: String) -> Self {
        Self { form: Some(form), ..self }
    }

    /// Calls `take` for the names of other types in the shape.
    pub(crate) fn each_name(&self, take: &mut impl FnMut(&Arc<str>)) {
        match &self.kind {
            Kind::Named(name) => take(name),
            Kind::Array(items) => items.each_name(take),
            Kind::Tuple(parts) | Kind::Union(parts) => {
                parts.iter().for_each(|part| part.each_name(take));
            }
            Kind::Object(object) => {
                object.fields.values().for_each(|field| field.shape.each_name(take));
                if let Rest::Each(each) = &object.rest {
                    each.each_name(take);
                }
            }
            Kind::Any
            | Kind::Never
            | Kind::Null
            | Kind::Boolean
            | Kind::Integer
            | Kind::Number
            | Kind::String => {}
        }
    }

    /// Calls `take` for all unnamed objects in the shape.
    pub(crate) fn each_object(&mut self, take: &mut impl FnMut(&mut ObjectShape)) {
        match &mut self.kind {
            Kind::Array(items) => items.each_object(take),
            Kind::Tuple(parts) | Kind::Union(parts) => {
                parts.iter_mut().for_each(|part| part.each_object(take));
            }
            Kind::Object(object) => {
                take(object);
                let ObjectShape { fields, rest, flattened, others, .. } = &mut **object;
                fields.values_mut().for_each(|field| field.shape.each_object(take));
                flattened.iter_mut().chain(others).for_each(|part| part.each_object(take));
                if let Rest::Each(each) = rest {
                    each.each_object(take);
                }
            }
            Kind::Any
            | Kind::Never
            | Kind::Null
            | Kind::Boolean
            | Kind::Integer
            | Kind::Number
            | Kind::String
            | Kind::Named(_) => {}
        }
    }

    /// Follows names to the shape behind them. The number of steps is limited, because a type may only refer to
    /// itself.
    pub fn resolve<'a>(&'a self, shapes: &'a Shapes) -> &'a Self {
        let mut shape = self;
        for _ in 0..64 {
            match &shape.kind {
                Kind::Named(name) => match shapes.get(name) {
                    Some(target) => shape = target,
                    None => return shape,
                },
                _ => return shape,
            }
        }
        shape
    }
}
