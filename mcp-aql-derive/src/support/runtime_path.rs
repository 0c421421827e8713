//! Determines the path by which generated code names the runtime.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Ident, Path};

/// The path of the runtime.
///
/// The option `crate` has precedence. The next choice is the name of `mcp-aql` in the user's manifest, and the last one
/// is `::mcp_aql`.
#[derive(Debug, Clone)]
pub(crate) struct RuntimePath(TokenStream);

impl RuntimePath {
    pub(crate) fn new(written: Option<&Path>) -> Self {
        if let Some(path) = written {
            return Self(path.to_token_stream());
        }
        match crate_name("mcp-aql") {
            Ok(FoundCrate::Name(name)) => {
                let name = Ident::new(&name, Span::call_site());
                Self(quote!(::#name))
            }
            // In the runtime itself, in its tests and in its examples, `extern crate self` provides the name.
            Ok(FoundCrate::Itself) | Err(_) => Self(quote!(::mcp_aql)),
        }
    }

    /// Returns the same path, located at `span`.
    pub(crate) fn at(&self, span: Span) -> Self {
        let moved = self.0.clone().into_iter().map(|mut token| {
            token.set_span(token.span().located_at(span));
            token
        });
        Self(moved.collect())
    }
}

impl ToTokens for RuntimePath {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.0.to_tokens(tokens);
    }
}
