//! A lending library with an endpoint profile of its own. Run `cargo run -p library -- introspect`.
//!
//! | file | contents |
//! |---|---|
//! | `model.rs` | books, members and loans |
//! | `operations.rs` | the operations and their families |
//! | `error.rs` | the errors of the lending rules |
//! | `stock.rs` | the data: in memory, with some books to start with |

mod error;
mod model;
mod operations;
mod stock;

use mcp_aql::prelude::*;
use mcp_aql::{EndpointProfile, SemanticCategory as Category};
use operations::Library;
use stock::Stock;

/// Returns the endpoint families of the library, which a client can allow one by one.
///
/// `discover` has no category, so it contains only the operations that name it. `manage` has three categories, so its
/// tool carries the annotations of the riskiest.
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
        .build()
        .run()
        .await
}
