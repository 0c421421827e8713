//! The command line that all benchmarks share.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::Result;
use crate::table::Table;

/// The workspace root. Relative folders are resolved against it.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Describes a benchmark that prints one table.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// The package of the benchmark, for the usage message.
    pub package: &'static str,
    /// The name, without extension, of the files written by `--out`.
    pub name: &'static str,
}

/// The arguments of a run.
#[derive(Debug, Default)]
pub struct Arguments {
    /// The folder to write files to.
    pub out: Option<PathBuf>,
    /// The number of rounds.
    pub rounds: Option<usize>,
    /// Only rows with this string in their name are measured. Empty means all rows.
    pub filter: String,
}

impl Command {
    /// Parses the arguments, measures and prints the table.
    pub fn run(self, measure: impl Fn(&Arguments, &dyn Fn(&str)) -> Result<Table>) -> ExitCode {
        match self.try_run(measure) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "error: {error}");
                ExitCode::FAILURE
            }
        }
    }

    fn try_run(self, measure: impl Fn(&Arguments, &dyn Fn(&str)) -> Result<Table>) -> Result {
        let arguments = self.read(std::env::args().skip(1))?;
        let progress = |name: &str| {
            let _ = writeln!(std::io::stderr(), "measuring {name}");
        };
        let table = measure(&arguments, &progress)?;
        writeln!(std::io::stdout(), "\n{}", table.text())?;
        if let Some(folder) = arguments.out {
            table.write(&folder, self.name)?;
        }
        Ok(())
    }

    fn read(self, mut arguments: impl Iterator<Item = String>) -> Result<Arguments> {
        let usage =
            format!("cargo bench -p {} [-- [--out DIR] [--rounds N] [FILTER]]", self.package);
        let mut read = Arguments::default();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| usage.clone());
            match argument.as_str() {
                // Cargo passes this to every benchmark.
                "--bench" => {}
                // Resolve the path here, because Cargo runs a benchmark in the folder of its package.
                "--out" => read.out = Some(PathBuf::from(ROOT).join(value()?)),
                "--rounds" => read.rounds = Some(value()?.parse()?),
                filter if !filter.starts_with('-') => filter.clone_into(&mut read.filter),
                _ => return Err(usage.into()),
            }
        }
        if read.rounds == Some(0) {
            return Err("the number of rounds must be 1 or more".into());
        }
        Ok(read)
    }
}
