//! A lending library whose operations are grouped into its own endpoint families.
//!
//! ```console
//! $ cargo run -p library -- introspect
//! $ cargo run -p library -- call find_books '{"word":"whale"}'
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `model.rs` | books, members and loans |
//! | `operations.rs` | the operations and their families |
//! | `error.rs` | the errors of the lending rules |
//! | `stock.rs` | the data: in memory, with a few books at the start |

mod error;
mod model;
mod operations;
mod stock;

use mcp_aql::prelude::*;
use mcp_aql::{EndpointProfile, SemanticCategory as Category};
use operations::Library;
use stock::Stock;

/// Returns the endpoint families of the library. A client can allow each of them separately.
///
/// `discover` names no category, so an operation is only part of it if its `endpoint` option says so. `manage` has
/// three categories, so the annotations of its tool are those of the riskiest one.
fn profile() -> EndpointProfile {
    EndpointProfile::custom("library")
        .family("discover", "Find books and subjects of the library.", [])
        .family("query", "Get books, members and loans by their numbers.", [Category::Read])
        .family(
            "manage",
            "Change the catalogue.",
            [Category::Create, Category::Update, Category::Delete],
        )
        .family("operate", "Manage members, loans and the stock.", [Category::Execute])
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
