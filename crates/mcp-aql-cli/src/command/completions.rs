//! The command `completions`, and the name of the program.

use std::io::Write as _;
use std::path::PathBuf;

use clap_complete::Shell;
use mcp_aql_core::main_error::Result;

use super::Exit;

pub(super) fn completions(shell: Shell, mut parser: clap::Command) -> Result<Exit> {
    let name = program().unwrap_or_else(|| parser.get_name().to_owned());
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut parser, name, &mut text);
    std::io::stdout().write_all(&text)?;
    Ok(Exit::Success)
}

/// The program's name, as it was invoked.
pub(super) fn program() -> Option<String> {
    let path = PathBuf::from(std::env::args_os().next()?);
    Some(path.file_stem()?.to_string_lossy().into_owned())
}
