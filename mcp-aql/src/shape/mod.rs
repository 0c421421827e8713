//! Shapes of values. A shape is compiled once from a type's JSON schema and the operation's constraints. It
//! checks values and describes itself, so that accepted values are the documented ones (REQ-INT-20).

mod check;
mod checks;
mod compile;
mod describe;
mod faults;
mod input;
mod members;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use mcp_aql_protocol::Format;
use serde_json::Value;

pub(crate) use compile::Compiler;
pub(crate) use describe::{describe, further_constraints, type_name};
pub(crate) use faults::{Fault, FaultKind, Faults, Hint, Path};
pub(crate) use input::input_name;
pub(crate) use members::Members;

use crate::constraint::Bound;

/// The shape of a value.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape {
    pub(crate) kind: Kind,
    /// Whether `null` is accepted too.
    pub(crate) nullable: bool,
    pub(crate) checks: Checks,
    pub(crate) description: Option<String>,
    pub(crate) sensitive: bool,
}

/// The kind of a value.
#[derive(Debug, Clone, Default)]
pub(crate) enum Kind {
    #[default]
    Any,
    /// Nothing is accepted.
    Never,
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array(Box<Shape>),
    Tuple(Vec<Shape>),
    Object(Box<ObjectShape>),
    /// One of several shapes.
    Union(Vec<Shape>),
    /// A registered type.
    Named(Arc<str>),
}

/// The fields of an object.
#[derive(Debug, Clone, Default)]
pub(crate) struct ObjectShape {
    pub(crate) fields: BTreeMap<String, FieldShape>,
    /// The field names in the order of descriptions.
    pub(crate) order: Vec<String>,
    pub(crate) rest: Rest,
    /// The shapes of flattened enums. The type's own decoding checks them. Their
    /// sensitive fields are redacted.
    pub(crate) flattened: Vec<Shape>,
    /// Like [`Rest::Each`], for values that the type's own decoding checks.
    pub(crate) others: Vec<Shape>,
    /// The rules of merging, for the `input` of an UPDATE operation and the objects that merge inside it.
    pub(crate) merge: Option<MergeRules>,
}

impl ObjectShape {
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

#[derive(Debug, Clone)]
pub(crate) struct FieldShape {
    pub(crate) shape: Shape,
    pub(crate) required: bool,
}

/// The accepted members of an object beyond its known fields.
#[derive(Debug, Clone, Default)]
pub(crate) enum Rest {
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
pub(crate) struct MergeRules {
    /// The fields that identify the resource, which are parameters beside `input`.
    pub(crate) identifiers: &'static [&'static str],
    /// The fields that only the adapter may set.
    pub(crate) read_only: &'static [&'static str],
}

/// The constraints of a value beyond its type.
#[derive(Debug, Clone, Default)]
pub(crate) struct Checks {
    pub(crate) allowed: Vec<Value>,
    pub(crate) minimum: Option<Bound>,
    pub(crate) maximum: Option<Bound>,
    /// Whether the minimum is 0 because of an unsigned type: it is checked, but not described.
    pub(crate) counts: bool,
    pub(crate) above: Option<Bound>,
    pub(crate) below: Option<Bound>,
    pub(crate) min_length: Option<usize>,
    pub(crate) max_length: Option<usize>,
    pub(crate) patterns: Vec<regex::Regex>,
    pub(crate) format: Option<Format>,
    /// A format that is not checked, as the type's author wrote it.
    pub(crate) other_format: Option<String>,
    pub(crate) min_items: Option<usize>,
    pub(crate) max_items: Option<usize>,
}

/// The shapes of all named types.
pub(crate) type Shapes = HashMap<Arc<str>, Shape>;

impl Shape {
    pub(crate) fn of(kind: Kind) -> Self {
        Self { kind, ..Self::default() }
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
    pub(crate) fn resolve<'a>(&'a self, shapes: &'a Shapes) -> &'a Self {
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
