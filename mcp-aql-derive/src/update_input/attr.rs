//! Parses the options of `#[update_input(…)]`, and the marks `id` and `read_only` of `#[resource(…)]`.

use darling::error::Accumulator;
use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{Attribute, Path};

use crate::resource::attr as resource;
use crate::support::options::{Grammar, Hint, Options, is_called};
use crate::support::values::{CratePath, Flag};

const CONTAINER: Grammar = Grammar {
    attribute: "update_input",
    known: &["crate"],
    repeatable: &[],
    bare: false,
    text: None,
    hint: |name| match name {
        "replace" => Hint::belongs("a field", "write it above one"),
        _ => None,
    },
};

const FIELD: Grammar = Grammar {
    attribute: "update_input",
    known: &["replace"],
    repeatable: &[],
    bare: false,
    text: None,
    hint: |name| match name {
        "crate" => Hint::belongs("the struct", "write `#[update_input(crate = …)]` above it"),
        _ => None,
    },
};

/// Returns the path of the runtime from the options above the struct.
pub(super) fn container(attributes: &[Attribute], errors: &mut Accumulator) -> Option<Path> {
    let mut options = Options::of(attributes, "update_input", &CONTAINER, errors);
    // `#[derive(Resource)]` interprets these options. If both derives are present, rustc prints the identical errors about
    // unknown options once.
    Options::of(attributes, "resource", &resource::CONTAINER, errors);
    options.take::<CratePath>("crate", errors).map(|path| path.into_inner().0)
}

/// The spans of the marks of a field.
#[derive(Debug)]
pub(super) struct UpdateMarks {
    pub(super) replace: Option<Span>,
    /// The spans of `#[update_input]` and `#[resource]` themselves.
    pub(super) attributes: [Option<Span>; 2],
    pub(super) id: Option<Span>,
    pub(super) read_only: Option<Span>,
    /// Whether a mark is misspelt or rejected, so that its absence proves nothing.
    pub(super) unclear: bool,
}

impl UpdateMarks {
    pub(super) fn read(attributes: &[Attribute], errors: &mut Accumulator) -> Self {
        let mut options = Options::of(attributes, "update_input", &FIELD, errors);
        let mut marks = Options::of(attributes, "resource", &resource::FIELD, errors);
        let mut mark = |options: &mut Options, name| {
            let span = options.span_of(name);
            let lacks = options.lacks(name);
            let span = options.take::<Flag>(name, errors).and(span);
            (span, span.is_none() && !lacks)
        };
        let (replace, _) = mark(&mut options, "replace");
        let (id, no_id) = mark(&mut marks, "id");
        let (read_only, not_read_only) = mark(&mut marks, "read_only");
        let place = |name| {
            let attribute = attributes.iter().find(|attribute| is_called(attribute, name))?;
            Some(attribute.path().span())
        };
        Self {
            replace,
            id,
            read_only,
            unclear: no_id || not_read_only,
            attributes: ["update_input", "resource"].map(place),
        }
    }
}
