//! The runtime as generated code names it, and its features.

use std::fmt::Display;

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Ident, Path};

use super::fault;

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

    /// Generates the block with all items of an expansion. In it, `__rt` stands for the module of the runtime with
    /// everything that generated code uses, so that the paths are short:
    ///
    /// ```text
    /// const _: () = {
    ///     use ::mcp_aql::__private as __rt;
    ///     impl __rt::Operations for Tasks { … }
    /// };
    /// ```
    pub(crate) fn block(&self, items: &TokenStream) -> TokenStream {
        let Self(path) = self;
        quote! {
            const _: () = {
                use #path::__private as __rt;
                #items
            };
        }
    }
}

/// Returns the name `__rt`, located at `span`, so that rustc reports errors about the path there.
pub(crate) fn alias_at(span: Span) -> Ident {
    Ident::new("__rt", Span::call_site().located_at(span))
}

/// `true` if the runtime has the feature `query`. That feature enables the feature `query` of this crate.
const QUERY: bool = cfg!(any(feature = "query", test));

/// Returns an error if the feature `query` is off. The error says that `user` needs it.
pub(crate) fn needs_query(user: impl Display, span: Span) -> Option<darling::Error> {
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    (!QUERY).then(|| {
        fault(
            span,
            format_args!(
                "`{user}` needs the feature `query` of `mcp-aql`, which is off: write `mcp-aql = {{ version = \"{VERSION}\", features = [\"query\"] }}` in Cargo.toml, with the features that are there already"
            ),
        )
    })
}
