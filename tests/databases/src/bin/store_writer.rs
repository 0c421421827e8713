//! Writes records into an SQLite store and prints each acknowledged one, until it is killed by the test:
//! `store_writer FILE NAME`.

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

/// Each write adds a record and updates the one that holds the latest number.
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
        // Lines in the pipe reach the parent even if this process is killed.
        if writeln!(out, "{number}").and_then(|()| out.flush()).is_err() {
            return Ok(());
        }
        if let Some(record) = store.get("latest", name).await? {
            latest = Expected::Version(record.version);
        }
    }
    Ok(())
}
