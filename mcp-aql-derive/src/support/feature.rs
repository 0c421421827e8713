//! Reports missing features of the runtime.

use std::fmt::Display;

use proc_macro2::Span;

use super::fault;

/// `true` if the runtime has the feature `query`. That feature enables the one of this crate.
const QUERY: bool = cfg!(any(feature = "query", test));

/// Returns an error if the feature `query` is off. The error says that `user` needs it.
pub(crate) fn query(user: impl Display, span: Span) -> Option<darling::Error> {
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
