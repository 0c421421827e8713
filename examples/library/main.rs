//! A lending library with a profile of its own. `cargo run --example library -- introspect`.
//!
//! | file | what is in it |
//! |---|---|
//! | `model.rs` | what a book, a member and a loan are |
//! | `operations.rs` | what a caller can do, and in which family |
//! | `error.rs` | what the rules of the house forbid |
//! | `stock.rs` | where everything is kept: in memory, some books to begin with |

mod error;
mod model;
mod operations;
mod stock;

use mcp_aql::prelude::*;
use mcp_aql::{EndpointProfile, SemanticCategory as Category};
use operations::Library;
use stock::Stock;

/// The families of a library: what a client allows or asks about, one by one.
///
/// `discover` has no category, so that it gets those operations alone that name it. `manage` has
/// three: its tool carries the annotations of the riskiest.
fn profile() -> EndpointProfile {
    EndpointProfile::custom("library")
        .family("discover", "Find out what the library has.", [])
        .family("query", "Look up what you know the number of.", [Category::Read])
        .family(
            "manage",
            "Change the catalogue.",
            [Category::Create, Category::Update, Category::Delete],
        )
        .family("operate", "Work behind the counter: members, loans, stock.", [Category::Execute])
        .introspect_in("discover")
}

#[tokio::main]
async fn main() -> mcp_aql::Result<()> {
    Adapter::builder("library")
        .version(env!("CARGO_PKG_VERSION"))
        .instructions("Find a book with find_books, then lend it by its number with lend_book.")
        .profile(profile())
        .operations(Library::new(Stock::with_some_books()))
        .build()?
        .run()
        .await
}
