//! Reads doc comments. They become the descriptions of operations, parameters and fields.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Attribute, Expr, ExprLit, ExprMacro, Lit, Meta};

use super::concat::evaluate;
use super::{fault, strip};

/// The doc comment of an item.
#[derive(Debug, Clone)]
pub(crate) struct Doc {
    parts: Vec<Part>,
    /// The span of the first line. `None` if there is no comment.
    span: Option<Span>,
}

/// A part of a doc comment.
#[derive(Debug, Clone)]
enum Part {
    Text(String),
    /// A macro such as `include_str!("…")`. rustc expands it where the description is used.
    Macro(ExprMacro),
}

impl Doc {
    /// Reads the comment. The space after `///`, and empty lines at both ends, are removed.
    pub(crate) fn of(attributes: &[Attribute]) -> Self {
        let mut parts = Vec::new();
        let mut lines: Vec<String> = Vec::new();
        let mut span = None;
        for attribute in attributes {
            let Meta::NameValue(doc) = &attribute.meta else { continue };
            if !doc.path.is_ident("doc") {
                continue;
            }
            let mut value = doc.value.clone();
            evaluate(&mut value);
            match strip(&value) {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
                    for line in text.value().split('\n') {
                        lines.push(line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned());
                    }
                }
                Expr::Macro(call) => {
                    parts.extend(joined(&mut lines));
                    parts.push(Part::Macro(call.clone()));
                }
                _ => continue,
            }
            span = span.or(Some(attribute.pound_token.span));
        }
        parts.extend(joined(&mut lines));
        if let [Part::Text(text)] = parts.as_mut_slice() {
            *text = text.trim().to_owned();
        }
        Self { parts, span }
    }

    fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Text(text) if text.trim().is_empty()))
    }

    /// Returns the error for a missing or empty description.
    pub(crate) fn fault(&self, what: &str, name: &str, span: Span) -> Option<darling::Error> {
        if !self.is_empty() {
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

/// Generates the description as a constant expression.
impl ToTokens for Doc {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self.parts.as_slice() {
            [] => "".to_tokens(tokens),
            [Part::Text(text)] => text.to_tokens(tokens),
            [first, rest @ ..] => {
                tokens.extend(quote!(::core::concat!(#first #(, "\n", #rest)*).trim_ascii()));
            }
        }
    }
}

impl ToTokens for Part {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Text(text) => text.to_tokens(tokens),
            Self::Macro(call) => call.to_tokens(tokens),
        }
    }
}

/// Joins the lines collected before a macro call or at the end.
fn joined(lines: &mut Vec<String>) -> Option<Part> {
    let lines = std::mem::take(lines);
    (!lines.is_empty()).then(|| Part::Text(lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::Doc;
    use quote::ToTokens as _;
    use syn::parse_quote;

    fn tokens(function: &syn::ItemFn) -> String {
        Doc::of(&function.attrs).to_token_stream().to_string()
    }

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
        assert_eq!(tokens(&function), r#""Create a task.\n\n    indented""#);
    }

    #[test]
    fn blank_comments_are_no_description() {
        let function: syn::ItemFn = parse_quote! {
            ///
            fn f() {}
        };
        let doc = Doc::of(&function.attrs);
        assert_eq!(tokens(&function), r#""""#);
        assert!(doc.fault("operation", "f", function.sig.ident.span()).is_some());
    }

    #[test]
    fn macros_of_literals_are_evaluated_and_others_are_left_to_rustc() {
        let text: syn::ItemFn = parse_quote! {
            #[doc = concat!("Create a ", stringify!(task), ".")]
            fn f() {}
        };
        assert_eq!(tokens(&text), r#""Create a task.""#);
        let file: syn::ItemFn = parse_quote! {
            /// Create a task.
            #[doc = include_str!("task.md")]
            /// At once.
            fn f() {}
        };
        let expected = r#":: core :: concat ! ("Create a task." , "\n" , include_str ! ("task.md") , "\n" , "At once.") . trim_ascii ()"#;
        assert_eq!(tokens(&file), expected);
        let alone: syn::ItemFn = parse_quote! {
            #[doc = include_str!("task.md")]
            fn f() {}
        };
        let expected = r#":: core :: concat ! (include_str ! ("task.md")) . trim_ascii ()"#;
        assert_eq!(tokens(&alone), expected);
    }
}
