//! Numbers, and lists of literals, as values of options.

use std::ops::RangeInclusive;

use darling::FromMeta;
use darling::error::Accumulator;
use syn::Meta;

use super::super::fault;
use super::super::json::{Json, Number, Value};
use super::super::options::Options;
use super::{Form, key};

/// A length: a non-negative integer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Length(pub(crate) usize);

impl FromMeta for Length {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "a whole number from 0", example: "10" };
        match FORM.literal(meta)? {
            Json { value: Value::Number(Number::Int(number)), span } => {
                usize::try_from(number).map(Self).map_err(|_| {
                    let key = key(meta);
                    fault(span, format_args!("`{key}` is {number}: write a whole number from 0"))
                })
            }
            _ => Err(FORM.wanted(meta)),
        }
    }
}

/// An integer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole(pub(crate) i128);

impl FromMeta for Whole {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "a whole number", example: "30" };
        match FORM.literal(meta)? {
            Json { value: Value::Number(Number::Int(number)), .. } => Ok(Self(number)),
            _ => Err(FORM.wanted(meta)),
        }
    }
}

impl Options {
    /// Removes the option and returns its value, a number of seconds in the given range.
    pub(crate) fn take_seconds(
        &mut self,
        name: &str,
        range: RangeInclusive<u32>,
        errors: &mut Accumulator,
    ) -> Option<u32> {
        let seconds = self.take::<Whole>(name, errors)?;
        let known = u32::try_from(seconds.0).ok().filter(|it| range.contains(it));
        if known.is_none() {
            errors.push(fault(
                seconds.span(),
                format_args!(
                    "`{name}` is {}: write a number from {} to {}, or leave it out",
                    seconds.0,
                    range.start(),
                    range.end()
                ),
            ));
        }
        known
    }
}

/// A number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit(pub(crate) Number);

impl FromMeta for Limit {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "a number", example: "10" };
        match FORM.literal(meta)? {
            Json { value: Value::Number(number), .. } => Ok(Self(number)),
            _ => Err(FORM.wanted(meta)),
        }
    }
}

/// A list of literals.
#[derive(Debug, Clone)]
pub(crate) struct Choices(pub(crate) Vec<Json>);

impl FromMeta for Choices {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        const FORM: Form = Form { what: "a list of literals", example: "[\"a\", \"b\"]" };
        match FORM.literal(meta)? {
            Json { value: Value::List(list), .. } => Ok(Self(list)),
            only => Err(FORM.wanted_as(meta, &format!("[{only}]"))),
        }
    }
}
