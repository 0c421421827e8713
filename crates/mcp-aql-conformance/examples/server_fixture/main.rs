//! Servers for the tests of the command.
//!
//! ```text
//! server_fixture garden FAULTS…  a small adapter that makes these mistakes
//! server_fixture hostile NAME    a server that no runner can test
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a part of the tests"
)]

mod garden;
mod hostile;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((kind, faults)) if kind == "garden" => garden::serve(faults),
        Some((kind, [name])) if kind == "hostile" => hostile::serve(name),
        _ => return ExitCode::FAILURE,
    }
    ExitCode::SUCCESS
}
