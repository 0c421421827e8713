//! Parses the options of `#[computed_fields(…)]` and `#[computed(…)]`.
//!
//! ```text
//! #[computed(filter, sort)]
//! #[computed(name = "outcome", group)]
//! ```

use darling::error::Accumulator;
use darling::util::SpannedValue;
use syn::Attribute;

use crate::resource::attr::Marks;
use crate::support::options::{Grammar, Hint, Options};
use crate::support::values::Text;

/// The options of `#[computed_fields(…)]`, above an impl block.
pub(super) const BLOCK: Grammar = Grammar {
    attribute: "computed_fields",
    known: &["crate"],
    bare: true,
    hint: |name| match name {
        _ if METHOD.known.contains(&name) => {
            Hint::belongs("a method", format!("write `#[computed({name})]` above it"))
        }
        _ => None,
    },
    ..Grammar::EMPTY
};

/// The options of `#[computed(…)]` above a method.
const METHOD: Grammar = Grammar {
    attribute: "computed",
    known: &["filter", "sort", "group", "numeric", "name"],
    bare: true,
    text: Some("name"),
    hint: |name| match name {
        "crate" => Hint::belongs("the block", "write `#[computed_fields(crate = …)]` above it"),
        "search" => Hint::new("leave it out, because `query` searches stored fields only"),
        "id" | "read_only" => {
            Hint::new("leave it out, because callers cannot write a computed field")
        }
        _ => None,
    },
    ..Grammar::EMPTY
};

/// The options of one computed field.
pub(super) struct ComputedAttr {
    pub(super) marks: Marks,
    pub(super) name: Option<SpannedValue<Text>>,
}

impl ComputedAttr {
    pub(super) fn of(attributes: &[Attribute], errors: &mut Accumulator) -> Self {
        let mut options = Options::of(attributes, "computed", &METHOD, errors);
        Self {
            marks: Marks::take(&mut options, METHOD.known, errors),
            name: options.take("name", errors),
        }
    }
}
