//! `#[update_input(…)]` and `#[resource(…)]` as written.

use darling::error::Accumulator;
use proc_macro2::Span;
use syn::{Attribute, Path};

use crate::support::options::{Grammar, Hint, Options, no_hint};
use crate::support::values::{CratePath, Flag};

const CONTAINER: Grammar = Grammar {
    attribute: "update_input",
    known: &["crate"],
    repeatable: &[],
    bare: false,
    hint: |name| (name == "replace").then(|| Hint::new("write it above a field")).flatten(),
};

/// What other macros read of it is listed here.
const CONTAINER_RESOURCE: Grammar = Grammar {
    attribute: "resource",
    known: &[],
    repeatable: &[],
    bare: false,
    hint: |_| Hint::new("write `#[resource(…)]` above a field"),
};

const FIELD: Grammar = Grammar {
    attribute: "update_input",
    known: &["replace"],
    repeatable: &[],
    bare: false,
    hint: |name| (name == "crate").then(|| Hint::new("write it above the struct")).flatten(),
};

/// What other macros read of it is listed here.
const FIELD_RESOURCE: Grammar = Grammar {
    attribute: "resource",
    known: &["id", "read_only"],
    repeatable: &[],
    bare: false,
    hint: no_hint,
};

/// The path of the runtime as written on the resource, whose own options these are.
pub(super) fn container(attributes: &[Attribute], errors: &mut Accumulator) -> Option<Path> {
    let mut options = Options::of(attributes, "update_input", &CONTAINER, errors);
    let _ = Options::of(attributes, "resource", &CONTAINER_RESOURCE, errors);
    options.take::<CratePath>("crate", errors).map(|path| path.into_inner().0)
}

/// The marks of a field, each by its place.
#[derive(Debug)]
pub(super) struct Marks {
    pub(super) replace: Option<Span>,
    pub(super) id: Option<Span>,
    pub(super) read_only: Option<Span>,
    /// A mark is misspelt, so nothing is concluded from its absence.
    pub(super) unclear: bool,
}

impl Marks {
    pub(super) fn read(attributes: &[Attribute], errors: &mut Accumulator) -> Self {
        let mut options = Options::of(attributes, "update_input", &FIELD, errors);
        let mut resource = Options::of(attributes, "resource", &FIELD_RESOURCE, errors);
        let mut mark = |options: &mut Options, name| {
            let span = options.span_of(name);
            let misspelt = span.is_none() && !options.lacks(name);
            let _ = options.take::<Flag>(name, errors);
            (span, misspelt)
        };
        let (replace, _) = mark(&mut options, "replace");
        let (id, no_id) = mark(&mut resource, "id");
        let (read_only, not_read_only) = mark(&mut resource, "read_only");
        Self { replace, id, read_only, unclear: no_id || not_read_only }
    }
}
