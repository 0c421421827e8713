//! Shapes of values. A shape is compiled once from a type's JSON schema and the operation's constraints. It
//! checks values and describes itself, so that accepted values are the documented ones (REQ-INT-20).

mod check;
mod checks;
mod compile;
mod describe;
mod faults;
mod input;
mod members;
mod place;
mod sketch;
mod type_hint;
mod union;
mod variants;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use mcp_aql_protocol::Format;
use serde_json::Value;

pub use compile::Compiler;
pub(crate) use compile::bound_value;
pub(crate) use describe::item_name;
pub use describe::{describe, further_constraints, type_name};
pub use faults::{Fault, Faults, Path};
pub(crate) use faults::{FaultKind, Hint};
pub use input::input_name;
pub use members::Members;
pub(crate) use place::places;
pub(crate) use sketch::expected_form;

use crate::schema::constraint::Bound;

/// The shape of a value.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    /// The kind of the value.
    pub kind: Kind,
    /// Whether `null` is accepted too.
    pub nullable: bool,
    /// The constraints beyond the type.
    pub checks: Checks,
    /// The description by the author of the type.
    pub description: Option<String>,
    /// Whether the value is masked in logs.
    pub sensitive: bool,
    /// The form of the value in messages, where the shape leaves its members open.
    pub form: Option<String>,
}

/// The kind of a value.
#[derive(Debug, Clone, Default)]
pub enum Kind {
    /// Any value.
    #[default]
    Any,
    /// Nothing is accepted.
    Never,
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number without a fraction.
    Integer,
    /// A number.
    Number,
    /// A text.
    String,
    /// A list of values of one shape.
    Array(Box<Shape>),
    /// A list with a fixed number of values.
    Tuple(Vec<Shape>),
    /// An object.
    Object(Box<ObjectShape>),
    /// One of several shapes.
    Union(Vec<Shape>),
    /// A registered type.
    Named(Arc<str>),
}

/// The fields of an object.
#[derive(Debug, Clone, Default)]
pub struct ObjectShape {
    /// The known fields.
    pub fields: BTreeMap<String, FieldShape>,
    /// The field names in the order of descriptions.
    pub order: Vec<String>,
    /// The accepted members beyond the known fields.
    pub rest: Rest,
    /// The shapes of flattened enums. The type's own decoding checks them. Their
    /// sensitive fields are redacted.
    pub flattened: Vec<Shape>,
    /// Like [`Rest::Each`], for values that the type's own decoding checks.
    pub others: Vec<Shape>,
    /// The patterns of the keys of a map, one of which a key must match.
    pub keys: Vec<regex::Regex>,
    /// The rules of merging, for the `input` of an UPDATE operation and the objects that merge inside it.
    pub merge: Option<MergeRules>,
}

impl ObjectShape {
    /// Whether a name that is not a field violates the rule for the keys of a map.
    pub(crate) fn refuses_key(&self, name: &str) -> bool {
        !self.keys.is_empty() && !self.keys.iter().any(|key| key.is_match(name))
    }

    /// The possible shapes of the value with this name.
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
    /// The shape of its value.
    pub shape: Shape,
    /// Whether the field must be given.
    pub required: bool,
    /// The value of an omitted field, unless it is null.
    pub default: Option<Value>,
}

/// The accepted members of an object beyond its known fields.
#[derive(Debug, Clone, Default)]
pub enum Rest {
    /// None: unknown names are refused.
    #[default]
    Closed,
    /// Any.
    Open,
    /// Values of this shape, as in a map.
    Each(Box<Shape>),
}

/// The further rules of UPDATE input (REQ-UPD-04 to REQ-UPD-10).
#[derive(Debug, Clone, Default)]
pub struct MergeRules {
    /// The fields that identify the resource, which are parameters beside `input`.
    pub(crate) identifiers: &'static [&'static str],
    /// The fields that only the adapter may set.
    pub read_only: &'static [&'static str],
}

/// The constraints of a value beyond its type.
#[derive(Debug, Clone, Default)]
pub struct Checks {
    /// The only allowed values; any if it is empty.
    pub allowed: Vec<Value>,
    /// The smallest allowed number.
    pub minimum: Option<Bound>,
    /// The largest allowed number.
    pub maximum: Option<Bound>,
    /// Whether the minimum is 0 because of an unsigned type: it is checked, but not described.
    pub counts: bool,
    /// Whether the type of the number has 32 bits and a fraction. Its range is checked, but not described.
    pub single: bool,
    /// A number that the value must exceed.
    pub above: Option<Bound>,
    /// A number that the value must stay below.
    pub below: Option<Bound>,
    /// The minimum number of characters.
    pub min_length: Option<usize>,
    /// The maximum number of characters.
    pub max_length: Option<usize>,
    /// The patterns that the text must match.
    pub patterns: Vec<regex::Regex>,
    /// The format of the text.
    pub format: Option<Format>,
    /// A format that is not checked, as the type's author wrote it.
    pub other_format: Option<String>,
    /// The minimum number of items.
    pub min_items: Option<usize>,
    /// The maximum number of items.
    pub max_items: Option<usize>,
}

/// The shapes of all named types.
pub type Shapes = HashMap<Arc<str>, Shape>;

impl Shape {
    /// Creates a shape without constraints.
    pub fn of(kind: Kind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Sets the form of the value in messages, for an object whose members are checked elsewhere.
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

    /// Calls `take` for the objects in the shape that have no names.
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

    /// Follows names to the shape behind them. It also ends for a type that only refers to itself.
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
