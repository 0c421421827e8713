//! A task board that lasts: the reference adapter. `cargo run --example tasks -- --help`.
//!
//! | file | what is in it |
//! |---|---|
//! | `model.rs` | what a task is |
//! | `operations.rs` | what a caller can do |
//! | `export.rs` | all tasks as one text |
//! | `error.rs` | what can go wrong |
//! | `store/` | where the tasks are kept: one SQLite file |

mod error;
mod export;
mod model;
mod operations;
mod store;

use std::path::{Path, PathBuf};

use mcp_aql::cli::clap::{self, Parser};
use mcp_aql::prelude::*;
use mcp_aql::store::SqliteStore;
use operations::Tasks;
use store::TaskStore;

/// A task board that lasts, for models and people.
#[derive(Debug, Parser)]
#[command(name = "tasks", version)]
struct Arguments {
    /// Where the tasks are kept; made when it does not exist
    #[arg(long, value_name = "PATH", default_value = "tasks.db", global = true)]
    db: PathBuf,
    #[command(flatten)]
    mcp: mcp_aql::cli::Options,
}

#[tokio::main]
async fn main() -> mcp_aql::Result<()> {
    let arguments = Arguments::parse();
    if arguments.mcp.answer_alone::<Arguments>()? {
        return Ok(());
    }
    let state = beside(&arguments.db);
    let store = TaskStore::open(arguments.db).await?;
    let cursor_key = store.cursor_key().await?;
    Adapter::builder("tasks")
        .version(env!("CARGO_PKG_VERSION"))
        .operations(Tasks::new(store))
        .cursor_key(cursor_key)
        .store(SqliteStore::open(state))
        .build()?
        .run_command_of::<Arguments>(arguments.mcp)
        .await
}

/// The file for what is no task: executions and confirmations, `tasks.db.state`.
fn beside(db: &Path) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push(".state");
    name.into()
}
