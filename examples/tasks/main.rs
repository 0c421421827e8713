//! A persistent task board: the reference adapter. Start here if you want to see all features together.
//!
//! ```console
//! $ cargo run -p tasks -- --help
//! $ cargo run -p tasks -- call create_task '{"title":"Milk"}'
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `model.rs` | tasks |
//! | `operations.rs` | the operations |
//! | `export.rs` | the export of all tasks |
//! | `error.rs` | the errors |
//! | `store/` | the storage in one SQLite file |

mod error;
mod export;
mod model;
mod operations;
mod store;

use std::path::{Path, PathBuf};

use mcp_aql::cli::clap::{self, Parser};
use mcp_aql::prelude::*;
use mcp_aql::store::SqliteState;
use operations::Tasks;
use store::TaskStore;

/// A persistent task board, for models and people.
#[derive(Debug, Parser)]
#[command(name = "tasks", version, long_version = mcp_aql::cli::long_version(env!("CARGO_PKG_VERSION")))]
struct Arguments {
    /// File that contains the tasks; created if it does not exist
    #[arg(long, value_name = "PATH", default_value = "tasks.db", global = true)]
    db: PathBuf,
    #[command(flatten)]
    mcp: mcp_aql::cli::Options,
}

#[tokio::main]
async fn main() -> mcp_aql::Result<()> {
    let arguments = Arguments::parse();
    // Some commands, such as `completions`, need no adapter. Run them before opening any files.
    if arguments.mcp.run_without_adapter::<Arguments>()? {
        return Ok(());
    }
    let state = beside(&arguments.db);
    let store = TaskStore::open(arguments.db).await?;
    let cursor_key = store.cursor_key().await?;
    Adapter::builder("tasks")
        .version(env!("CARGO_PKG_VERSION"))
        // Without this key, each process makes its own, and your clients lose their cursors with every restart.
        .operations(Tasks::new(store))
        .cursor_key(cursor_key)
        // The store keeps the framework's state, such as executions and confirmation tokens.
        .store(SqliteState::open(state))
        .build()
        .run_command_of::<Arguments>(arguments.mcp)
        .await
}

/// Returns the file for the framework's own data, such as executions and confirmations: `tasks.db` → `tasks.db.state`.
fn beside(db: &Path) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push(".state");
    name.into()
}
