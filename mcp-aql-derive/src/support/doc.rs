//! Doc comments are descriptions.

use proc_macro2::Span;
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

use super::fault;

/// What an item's doc comment says.
#[derive(Debug, Clone)]
pub(crate) struct Doc {
    text: String,
    /// Where it stands, if there is one.
    span: Option<Span>,
}

impl Doc {
    /// Lines lose the one space after `///`; empty lines at the edges go.
    pub(crate) fn of(attributes: &[Attribute]) -> Self {
        let mut lines = Vec::new();
        let mut span = None;
        for attribute in attributes {
            let Meta::NameValue(doc) = &attribute.meta else { continue };
            if !doc.path.is_ident("doc") {
                continue;
            }
            if let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &doc.value {
                span = span.or(Some(attribute.pound_token.span));
                for line in text.value().split('\n') {
                    lines.push(line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned());
                }
            }
        }
        Self { text: lines.join("\n").trim().to_owned(), span }
    }

    /// The text; a missing one is empty.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The complaint that something is not described.
    pub(crate) fn fault(&self, what: &str, name: &str, span: Span) -> Option<darling::Error> {
        if !self.text.is_empty() {
            return None;
        }
        Some(match self.span {
            Some(comment) => {
                let about = if what == "operation" { "what it does" } else { "what it is" };
                let message =
                    format_args!("the doc comment of `{name}` is empty: write {about} after `///`");
                fault(comment, message)
            }
            None => fault(
                span,
                format_args!(
                    "{what} `{name}` has no description: write a doc comment above it, `/// …`"
                ),
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Doc;
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
        assert_eq!(Doc::of(&function.attrs).text(), "Create a task.\n\n    indented");
    }

    #[test]
    fn blank_comments_are_no_description() {
        let function: syn::ItemFn = parse_quote! {
            ///
            fn f() {}
        };
        let doc = Doc::of(&function.attrs);
        assert_eq!(doc.text(), "");
        assert!(doc.fault("operation", "f", function.sig.ident.span()).is_some());
    }
}
