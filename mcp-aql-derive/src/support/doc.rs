//! Doc comments are descriptions.

use proc_macro2::Span;
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

use super::fault;

/// The text of an item's doc comment, or `None` when it has none or an empty one.
///
/// Lines lose the one space after `///`; empty lines at the edges go.
pub(crate) fn description(attributes: &[Attribute]) -> Option<String> {
    let mut lines = Vec::new();
    for attribute in attributes {
        let Meta::NameValue(doc) = &attribute.meta else { continue };
        if !doc.path.is_ident("doc") {
            continue;
        }
        if let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &doc.value {
            for line in text.value().split('\n') {
                lines.push(line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned());
            }
        }
    }
    let text = lines.join("\n");
    let text = text.trim();
    if text.is_empty() { None } else { Some(text.to_owned()) }
}

/// The complaint that something is not described.
pub(crate) fn missing(what: &str, name: &str, span: Span) -> darling::Error {
    fault(
        span,
        format_args!("{what} `{name}` has no description: write a doc comment above it, `/// …`"),
    )
}

#[cfg(test)]
mod tests {
    use super::description;
    use syn::parse_quote;

    #[test]
    fn lines_are_joined_and_edges_trimmed() {
        let function: syn::ItemFn = parse_quote! {
            ///
            /// Create a task.
            ///
            ///     indented
            #[inline]
            fn f() {}
        };
        assert_eq!(description(&function.attrs).as_deref(), Some("Create a task.\n\n    indented"));
    }

    #[test]
    fn blank_comments_are_no_description() {
        let function: syn::ItemFn = parse_quote! {
            ///
            fn f() {}
        };
        assert_eq!(description(&function.attrs), None);
    }
}
