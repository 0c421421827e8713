//! Parses the options of `#[param(…)]`.
//!
//! ```text
//! #[param(default = 3, minimum = 1, maximum = 5)]
//! ```

use darling::error::Accumulator;
use darling::util::SpannedValue;
use mcp_aql_protocol::{Format, is_changing_claim};
use proc_macro2::Span;
use syn::{Attribute, Expr, Ident, Meta};

use crate::support::fault;
use crate::support::json::Json;
use crate::support::options::{Grammar, Hint, Options};
use crate::support::values::{Choices, Deprecated, Flag, FormatName, Length, Limit, Text};

const GRAMMAR: Grammar = Grammar {
    attribute: "param",
    known: &[
        "name",
        "default",
        "minimum",
        "maximum",
        "min_length",
        "max_length",
        "pattern",
        "format",
        "enum",
        "min_items",
        "max_items",
        "sensitive",
        "deprecated",
        "group",
        "from_claim",
    ],
    hint: |name| match name {
        "description" | "desc" | "doc" | "title" => Hint::new("write it as a doc comment, `/// …`"),
        "required" | "optional" => Hint::new(
            "leave it out, because a parameter is optional if it is an `Option<…>` or has a `default`",
        ),
        "type" | "schema" => Hint::new("leave it out, because it follows from the argument's type"),
        "regex" | "matches" => Hint::new("write `pattern = \"…\"`"),
        "choices" | "values" | "one_of" | "allowed" => Hint::new("write `enum = [\"…\"]`"),
        "range" => Hint::new("write `minimum = …, maximum = …`"),
        "length" => Hint::new("write `min_length = …, max_length = …`"),
        "secret" | "password" => Hint::new("write `sensitive`"),
        "claim" => Hint::new("write `from_claim = \"…\"`"),
        "rename" | "alias" => Hint::new("write `name = \"…\"`"),
        "example" => Hint::new("write `example = { … }` in `#[operation(…)]`"),
        _ => None,
    },
    ..Grammar::EMPTY
};

/// The options of one parameter.
pub(crate) struct ParamAttr {
    pub(crate) name: Option<SpannedValue<Text>>,
    pub(crate) default: Option<DefaultValue>,
    pub(crate) constraints: Constraints,
    pub(crate) sensitive: bool,
    pub(crate) deprecated: Option<Deprecated>,
    /// The span of `group`. It marks a struct whose fields are the parameters.
    pub(crate) group: Option<Span>,
    /// The claim of the caller that supplies the value. The argument is then not a parameter of the operation.
    pub(crate) from_claim: Option<SpannedValue<Text>>,
    /// All keys as written, for arguments that accept no options.
    pub(crate) keys: Vec<Ident>,
}

/// The value that a parameter has if a call omits it.
pub(crate) enum DefaultValue {
    Literal(Json),
    Expr(Expr),
}

/// The constraints of a parameter beyond its type.
#[derive(Clone, Default)]
pub(crate) struct Constraints {
    pub(crate) minimum: Option<SpannedValue<Limit>>,
    pub(crate) maximum: Option<SpannedValue<Limit>>,
    pub(crate) min_length: Option<SpannedValue<Length>>,
    pub(crate) max_length: Option<SpannedValue<Length>>,
    pub(crate) pattern: Option<SpannedValue<Text>>,
    pub(crate) format: Option<SpannedValue<Format>>,
    pub(crate) choices: Option<SpannedValue<Choices>>,
    pub(crate) min_items: Option<SpannedValue<Length>>,
    pub(crate) max_items: Option<SpannedValue<Length>>,
}

impl ParamAttr {
    pub(crate) fn read(attributes: &[Attribute], errors: &mut Accumulator) -> Self {
        let mut options = Options::of(attributes, "param", &GRAMMAR, errors);
        let keys = options.keys().cloned().collect();
        let group = options.span_of("group");
        let _: Option<SpannedValue<Flag>> = options.take("group", errors);
        let sensitive = options.take::<Flag>("sensitive", errors).is_some();
        Self {
            name: options.take("name", errors),
            constraints: Constraints {
                minimum: options.take("minimum", errors),
                maximum: options.take("maximum", errors),
                min_length: options.take("min_length", errors),
                max_length: options.take("max_length", errors),
                pattern: options.take("pattern", errors),
                format: options
                    .take::<FormatName>("format", errors)
                    .map(|format| format.map_ref(|format| format.0)),
                choices: options.take("enum", errors),
                min_items: options.take("min_items", errors),
                max_items: options.take("max_items", errors),
            },
            sensitive,
            deprecated: options.take("deprecated", errors).map(SpannedValue::into_inner),
            group,
            from_claim: options.take("from_claim", errors),
            keys,
            default: default(options, errors),
        }
    }

    /// Rejects every option except `from_claim`, and claims that are not part of the caller's identity.
    pub(crate) fn only_claim(&self, errors: &mut Accumulator) {
        if let Some(claim) = self.from_claim.as_ref().filter(|claim| is_changing_claim(&claim.0)) {
            errors.push(fault(
                claim.span(),
                format_args!(
                    "`{}` changes with each token or sign-in, so what it selects would not stay with its caller: name \
                     another claim, or read this one with `Context::principal`",
                    claim.0
                ),
            ));
        }
        for key in self.keys.iter().filter(|key| *key != "from_claim") {
            errors.push(fault(
                key.span(),
                format_args!(
                    "`{key}` has no effect next to `from_claim`, because no call contains the value: leave one of them out"
                ),
            ));
        }
    }

    /// Rejects `from_claim` on a field of a group, because the field is a parameter of every operation that uses the
    /// group.
    pub(crate) fn no_claim(&self, errors: &mut Accumulator) {
        if let Some(claim) = &self.from_claim {
            errors.push(fault(
                claim.span(),
                "`from_claim` is for an argument of an operation: write a separate argument, `#[param(from_claim = \"…\")]`",
            ));
        }
    }

    /// Rejects every option except `group`.
    pub(crate) fn only_group(&self, errors: &mut Accumulator) {
        for key in self.keys.iter().filter(|key| *key != "group") {
            let value = if key == "sensitive" || key == "deprecated" { "" } else { " = …" };
            errors.push(fault(
                key.span(),
                format_args!(
                    "`{key}` has no effect on a group: write `#[param({key}{value})]` above a field of it"
                ),
            ));
        }
    }
}

/// Reads a default: a literal is stored as JSON, any other expression as Rust.
fn default(mut options: Options, errors: &mut Accumulator) -> Option<DefaultValue> {
    if let Some(option) = options.take_json("default").pop() {
        return Some(DefaultValue::Literal(option.json));
    }
    let (key, meta) = options.rest().find(|(key, _)| key == "default")?;
    let Meta::NameValue(pair) = meta else {
        errors.push(fault(key.span(), "`default` has no value: write `default = …`"));
        return None;
    };
    match Json::from_expr(&pair.value) {
        Some(json) => errors.handle(json).map(DefaultValue::Literal),
        None => Some(DefaultValue::Expr(pair.value)),
    }
}
