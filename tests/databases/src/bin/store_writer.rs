//! Writes records to an SQLite store until the test kills it: `store_writer FILE NAME`. Prints each acknowledged write.
//!
//! You can also start it yourself:
//!
//! ```console
//! $ store_writer state.db a
//! 0
//! 1
//! ```

use std::io::Write as _;
use std::process::ExitCode;

use mcp_aql::store::{Change, Expected, NewRecord, SqliteState, StateStore, StoreError};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(name)) = (arguments.next(), arguments.next()) else {
        eprintln!("store_writer FILE NAME");
        return ExitCode::FAILURE;
    };
    match write(&SqliteState::open(file), &name).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Adds records in an endless loop. Each write also updates the record with the latest number.
async fn write(store: &impl StateStore, name: &str) -> Result<(), StoreError> {
    let mut out = std::io::stdout();
    let mut latest = Expected::Absent;
    for number in 0_u64.. {
        let record = NewRecord::new("x".repeat(200 + (number % 7 * 300) as usize)).group(name);
        let changes = vec![
            Change::put("records", format!("{name} {number:06}"), Expected::Absent, record),
            Change::put("latest", name, latest, NewRecord::new(number.to_string())),
        ];
        if !store.write(changes).await? {
            return Err(StoreError::failed("somebody else writes under this name"));
        }
        // The parent can read lines in the pipe even after this process was killed.
        if writeln!(out, "{number}").and_then(|()| out.flush()).is_err() {
            return Ok(());
        }
        if let Some(record) = store.get("latest", name).await? {
            latest = Expected::Version(record.version);
        }
    }
    Ok(())
}
