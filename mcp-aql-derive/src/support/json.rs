//! Parses JSON written as Rust tokens, as in examples and literal defaults.
//!
//! The value is checked at compile time. The generated table contains it as a JSON string.
//!
//! ```text
//! example = { "title": "Ship it", "tags": ["a", "b"] }
//! ```

use std::fmt::{self, Write as _};

use darling::FromMeta;
use proc_macro2::Span;
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned as _;
use syn::{Expr, ExprLit, ExprUnary, Ident, Lit, LitStr, Token, UnOp, braced, bracketed};

use super::concat::evaluate;
use super::{fault, no_comma};

/// A JSON value and its span.
#[derive(Debug, Clone)]
pub(crate) struct Json {
    pub(crate) value: Value,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(LitStr, Json)>),
}

/// A number. Integers are exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    #[expect(clippy::cast_precision_loss, reason = "an approximation is enough to compare kinds")]
    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    pub(crate) fn is_less_than(self, other: Self) -> bool {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => left < right,
            _ => self.as_f64() < other.as_f64(),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => value.fmt(formatter),
            // `{:?}` keeps the fraction of `1.0`, and writes `1e300` in a form that JSON accepts.
            Self::Float(value) => write!(formatter, "{value:?}"),
        }
    }
}

impl Json {
    /// Returns the name of the value's type, for messages.
    pub(crate) fn noun(&self) -> &'static str {
        match &self.value {
            Value::Null => "`null`",
            Value::Bool(_) => "a boolean",
            Value::Number(Number::Float(_)) => "a fraction",
            Value::Number(_) => "a number",
            Value::Text(_) => "a string",
            Value::List(_) => "a list",
            Value::Object(_) => "an object",
        }
    }

    /// Returns the members of an object. Other values have no members.
    pub(crate) fn members(&self) -> &[(LitStr, Self)] {
        match &self.value {
            Value::Object(members) => members,
            _ => &[],
        }
    }

    /// Converts a literal or a list of literals. Returns `None` for any other expression.
    pub(crate) fn from_expr(expr: &Expr) -> Option<darling::Result<Self>> {
        let span = expr.span();
        let value = match expr {
            Expr::Group(group) => return Self::from_expr(&group.expr),
            Expr::Paren(paren) => return Self::from_expr(&paren.expr),
            Expr::Lit(ExprLit { lit, .. }) => return from_lit(lit, false, span),
            Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => match &**expr {
                Expr::Lit(ExprLit { lit, .. }) => return from_lit(lit, true, span),
                _ => return None,
            },
            Expr::Array(array) => {
                let mut list = Vec::with_capacity(array.elems.len());
                for element in &array.elems {
                    match Self::from_expr(element)? {
                        Ok(element) => list.push(element),
                        Err(error) => return Some(Err(error)),
                    }
                }
                Value::List(list)
            }
            _ => return None,
        };
        Some(Ok(Self { value, span }))
    }
}

fn from_lit(lit: &Lit, negative: bool, span: Span) -> Option<darling::Result<Json>> {
    let value = match lit {
        Lit::Str(text) if !negative => Value::Text(text.value()),
        Lit::Char(text) if !negative => Value::Text(text.value().to_string()),
        Lit::Bool(value) if !negative => Value::Bool(value.value),
        Lit::Int(number) => {
            let sign = if negative { "-" } else { "" };
            match format!("{sign}{}", number.base10_digits()).parse() {
                Ok(value) => Value::Number(Number::Int(value)),
                Err(_) => {
                    return Some(Err(fault(span, "this number is too large: write a smaller one")));
                }
            }
        }
        Lit::Float(number) => match number.base10_parse::<f64>() {
            Ok(value) if value.is_finite() => {
                Value::Number(Number::Float(if negative { -value } else { value }))
            }
            _ => return Some(Err(fault(span, "this number is too large: write a smaller one"))),
        },
        _ => return None,
    };
    Some(Ok(Json { value, span }))
}

impl Parse for Json {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let span = input.span();
        if input.peek(syn::token::Brace) {
            let content;
            let brace = braced!(content in input);
            return Ok(Self { value: object(&content)?, span: brace.span.join() });
        }
        if input.peek(syn::token::Bracket) {
            let content;
            let bracket = bracketed!(content in input);
            let value = list(&content)?;
            return Ok(Self { value, span: bracket.span.join() });
        }
        if input.peek(Ident::peek_any) && input.peek2(Token![!]) {
            let mut call = Expr::Macro(input.parse()?);
            evaluate(&mut call);
            return match Self::from_expr(&call) {
                Some(json) => json.map_err(Into::into),
                None => Err(syn::Error::new(
                    span,
                    "this macro is not expanded here: write its value, or `concat!(…)` with literals alone",
                )),
            };
        }
        if input.peek(Ident::peek_any) && !input.peek(syn::LitBool) {
            let word = input.call(Ident::parse_any)?;
            if word == "null" {
                return Ok(Self { value: Value::Null, span });
            }
            return Err(syn::Error::new(
                span,
                format!("`{word}` is not JSON: write its value, such as `1` or `\"text\"`"),
            ));
        }
        let negative = input.parse::<Option<Token![-]>>()?.is_some();
        let lit: Lit = input.parse().map_err(|error| {
            syn::Error::new(
                error.span(),
                "this is not JSON: write a string, a number, `true`, `false`, `null`, a list or an object",
            )
        })?;
        // The literal may be in the invisible group of a macro's fragment. The span of that group is inside the macro.
        let span = if negative { span } else { lit.span() };
        match from_lit(&lit, negative, span) {
            Some(Ok(json)) => Ok(json),
            Some(Err(error)) => Err(error.into()),
            None => Err(syn::Error::new(
                span,
                "this literal has no JSON form: write a string, a number or a boolean",
            )),
        }
    }
}

