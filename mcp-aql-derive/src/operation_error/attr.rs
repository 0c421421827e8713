//! Parses the options of `#[operation_error(…)]`.
//!
//! ```text
//! #[operation_error(code = "NOT_FOUND_RESOURCE", details(resource_type = "article", resource_id = 0))]
//! ```

use darling::FromMeta;
use darling::error::Accumulator;
use darling::util::SpannedValue;
use mcp_aql_protocol::{ErrorCode, nearest_name};
use proc_macro2::Span;
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Expr, Ident, Index, Member, Meta, Path, Token};

use crate::support::json::{Json, Number, Value};
use crate::support::options::{Grammar, Options, list_of};
use crate::support::values::{CratePath, Flag, Text};
use crate::support::{fault, no_comma};

const GRAMMAR: Grammar = Grammar {
    attribute: "operation_error",
    known: &["code", "message", "details", "transparent", "crate"],
    text: Some("code"),
    ..Grammar::EMPTY
};

/// The options of a variant or of the type itself.
#[derive(Default)]
pub(crate) struct ErrorAttr {
    pub(crate) code: Option<SpannedValue<Code>>,
    /// If `true`, the author has written `code`, perhaps malformed or misspelled.
    pub(crate) has_code: bool,
    pub(crate) message: Option<SpannedValue<Text>>,
    pub(crate) details: Option<SpannedValue<Details>>,
    pub(crate) transparent: Option<Span>,
    pub(crate) runtime: Option<Path>,
    pub(crate) keys: Vec<Ident>,
}

/// An error code of the protocol.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Code(pub(crate) ErrorCode);

/// The structured details of an error, in the order of their keys in the source.
pub(crate) struct Details(pub(crate) Vec<(Ident, Detail)>);

/// The value of a detail.
pub(crate) enum Detail {
    Literal(Json),
    Field(Member),
}

impl ErrorAttr {
    pub(crate) fn read(attributes: &[Attribute], errors: &mut Accumulator) -> Self {
        let mut options = Options::of(attributes, "operation_error", &GRAMMAR, errors);
        let transparent = options.span_of("transparent");
        let _: Option<SpannedValue<Flag>> = options.take("transparent", errors);
        Self {
            keys: options.keys().cloned().collect(),
            has_code: !options.lacks("code"),
            code: options.take("code", errors),
            message: options.take("message", errors),
            details: options.take("details", errors),
            transparent,
            runtime: options.take::<CratePath>("crate", errors).map(|it| it.into_inner().0),
        }
    }
}

impl FromMeta for Code {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        let text = SpannedValue::<Text>::from_meta(meta)?;
        let name = text.0.as_str();
        ErrorCode::ALL.iter().find(|code| code.as_str() == name).map(|code| Self(*code)).ok_or_else(
            || {
                let known = ErrorCode::ALL.iter().map(|code| code.as_str());
                let hint = match nearest_name(&name.to_ascii_uppercase(), known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "write one of the codes that `mcp_aql::ErrorCode` lists".to_owned(),
                };
                fault(text.span(), format_args!("unknown error code `{name}`: {hint}"))
            },
        )
    }
}

impl FromMeta for Details {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        let list = list_of(meta, "key = \"literal\", other = field")?;
        let pairs = pairs.parse2(list.tokens.clone())?;
        let mut errors = darling::Error::accumulator();
        let mut details: Vec<(Ident, Detail)> = Vec::new();
        for (key, value) in pairs {
            if details.iter().any(|(known, _)| *known == key) {
                errors.push(fault(key.span(), format_args!("`{key}` is written twice: keep one")));
            } else if let Some(value) = errors.handle(Detail::from_expr(&key, &value)) {
                details.push((key, value));
            }
        }
        errors.finish_with(Self(details))
    }
}

/// Parses `key = value, …`. darling cannot derive this parser, because the author chooses the keys.
fn pairs(input: ParseStream<'_>) -> syn::Result<Vec<(Ident, Expr)>> {
    let mut pairs = Vec::new();
    while !input.is_empty() {
        if !input.peek(Ident::peek_any) {
            return Err(
                input.error("a detail has a key: write `key = \"literal\"` or `key = field`")
            );
        }
        let key = input.call(Ident::parse_any)?;
        let equals = input.parse::<Option<Token![=]>>()?;
        if equals.is_none() || input.is_empty() || input.peek(Token![,]) {
            return Err(syn::Error::new(
                key.span(),
                format!("detail `{key}` has no value: write `{key} = {key}`"),
            ));
        }
        pairs.push((key, input.parse()?));
        if input.parse::<Option<Token![,]>>()?.is_none() && !input.is_empty() {
            return Err(no_comma(input));
        }
    }
    Ok(pairs)
}

impl Detail {
    /// Parses a literal, or the name or index of a field. The module [`check`](super::check) reports fields that do not
    /// exist.
    fn from_expr(key: &Ident, expr: &Expr) -> darling::Result<Self> {
        match expr {
            Expr::Group(group) => Self::from_expr(key, &group.expr),
            Expr::Path(path) if path.qself.is_none() => path
                .path
                .require_ident()
                .map(|ident| Self::Field(Member::Named(ident.clone())))
                .map_err(Into::into),
            _ => match Json::from_expr(expr) {
                Some(json) => json.map(Self::Literal),
                // The expression may start with a field's name, so the key is the better span.
                None => Err(fault(
                    key.span(),
                    format_args!(
                        "detail `{key}` is an expression: write a field's name, its index, or a literal"
                    ),
                )),
            },
        }
    }

    /// Turns an integer into the index of a field if the variant is a tuple.
    pub(crate) fn resolve(self, tuple: bool) -> Self {
        match &self {
            Self::Literal(json) if tuple => match &json.value {
                Value::Number(Number::Int(index)) => match u32::try_from(*index) {
                    Ok(index) => Self::Field(Member::Unnamed(Index { index, span: json.span })),
                    Err(_) => self,
                },
                _ => self,
            },
            _ => self,
        }
    }
}
