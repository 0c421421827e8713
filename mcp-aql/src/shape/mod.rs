//! The form of a value: compiled once from a type's JSON schema and the operation's constraints, it
//! checks values and describes itself, so that what is accepted is what is documented (REQ-INT-20).

mod check;
mod compile;
mod describe;
mod members;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use mcp_aql_protocol::Format;
use serde_json::Value;

pub(crate) use check::{Fault, FaultKind, Faults, Hint, Path};
pub(crate) use compile::{Compiler, input_name};
pub(crate) use describe::{describe, further_constraints, type_name};
pub(crate) use members::Members;

use crate::constraint::Bound;

/// The form of a value.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape {
    pub(crate) kind: Kind,
    /// `null` is a value too.
    pub(crate) nullable: bool,
    pub(crate) checks: Checks,
    pub(crate) description: Option<String>,
    pub(crate) sensitive: bool,
}

/// What a value is made of.
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
    /// One of several forms.
    Union(Vec<Shape>),
    /// A type of the registry.
    Named(Arc<str>),
}

/// The fields of an object.
#[derive(Debug, Clone, Default)]
pub(crate) struct ObjectShape {
    pub(crate) fields: BTreeMap<String, FieldShape>,
    /// Field names in the order shown.
    pub(crate) order: Vec<String>,
    pub(crate) rest: Rest,
    /// Forms of flattened enums: the type's own decoding checks by them, and what they hide is hidden.
    pub(crate) flattened: Vec<Shape>,
    /// As [`Rest::Each`], for values that the type's own decoding checks.
    pub(crate) others: Vec<Shape>,
    /// Set for the `input` of an UPDATE operation and for what merges inside it.
    pub(crate) merge: Option<MergeRules>,
}

impl ObjectShape {
    /// The forms that the value of this name may have.
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

/// What an object may hold beyond its known fields.
#[derive(Debug, Clone, Default)]
pub(crate) enum Rest {
    /// Nothing: unknown names are refused.
    #[default]
    Closed,
    /// Anything.
    Open,
    /// Values of this form, as a map has them.
    Each(Box<Shape>),
}

/// The further rules of UPDATE input (REQ-UPD-04 to REQ-UPD-10).
#[derive(Debug, Clone, Default)]
pub(crate) struct MergeRules {
    /// Fields that name the resource: they belong beside `input`.
    pub(crate) identifiers: &'static [&'static str],
    /// Fields that only the adapter writes.
    pub(crate) read_only: &'static [&'static str],
}

/// What a value must satisfy beyond its type.
#[derive(Debug, Clone, Default)]
pub(crate) struct Checks {
    pub(crate) allowed: Vec<Value>,
    pub(crate) minimum: Option<Bound>,
    pub(crate) maximum: Option<Bound>,
    /// The minimum is 0 because of the integer's type: it is checked, and nothing to talk about.
    pub(crate) counts: bool,
    pub(crate) above: Option<Bound>,
    pub(crate) below: Option<Bound>,
    pub(crate) min_length: Option<usize>,
    pub(crate) max_length: Option<usize>,
    pub(crate) patterns: Vec<regex::Regex>,
    pub(crate) format: Option<Format>,
    /// A format that we do not check, shown as the type's author wrote it.
    pub(crate) other_format: Option<String>,
    pub(crate) min_items: Option<usize>,
    pub(crate) max_items: Option<usize>,
}

/// The forms of all named types.
pub(crate) type Shapes = HashMap<Arc<str>, Shape>;

impl Shape {
    pub(crate) fn of(kind: Kind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// The names of other types in it.
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

    /// The objects in it, as far as they have no names.
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

    /// Follows names to the form behind them. Ends for a type that only names itself.
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