fn list(content: ParseStream<'_>) -> syn::Result<Value> {
    let mut list = Vec::new();
    while !content.is_empty() {
        list.push(content.parse()?);
        comma(content)?;
    }
    Ok(Value::List(list))
}

/// Parses the comma between members. A comma after the last member is optional.
fn comma(content: ParseStream<'_>) -> syn::Result<()> {
    match content.parse::<Option<Token![,]>>()? {
        None if !content.is_empty() => Err(no_comma(content)),
        _ => Ok(()),
    }
}

fn object(content: ParseStream<'_>) -> syn::Result<Value> {
    let mut members: Vec<(LitStr, Json)> = Vec::new();
    while !content.is_empty() {
        if content.peek(Ident::peek_any) {
            let word = content.call(Ident::parse_any)?;
            return Err(syn::Error::new(
                word.span(),
                format!("key `{word}` has no quotes: write `\"{word}\"`"),
            ));
        }
        let key: LitStr = content.parse().map_err(|error| {
            syn::Error::new(error.span(), "this is not a JSON key: write a string in quotes")
        })?;
        if members.iter().any(|(known, _)| known.value() == key.value()) {
            return Err(syn::Error::new(
                key.span(),
                format!("key `{}` is written twice: keep one", key.value()),
            ));
        }
        let colon = content.parse::<Option<Token![:]>>()?;
        let fault = if content.is_empty() || content.peek(Token![,]) {
            format!("key `{}` has no value", key.value())
        } else if colon.is_none() {
            format!("there is no `:` after key `{}`", key.value())
        } else {
            members.push((key, content.parse()?));
            comma(content)?;
            continue;
        };
        let message = format!("{fault}: write `\"{}\": …`", key.value());
        return Err(syn::Error::new(key.span(), message));
    }
    Ok(Value::Object(members))
}

/// Formats the value as compact JSON.
impl fmt::Display for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Null => formatter.write_str("null"),
            Value::Bool(value) => value.fmt(formatter),
            Value::Number(number) => number.fmt(formatter),
            Value::Text(text) => write_text(text, formatter),
            Value::List(list) => {
                formatter.write_char('[')?;
                for (index, element) in list.iter().enumerate() {
                    if index > 0 {
                        formatter.write_char(',')?;
                    }
                    element.fmt(formatter)?;
                }
                formatter.write_char(']')
            }
            Value::Object(members) => {
                formatter.write_char('{')?;
                for (index, (key, value)) in members.iter().enumerate() {
                    if index > 0 {
                        formatter.write_char(',')?;
                    }
                    write_text(&key.value(), formatter)?;
                    formatter.write_char(':')?;
                    value.fmt(formatter)?;
                }
                formatter.write_char('}')
            }
        }
    }
}

fn write_text(text: &str, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    formatter.write_char('"')?;
    for character in text.chars() {
        match character {
            '"' => formatter.write_str("\\\"")?,
            '\\' => formatter.write_str("\\\\")?,
            '\n' => formatter.write_str("\\n")?,
            '\r' => formatter.write_str("\\r")?,
            '\t' => formatter.write_str("\\t")?,
            control if (control as u32) < 0x20 => write!(formatter, "\\u{:04x}", control as u32)?,
            other => formatter.write_char(other)?,
        }
    }
    formatter.write_char('"')
}

/// Parses the value of an option as a literal.
impl FromMeta for Json {
    fn from_expr(expr: &Expr) -> darling::Result<Self> {
        Self::from_expr(expr).unwrap_or_else(|| {
            Err(fault(expr.span(), "this is not a literal: write a string, a number or a boolean"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str) -> String {
        syn::parse_str::<Json>(source)
            .map_or_else(|error| error.to_string(), |json| json.to_string())
    }

    #[test]
    fn tokens_become_json_text() {
        for (source, expected) in [
            (r#"{ "a": [1, -2, 2.5, 1e3], "b": { } }"#, r#"{"a":[1,-2,2.5,1000.0],"b":{}}"#),
            ("null", "null"),
            ("true", "true"),
            ("0x10", "16"),
            (r#""a\"b\\c\n\u{1}é""#, r#""a\"b\\c\n\u0001é""#),
        ] {
            assert_eq!(text(source), expected, "{source}");
        }
    }

    #[test]
    fn invalid_json_is_reported_with_its_reason() {
        for (source, expected) in [
            ("{ a: 1 }", "key `a` has no quotes: write `\"a\"`"),
            (r#"{ "a": b }"#, "`b` is not JSON: write its value, such as `1` or `\"text\"`"),
            (r#"{ "a": }"#, "key `a` has no value: write `\"a\": …`"),
            (r#"{ "a", "b": 1 }"#, "key `a` has no value: write `\"a\": …`"),
            (r#"{ "a" 1 }"#, "there is no `:` after key `a`: write `\"a\": …`"),
            (r#"{ "a": 1 "b": 2 }"#, "there is no comma before `\"b\"`: write one"),
            ("[1 2]", "there is no comma before `2`: write one"),
            ("[1 [2]]", "there is no comma before this: write one"),
            (r#"{ "a": 1, "a": 2 }"#, "key `a` is written twice: keep one"),
            ("b\"x\"", "this literal has no JSON form: write a string, a number or a boolean"),
        ] {
            assert_eq!(text(source), expected, "{source}");
        }
    }
}
