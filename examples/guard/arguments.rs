//! Parses the guard's command line and creates the directory of its state.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};

use mcp_aql::cli::clap::{self, CommandFactory as _, error::ErrorKind};
use mcp_aql::observe::LogFormat;
use mcp_aql::store::SqliteState;

/// Watches over agents: they report each action before they take it, and an operator can stop them.
///
/// Without a command it serves MCP on standard input and output.
#[derive(Debug, clap::Parser)]
#[command(name = "guard", version)]
pub(crate) struct Arguments {
    /// Read the policy from this file: an mcp-aql.toml with a table [safety_loop]
    #[arg(long, visible_alias = "config", global = true, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Directory for blocks, the audit log and the console's key [default: the user's state directory]
    #[arg(long, global = true, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Serve the operator console on this port of 127.0.0.1; 0 selects a free port
    #[arg(long, global = true, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
    /// Keep operators signed in after a restart of the guard; requires --port
    #[arg(long, global = true)]
    pub(crate) stay_signed_in: bool,
    /// Also show requests, with their codes, on the guard's controlling terminal
    #[arg(long, global = true)]
    pub(crate) terminal: bool,
    /// Run this program for each request, with the request and its code on standard input
    #[arg(long, global = true, value_name = "PROGRAM")]
    pub(crate) notify: Option<OsString>,
    /// Print JSON even if standard output is a terminal
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Log to standard error in this format, text or json; json has a line for each call
    #[arg(long, global = true, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
    #[command(subcommand)]
    pub(crate) command: Option<GuardCommand>,
}

#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum GuardCommand {
    /// Print one-time links to the consoles of all running guards
    Console {
        /// Your name in the audit log [default: your user account]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
    },
    #[command(flatten)]
    Adapter(Box<mcp_aql::cli::Command>),
}

impl Arguments {
    /// Exits with an error if the location of one of the guard's files depends on the working directory.
    ///
    /// A client starts the guard in a project's folder, and agents write there. Resolved against this folder,
    /// `policy.toml` would be a file that the guarded agent or the author of the project wrote.
    pub(crate) fn require_absolute_paths(&self) {
        let notify = self.notify.as_deref().map(Path::new);
        // A bare program name is safe: it is looked up in the folders of `PATH`, not in the working directory.
        let notify = notify.filter(|program| program.components().count() > 1);
        for (flag, path) in [
            ("--policy", self.policy.as_deref()),
            ("--state", self.state.as_deref()),
            ("--notify", notify),
        ] {
            let Some(path) = path.filter(|path| path.is_relative()) else { continue };
            let problem = format!(
                "{flag} {}: the path is relative to the working directory of the client, and agents can \
                 write there. Write an absolute path; `config claude` prints it",
                path.display()
            );
            Self::command().error(ErrorKind::ValueValidation, problem).exit();
        }
    }

    /// Returns the directory of the persistent state: that of `--state`, or one in the user's home.
    pub(crate) fn state(&self) -> mcp_aql::Result<PathBuf> {
        if let Some(folder) = &self.state {
            return Ok(std::path::absolute(folder)?);
        }
        let usual = SqliteState::in_user_state("guard").map_err(|error| {
            mcp_aql::Error::other(format!("{error}, or a folder with --state DIR"))
        })?;
        Ok(usual.path().parent().map(Path::to_owned).unwrap_or_default())
    }

    /// Returns the command that prints the operator's sign-in links for this guard.
    pub(crate) fn login_command(&self) -> String {
        match &self.state {
            None => "guard console".to_owned(),
            Some(folder) => {
                let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
                format!("guard --state {} console", quoted(&folder.to_string_lossy()))
            }
        }
    }
}

/// Quotes an argument for a POSIX shell, for example `a b` → `'a b'`. Plain arguments stay as they are.
fn quoted(argument: &str) -> String {
    let plain = |each: char| each.is_alphanumeric() || "/\\:._-+@".contains(each);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

/// Creates a directory that only the current user can open.
pub(crate) fn make_folder(folder: &Path) -> mcp_aql::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| {
        let told = format!("cannot create '{}': {error}", folder.display());
        io::Error::new(error.kind(), told)
    })?;
    Ok(())
}
