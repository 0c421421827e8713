//! Complaints about features of the runtime that are off.

use std::fmt::Display;

use proc_macro2::Span;

use super::fault;

/// True if the runtime has the feature `query`, which switches on the feature of this crate.
const QUERY: bool = cfg!(any(feature = "query", test));

/// The complaint that `user` needs the feature `query`, where it is off.
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
