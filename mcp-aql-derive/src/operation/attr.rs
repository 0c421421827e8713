//! Parses the options of `#[operation(…)]`.
//!
//! ```text
//! #[operation(category = "DELETE", scope = "tasks:cleanup", danger(level = "reversible"))]
//! ```

use std::ops::RangeInclusive;

use darling::FromMeta;
use darling::error::Accumulator;
use darling::util::SpannedValue;
use mcp_aql_protocol::SemanticCategory;
use proc_macro2::{Span, TokenStream};
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, ExprLit, Lit, Meta, Path};

use super::danger::{self, Danger};
use super::lifecycle::{self, Lifecycle};
use crate::support::options::{Grammar, Hint, JsonOption, Options, is_called};
use crate::support::values::{Category, CratePath, Deprecated, FunctionPath, Text};
use crate::support::{attribute_of, fault, strip};

/// The accepted values of `timeout_seconds`: up to one day.
const TIMEOUT_SECONDS: RangeInclusive<u32> = 1..=86_400;

const GRAMMAR: Grammar = Grammar {
    attribute: "operation",
    known: &[
        "category",
        "name",
        "description",
        "endpoint",
        "rationale",
        "wrap",
        "danger",
        "preview",
        "lifecycle",
        "timeout_seconds",
        "scope",
        "deprecated",
        "example",
        "crate",
    ],
    repeatable: &["example"],
    bare: true,
    text: Some("category"),
    hint,
};

/// Suggests the correct form for `#[operation(READ)]`, and for options that belong inside `danger` or `lifecycle`.
fn hint(name: &str) -> Option<Hint> {
    let Some(category) = SemanticCategory::from_name(&name.to_ascii_uppercase()) else {
        return match name {
            "summary" | "title" | "about" => Hint::new("write it as a doc comment, `/// …`"),
            "read_only" | "readonly" => {
                Hint::new("leave it out, because the `category` implies it")
            }
            "rename" | "id" => Hint::new("write `name = \"…\"`"),
            "background" | "long_running" => Hint::new("write `lifecycle(…)`"),
            "timeout" | "time_limit" => Hint::new("write `timeout_seconds = …`"),
            "scopes" | "permission" => Hint::new("write `scope = \"…\"`"),
            _ => danger::hint(name).or_else(|| lifecycle::hint(name)),
        };
    };
    let remedy = format!("write `category = \"{}\"`", category.as_str());
    Some(Hint { remedy, place: None, meant: Some("category") })
}

/// The options of one operation.
pub(crate) struct OperationAttr {
    pub(crate) category: Option<SpannedValue<SemanticCategory>>,
    /// The span at which the missing category is reported.
    pub(crate) no_category: Option<Span>,
    pub(crate) name: Option<SpannedValue<NameOption>>,
    /// The constant with the description. It replaces the doc comment.
    pub(crate) description: Option<Expr>,
    pub(crate) endpoint: Option<SpannedValue<Text>>,
    pub(crate) rationale: Option<SpannedValue<Text>>,
    pub(crate) wrap: Option<SpannedValue<Wrap>>,
    pub(crate) danger: Option<Danger>,
    /// The function that previews a call before its confirmation.
    pub(crate) preview: Option<Path>,
    pub(crate) lifecycle: Option<Lifecycle>,
    pub(crate) timeout_seconds: Option<u32>,
    pub(crate) scope: Option<SpannedValue<Text>>,
    pub(crate) deprecated: Option<Deprecated>,
    pub(crate) examples: Vec<JsonOption>,
    pub(crate) runtime: Option<Path>,
    /// The span of the option `crate`.
    pub(crate) runtime_span: Option<Span>,
}

/// The value of `name`.
#[derive(Clone)]
pub(crate) enum NameOption {
    Text(String),
    /// A constant that depends on a type parameter, such as `R::NAMES.get.name`.
    Constant(Expr),
}

impl FromMeta for NameOption {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        match constant(meta) {
            Some(expr) => Ok(Self::Constant(expr.clone())),
            None => Text::from_meta(meta).map(|text| Self::Text(text.0)),
        }
    }
}

/// The path of a string constant.
struct Constant(Expr);

