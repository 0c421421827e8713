//! Parses the options of `#[update_input(…)]` and `#[create_input(…)]`, and the marks `id` and `read_only` of
//! `#[resource(…)]`.
//!
//! ```text
//! #[update_input(replace)]
//! #[create_input(value = Utc::now())]
//! #[create_input(chosen)]
//! ```

use darling::error::Accumulator;
use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, Path};

use crate::resource::attr as resource;
use crate::support::options::{Grammar, Hint, Options, is_called};
use crate::support::values::{CratePath, Expression, Flag};

const UPDATE_CONTAINER: Grammar = Grammar {
    attribute: "update_input",
    known: &["crate"],
    hint: |name| match name {
        "replace" => Hint::belongs("a field", "write it above one"),
        _ => None,
    },
    ..Grammar::EMPTY
};

const CREATE_CONTAINER: Grammar = Grammar {
    attribute: "create_input",
    known: &["crate"],
    hint: |name| match name {
        "value" => Hint::belongs("a field", "write it above one"),
        _ => Hint::new("write options of a parameter above its field, `#[param(…)]`"),
    },
    ..Grammar::EMPTY
};

const FIELD: Grammar = Grammar {
    attribute: "update_input",
    known: &["replace"],
    hint: |name| match name {
        "crate" => Hint::belongs("the struct", "write `#[update_input(crate = …)]` above it"),
        _ => None,
    },
    ..Grammar::EMPTY
};

const CREATE_FIELD: Grammar = Grammar {
    attribute: "create_input",
    known: &["value", "chosen"],
    hint: |name| match name {
        "crate" => Hint::belongs("the struct", "write `#[create_input(crate = …)]` above it"),
        "default" => Hint::new("write `#[param(default = …)]`"),
        _ => None,
    },
    ..Grammar::EMPTY
};

/// The options of `#[create_input(…)]` above a field.
pub(crate) struct CreateOptions {
    /// The value of a field that callers cannot set, and the span of the option.
    pub(crate) value: Option<(Expr, Span)>,
    /// The span of the mark of an identifier that callers choose themselves.
    pub(crate) chosen: Option<Span>,
}

impl CreateOptions {
    pub(crate) fn read(attributes: &[Attribute], errors: &mut Accumulator) -> Self {
        let mut options = Options::of(attributes, "create_input", &CREATE_FIELD, errors);
        let (value_span, chosen) = (options.span_of("value"), options.span_of("chosen"));
        let value = options.take::<Expression>("value", errors);
        Self {
            value: value.zip(value_span).map(|(value, span)| (value.into_inner().0, span)),
            chosen: options.take::<Flag>("chosen", errors).and(chosen),
        }
    }
}

/// The derive whose options are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputDerive {
    Create,
    Update,
}

/// Returns the path of the runtime from the options above the struct.
pub(crate) fn container(
    derive: InputDerive,
    attributes: &[Attribute],
    errors: &mut Accumulator,
) -> Option<Path> {
    let (name, grammar) = match derive {
        InputDerive::Create => ("create_input", &CREATE_CONTAINER),
        InputDerive::Update => ("update_input", &UPDATE_CONTAINER),
    };
    let mut options = Options::of(attributes, name, grammar, errors);
    // `#[derive(Resource)]` interprets these options. If both derives are present, rustc prints their identical errors
    // once.
    Options::of(attributes, "resource", &resource::CONTAINER, errors);
    options.take::<CratePath>("crate", errors).map(|path| path.into_inner().0)
}

/// The spans of the marks of a field.
#[derive(Debug)]
pub(crate) struct InputMarks {
    pub(crate) replace: Option<Span>,
    /// The spans of `#[update_input]` and `#[resource]` themselves.
    pub(crate) attributes: [Option<Span>; 2],
    pub(crate) id: Option<Span>,
    pub(crate) read_only: Option<Span>,
    /// If `true`, a mark is misspelled or rejected, so the absence of a mark proves nothing.
    pub(crate) unclear: bool,
}

impl InputMarks {
    pub(crate) fn read(attributes: &[Attribute], errors: &mut Accumulator) -> Self {
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
