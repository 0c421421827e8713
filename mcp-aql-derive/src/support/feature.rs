//! Reports features of the runtime that are missing.

use std::fmt::Display;

use proc_macro2::Span;

use super::fault;

/// Whether the runtime has the feature `query`, which enables the feature of this crate.
const QUERY: bool = cfg!(any(feature = "query", test));

/// Returns the error that `user` needs the feature `query`, if the feature is off.
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
