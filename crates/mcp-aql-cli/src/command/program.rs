//! What the command line says about the program itself: its version, its completions, and the hint at the start.

use std::io::Write as _;
use std::path::PathBuf;

use clap_complete::Shell;
use mcp_aql_core::{Adapter, Result};

use super::Exit;

/// The commit of this crate's source. `None` if the build does not know it.
const COMMIT: Option<&str> = option_env!("MCP_AQL_COMMIT");

/// Returns the version of an adapter followed by the version of mcp-aql on a second line. In release builds, the second
/// line includes the commit of mcp-aql.
///
/// `--version` prints this if your adapter has no parser of its own. Otherwise set it as the `long_version` of your
/// parser:
///
/// ```
/// use mcp_aql::cli::clap::{self, Parser};
///
/// /// Keeps tasks in a file.
/// #[derive(Parser)]
/// #[command(name = "tasks", version, long_version = mcp_aql::cli::long_version(env!("CARGO_PKG_VERSION")))]
/// struct Args {
///     #[command(flatten)]
///     mcp: mcp_aql::cli::Options,
/// }
/// ```
pub fn long_version(adapter: &str) -> String {
    let commit = COMMIT.map(|commit| format!(" (commit {commit})")).unwrap_or_default();
    format!("{adapter}\nmcp-aql {}{commit}", env!("CARGO_PKG_VERSION"))
}

pub(super) fn completions(shell: Shell, mut parser: clap::Command) -> Result<Exit> {
    let name = program().unwrap_or_else(|| parser.get_name().to_owned());
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut parser, name, &mut text);
    std::io::stdout().write_all(&text)?;
    Ok(Exit::Success)
}

/// Returns the name of the program as it was invoked.
fn program() -> Option<String> {
    let path = PathBuf::from(std::env::args_os().next()?);
    Some(path.file_stem()?.to_string_lossy().into_owned())
}

/// Prints a hint for a person who started an MCP server by hand. The commands in the hint contain the full path of the
/// program, so that they can be copied.
pub(super) fn print_start_hint(adapter: &Adapter) {
    let program = std::env::args_os().next();
    let program =
        program.map_or_else(|| adapter.name().into(), |path| path.to_string_lossy().into_owned());
    let name = adapter.name();
    let _ = writeln!(
        std::io::stderr(),
        "{name} is an MCP server. It waits for a client's messages on standard input; Ctrl-D ends it.\n\
         \n  {program} introspect      shows its operations\
         \n  {program} call OPERATION  runs one\
         \n  {program} config claude   prints what a client needs\
         \n  {program} --help          shows all commands\n"
    );
}

#[cfg(test)]
#[path = "../../build/commit.rs"]
mod commit;