impl FromMeta for Constant {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        constant(meta).map(|expr| Self(expr.clone())).ok_or_else(|| {
            fault(
                meta.path().span(),
                "`description` takes a constant such as `R::NAMES.get.description`: write other descriptions as a doc comment, `/// …`",
            )
        })
    }
}

/// Returns the value of an option if it is a constant: a path of several segments or in capital letters, or a field of
/// one. For example `NAME`, `names::CREATE` or `R::NAMES.get.name`.
fn constant(meta: &Meta) -> Option<&Expr> {
    let Meta::NameValue(pair) = meta else { return None };
    let value = strip(&pair.value);
    let mut base = value;
    while let Expr::Field(field) = base {
        base = &field.base;
    }
    let Expr::Path(path) = base else { return None };
    let is_constant = match path.path.get_ident() {
        Some(ident) => ident.to_string().chars().all(|each| !each.is_lowercase()),
        None => true,
    };
    is_constant.then_some(value)
}

/// The key of the result inside `data`.
#[derive(Debug, Clone)]
pub(crate) enum Wrap {
    Named(String),
    Bare,
}

impl OperationAttr {
    /// Reads the options of the expanded attribute, and of further `#[operation(…)]` attributes below it.
    pub(crate) fn read(
        tokens: TokenStream,
        others: &[Attribute],
        item: Span,
        errors: &mut Accumulator,
    ) -> Self {
        let mut options = Options::of(others, "operation", &GRAMMAR, errors);
        options.read(tokens, &GRAMMAR, errors);
        Self::new(options, attribute_of(item), errors)
    }

    /// Reads the options of a method's `#[operation(…)]`.
    pub(crate) fn of(attributes: &[Attribute], errors: &mut Accumulator) -> Self {
        let options = Options::of(attributes, "operation", &GRAMMAR, errors);
        let attribute = attributes.iter().find(|attribute| is_called(attribute, "operation"));
        let span = attribute.map_or_else(Span::call_site, |it| it.path().span());
        Self::new(options, span, errors)
    }

    fn new(mut options: Options, span: Span, errors: &mut Accumulator) -> Self {
        let runtime_span = options.span_of("crate");
        // An empty string counts as a missing category.
        let empty = options.empty("category");
        Self {
            no_category: empty.or_else(|| options.lacks("category").then_some(span)),
            category: if empty.is_none() {
                let category = options.take::<Category>("category", errors);
                category.map(|category| category.map_ref(|category| category.0))
            } else {
                None
            },
            name: options.take("name", errors),
            description: options
                .take::<Constant>("description", errors)
                .map(|it| it.into_inner().0),
            endpoint: options.take("endpoint", errors),
            rationale: options.take("rationale", errors),
            wrap: options.take("wrap", errors),
            danger: options.take("danger", errors).map(SpannedValue::into_inner),
            preview: options.take::<FunctionPath>("preview", errors).map(|it| it.into_inner().0),
            lifecycle: options.take("lifecycle", errors).map(SpannedValue::into_inner),
            timeout_seconds: options.take_seconds("timeout_seconds", TIMEOUT_SECONDS, errors),
            scope: options.take("scope", errors),
            deprecated: options.take("deprecated", errors).map(SpannedValue::into_inner),
            examples: options.take_json("example"),
            runtime: options.take::<CratePath>("crate", errors).map(|path| path.into_inner().0),
            runtime_span,
        }
    }
}

impl FromMeta for Wrap {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        if let Meta::NameValue(pair) = meta
            && let Expr::Lit(ExprLit { lit: Lit::Bool(flag), .. }) = strip(&pair.value)
        {
            return if flag.value {
                Err(fault(
                    flag.span,
                    "`wrap = true` has no effect: write the key, such as `wrap = \"task\"`, or leave it out",
                ))
            } else {
                Ok(Self::Bare)
            };
        }
        match meta {
            Meta::NameValue(pair) if !is_text(&pair.value) => Err(fault(
                pair.value.span(),
                "`wrap` is neither a key nor `false`: write `wrap = \"task\"`",
            )),
            _ => Text::from_meta(meta).map(|text| Self::Named(text.0)),
        }
    }
}

fn is_text(expr: &Expr) -> bool {
    matches!(strip(expr), Expr::Lit(ExprLit { lit: Lit::Str(_), .. }) | Expr::Macro(_))
}
