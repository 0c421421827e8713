//! `cargo bench -p mcp-aql-bench`: measures, and prints one table.
//!
//! ```console
//! $ cargo bench -p mcp-aql-bench                      # everything
//! $ cargo bench -p mcp-aql-bench -- stdio             # what has this in its name
//! $ cargo bench -p mcp-aql-bench -- --out target/bench # also as JSON and as a chart, in a folder of the workspace
//! $ cargo bench -p mcp-aql-bench -- --rounds 5        # fewer rounds, for a look
//! ```

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use mcp_aql_bench::table::Table;
use mcp_aql_bench::{Programs, Result, Scale, Setup};

const USAGE: &str = "cargo bench -p mcp-aql-bench [-- [--out DIR] [--rounds N] [FILTER]]";

/// The workspace, in which a relative folder lies.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

#[derive(Default)]
struct Arguments {
    out: Option<PathBuf>,
    rounds: Option<usize>,
    filter: String,
}

impl Arguments {
    fn read(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut read = Self::default();
        let mut arguments = arguments.peekable();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(USAGE);
            match argument.as_str() {
                // Cargo says so on its own.
                "--bench" => {}
                "--out" => {
                    // Cargo runs this in the package's folder, which nobody means.
                    read.out = Some(PathBuf::from(ROOT).join(value()?));
                }
                "--rounds" => read.rounds = Some(value()?.parse()?),
                filter if !filter.starts_with('-') => filter.clone_into(&mut read.filter),
                _ => return Err(USAGE.into()),
            }
        }
        if read.rounds == Some(0) {
            return Err("one round at least".into());
        }
        Ok(read)
    }
}

fn run() -> Result {
    let arguments = Arguments::read(std::env::args().skip(1))?;
    let mut scale = Scale::FULL;
    if let Some(rounds) = arguments.rounds {
        scale.rounds = rounds;
    }
    let programs = Programs {
        ours: env!("CARGO_BIN_EXE_records_aql").into(),
        peer: env!("CARGO_BIN_EXE_records_rmcp").into(),
    };
    let setup = Setup { programs, scale };
    let progress = |name: &str| {
        let _ = writeln!(std::io::stderr(), "measuring {name}");
    };
    let table = Table::measure(&setup, &arguments.filter, progress)?;
    writeln!(std::io::stdout(), "\n{}", table.text())?;
    if let Some(folder) = arguments.out {
        table.write(&folder)?;
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}
