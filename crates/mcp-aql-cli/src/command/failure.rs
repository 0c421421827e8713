//! Reports the errors of building and running an adapter, and chooses the exit code.

use std::error::Error as StdError;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args as _, CommandFactory, FromArgMatches as _};
use mcp_aql_core::internal::observe::LogFormat;
use mcp_aql_core::{Adapter, BuildError, Error, Result};

use super::render::problem;
use super::{Exit, Options, RunAdapter, log};

/// The result of `build()`. You can call `run` on it directly; an error is then reported like the errors of commands.
impl<E: StdError + Send + Sync + 'static> RunAdapter for std::result::Result<Adapter, E> {
    async fn run(&self) -> Result {
        match self {
            Ok(adapter) => adapter.run().await,
            Err(error) => {
                report(error, given_log_format(std::env::args_os())).exit_process();
                Ok(())
            }
        }
    }

    fn run_with_args<A>(
        &self,
        args: impl IntoIterator<Item = A>,
    ) -> impl Future<Output = Result<ExitCode>> + Send
    where
        A: Into<OsString>,
    {
        let args: Vec<_> = args.into_iter().map(Into::into).collect();
        async move {
            match self {
                Ok(adapter) => adapter.run_with_args(args).await,
                Err(error) => {
                    let format = given_log_format(args.into_iter());
                    Ok(report(error, format).code().into())
                }
            }
        }
    }

    fn run_command(&self, options: impl Into<Options>) -> impl Future<Output = Result> + Send {
        let options = options.into();
        async move {
            match self {
                Ok(adapter) => adapter.run_command(options).await,
                Err(error) => {
                    report(error, options.log_format).exit_process();
                    Ok(())
                }
            }
        }
    }

    fn run_command_of<P: CommandFactory>(
        &self,
        options: impl Into<Options>,
    ) -> impl Future<Output = Result> + Send {
        let options = options.into();
        async move {
            match self {
                Ok(adapter) => adapter.run_command_of::<P>(options).await,
                Err(error) => {
                    report(error, options.log_format).exit_process();
                    Ok(())
                }
            }
        }
    }
}

fn report(error: &(dyn StdError + 'static), log_format: Option<LogFormat>) -> Exit {
    log::to_stderr_without_adapter(log_format);
    problem(&error.to_string());
    exit_of(error)
}

/// Returns the option `--log-format` of a command line, if it can be parsed without the adapter.
fn given_log_format(args: impl Iterator<Item = OsString>) -> Option<LogFormat> {
    let parser = Options::augment_args(clap::Command::new("adapter")).ignore_errors(true);
    let matches = parser.try_get_matches_from(args).ok()?;
    Options::from_arg_matches(&matches).ok()?.log_format
}

/// Reports the error of a command, and returns its exit code.
pub(super) fn finish(outcome: Result<Exit>) -> Exit {
    let error = match outcome {
        Ok(exit) => return exit,
        Err(error) => error,
    };
    problem(&error.to_string());
    exit_of(&error)
}

/// Returns the exit code for an error of building or running an adapter.
fn exit_of(error: &(dyn StdError + 'static)) -> Exit {
    if error.is::<BuildError>() {
        return Exit::Configuration;
    }
    match error.downcast_ref::<Error>() {
        Some(Error::Build(_)) => Exit::Configuration,
        Some(Error::Usage(_)) => Exit::Usage,
        _ => Exit::Failure,
    }
}
