//! Evaluates `concat!` and `stringify!` of literals.
//!
//! Attributes reach the macros before rustc expands the macro calls inside of them.
//!
//! ```text
//! concat!("a", 1) → "a1"
//! ```

use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Expr, ExprLit, ExprMacro, ExprUnary, Lit, LitStr, Macro, Token, UnOp};

/// Replaces `concat!(…)` and `stringify!(…)` by a string literal, also inside a list. Other expressions stay unchanged.
pub(crate) fn evaluate(expr: &mut Expr) {
    match expr {
        Expr::Group(group) => evaluate(&mut group.expr),
        Expr::Paren(paren) => evaluate(&mut paren.expr),
        Expr::Array(array) => array.elems.iter_mut().for_each(evaluate),
        Expr::Macro(ExprMacro { mac, .. }) => {
            if let Some(text) = text_of(mac) {
                let lit = Lit::Str(LitStr::new(&text, mac.span()));
                *expr = Expr::Lit(ExprLit { attrs: Vec::new(), lit });
            }
        }
        _ => {}
    }
}

/// Returns the value of `stringify!`, or of `concat!` with literals.
fn text_of(mac: &Macro) -> Option<String> {
    let name = &mac.path.segments.last()?.ident;
    if name == "stringify" {
        return Some(mac.tokens.to_string());
    }
    if name != "concat" {
        return None;
    }
    let parts = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(mac.tokens.clone()).ok()?;
    parts.iter().map(part).collect()
}

/// Returns the string that an argument of `concat!` adds.
fn part(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Group(group) => part(&group.expr),
        Expr::Paren(paren) => part(&paren.expr),
        Expr::Macro(ExprMacro { mac, .. }) => text_of(mac),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => {
            number(expr).map(|digits| format!("-{digits}"))
        }
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        Expr::Lit(ExprLit { lit: Lit::Char(text), .. }) => Some(text.value().to_string()),
        Expr::Lit(ExprLit { lit: Lit::Bool(flag), .. }) => Some(flag.value.to_string()),
        other => number(other),
    }
}

fn number(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Group(group) => number(&group.expr),
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => Some(number.base10_digits().to_owned()),
        Expr::Lit(ExprLit { lit: Lit::Float(number), .. }) => {
            Some(number.base10_digits().to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use quote::ToTokens as _;
    use syn::{Expr, parse_str};

    #[test]
    fn evaluates_macros_of_literals() {
        for (source, expected) in [
            (r#"concat!("a", "_b")"#, r#""a_b""#),
            (r#"std::concat!("a", 1, -2.5, true, 'c',)"#, r#""a1-2.5truec""#),
            (r#"concat!("a", concat!("b", stringify!(c)))"#, r#""abc""#),
            ("stringify!(task)", r#""task""#),
            (r#"[concat!("a", "b"), "c"]"#, r#"["ab" , "c"]"#),
            (r#"concat!("a", env!("HOME"))"#, r#"concat ! ("a" , env ! ("HOME"))"#),
            (r#"format!("a")"#, r#"format ! ("a")"#),
        ] {
            let mut expr: Expr = parse_str(source).unwrap();
            super::evaluate(&mut expr);
            assert_eq!(expr.to_token_stream().to_string(), expected, "{source}");
        }
    }
}
