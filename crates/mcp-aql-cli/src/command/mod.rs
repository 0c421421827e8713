//! The command line of an adapter: serving, calls, introspection, reference pages and client configuration.
//!
//! Most adapters only need [`Adapter::run`]. If your program has flags of its own, add the commands to your own parser:
//!
//! ```no_run
//! use std::path::PathBuf;
//! use mcp_aql::{Adapter, cli::{RunAdapter as _, clap::{self, Parser}}};
//!
//! /// Keeps tasks in a file.
//! #[derive(Parser)]
//! struct Args {
//!     /// Where the tasks are kept.
//!     #[arg(long, default_value = "tasks.db")]
//!     db: PathBuf,
//!     #[command(flatten)]
//!     mcp: mcp_aql::cli::Options,
//! }
//!
//! # async fn example() -> mcp_aql::Result<()> {
//! let args = Args::parse();
//! let adapter = Adapter::builder("tasks").build()?;
//! adapter.run_command_of::<Args>(args.mcp).await
//! # }
//! ```
//!
//! To include the commands without the global options, write `#[command(subcommand)] command:
//! Option<mcp_aql::cli::Command>`.

mod call;
mod client_config;
mod config;
mod default_config;
mod docs;
mod failure;
mod hangup;
#[cfg_attr(not(feature = "http"), path = "without_http.rs")]
mod http;
mod introspect;
mod json_log;
mod log;
#[cfg_attr(not(feature = "metrics"), path = "without_metrics.rs")]
mod metrics;
mod process_report;
mod program;
mod prompt;
mod render;
mod request;
#[cfg_attr(not(feature = "safety"), path = "without_safety.rs")]
mod safety;
mod serve;
mod setting_flags;
mod stdio;
mod telemetry;

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;

use mcp_aql_core::internal::observe::LogFormat;
use mcp_aql_core::internal::util::erased;
use mcp_aql_core::{Adapter, BoxFuture, Error, Result};

pub use clap;
use clap::error::ContextKind;
use clap::{Args as _, CommandFactory, FromArgMatches as _};
use clap_complete::Shell;

pub use config::ConfigCommand;
pub use default_config::KeyFormat;
pub use docs::DocsFormat;
use failure::finish;
pub use http::HttpArgs;
pub use metrics::MetricsArgs;
use process_report::{has_json_lines, log_state};
pub use program::long_version;
use program::{completions, print_start_hint};
use render::Output;
pub use serve::ServeArgs;
pub use setting_flags::SettingFlags;

/// The options of every adapter's command line.
#[derive(Debug, Clone, Default, clap::Args)]
#[non_exhaustive]
pub struct Options {
    /// Read this configuration file instead of the user's mcp-aql.toml
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    pub config: Option<PathBuf>,
    /// Print JSON on a terminal too
    #[arg(long, global = true, help_heading = "Global options")]
    pub json: bool,
    /// Log to standard error in this format; json has a line for each call
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        value_parser = log::format_parser(),
        help_heading = "Global options"
    )]
    pub log_format: Option<LogFormat>,
    /// Without a command: serve MCP on standard input and output
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl From<Option<Command>> for Options {
    fn from(command: Option<Command>) -> Self {
        Self { command, ..Self::default() }
    }
}

impl Options {
    /// Runs the command if it needs no adapter. The only such command is `completions`. Returns `true` if it ran.
    ///
    /// Call this first if building your adapter opens files: a shell that loads completions should not open them.
    ///
    /// ```no_run
    /// # use mcp_aql::cli::clap::{self, Parser};
    /// # #[derive(Parser)]
    /// # struct Args { #[command(flatten)] mcp: mcp_aql::cli::Options }
    /// # fn main() -> mcp_aql::Result<()> {
    /// let args = Args::parse();
    /// if args.mcp.run_without_adapter::<Args>()? {
    ///     return Ok(());
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if standard output cannot be written to.
    pub fn run_without_adapter<P: CommandFactory>(&self) -> Result<bool> {
        match self.command {
            Some(Command::Completions { shell }) => completions(shell, P::command()).map(|_| true),
            _ => Ok(false),
        }
    }
}

/// The commands of an adapter.
#[derive(Debug, Clone, clap::Subcommand)]
#[non_exhaustive]
pub enum Command {
    /// Serve MCP: on standard input and output, or over HTTP
    Serve(ServeArgs),
    /// Run one operation and print its result
    Call {
        /// The operation
        operation: String,
        /// Its parameters as a JSON object, or - to read them from standard input
        params: Option<String>,
        /// One parameter; may be repeated
        #[arg(long = "param", short = 'p', value_name = "NAME=VALUE")]
        param: Vec<String>,
        /// Confirm a dangerous operation without a prompt
        #[arg(long, short = 'y')]
        yes: bool,
    },
    /// Show operations and types
    Introspect {
        /// What to show: a query, or the name of an operation or type
        #[arg(index = 1, default_value = "operations", value_parser = introspect::QueryParser::common())]
        query: String,
        /// Name of an operation or type, to show its details
        // The indexes are explicit, because clap would put an argument that is changed later behind the others.
        #[arg(index = 2)]
        name: Option<String>,
    },
    /// Write reference pages of the adapter
    Docs {
        /// Output format
        #[arg(long, value_enum, default_value_t = DocsFormat::Markdown)]
        format: DocsFormat,
        /// Output directory, created if missing [default: standard output]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Check or show the configuration, or print what a client needs to start this adapter
    Config {
        /// The subcommand
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// The outcome of a command. It determines the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    Success,
    /// The operation returned `success: false` or was not run, or the name does not exist.
    Failure,
    /// The arguments are invalid.
    Usage,
    /// The adapter cannot be built, or its configuration is invalid.
    Configuration,
}

impl Exit {
    const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Configuration => 3,
        }
    }

    /// Ends the process with the exit code. Does nothing after a success.
    fn exit_process(self) {
        if self != Self::Success {
            std::process::exit(self.code().into());
        }
    }
}

/// Adds the command line to [`Adapter`].
pub trait RunAdapter {
    /// Runs the adapter's own command line with the arguments of the process. Without arguments, the adapter serves MCP
    /// on standard input and output.
    ///
    /// Errors are reported on standard error and end the process: with code 2 if the arguments are invalid, with code 3
    /// if the adapter cannot be built or its configuration is invalid, and with code 1 for all other errors. If `call`
    /// fails or is not confirmed, the code is 1, too. You can call this on the result of `build()`: an error of
    /// building is then reported in the same way.
    ///
    /// # Errors
    ///
    /// Returns no errors, because the process ends instead.
    fn run(&self) -> impl Future<Output = Result> + Send;

    /// Runs the command line with these arguments, starting with the name of the program. Returns the exit code instead
    /// of ending the process, so you can use this in tests.
    ///
    /// # Errors
    ///
    /// Returns any error that keeps the command from running, such as an invalid configuration file or an address
    /// already in use.
    fn run_with_args<A>(
        &self,
        args: impl IntoIterator<Item = A>,
    ) -> impl Future<Output = Result<ExitCode>> + Send
    where
        A: Into<OsString>;

    /// Runs a command that your own parser has parsed: [`Options`], or `Option<Command>`. See [`cli`](crate::command)
    /// for an example.
    ///
    /// The completions of this command line contain the adapter's commands only. Use
    /// [`run_command_of`](Self::run_command_of) to include your own flags.
    ///
    /// # Errors
    ///
    /// Returns no errors, because the process ends instead. [`run`](Self::run) documents the exit codes.
    fn run_command(&self, options: impl Into<Options>) -> impl Future<Output = Result> + Send;

    /// Runs a command as [`run_command`](Self::run_command) does. The completions are those of your parser `P`.
    ///
    /// # Errors
    ///
    /// Returns no errors, because the process ends instead. [`run`](Self::run) documents the exit codes.
    fn run_command_of<P: CommandFactory>(
        &self,
        options: impl Into<Options>,
    ) -> impl Future<Output = Result> + Send;
}

impl RunAdapter for Adapter {
    async fn run(&self) -> Result {
        finish(run_arguments(self, std::env::args_os().collect()).await).exit_process();
        Ok(())
    }

    fn run_with_args<A>(
        &self,
        args: impl IntoIterator<Item = A>,
    ) -> impl Future<Output = Result<ExitCode>> + Send
    where
        A: Into<OsString>,
    {
        let outcome = run_arguments(self, args.into_iter().map(Into::into).collect());
        async { Ok(ExitCode::from(outcome.await?.code())) }
    }

    fn run_command(&self, options: impl Into<Options>) -> impl Future<Output = Result> + Send {
        let outcome = run_options(self, options.into(), parser(self));
        async {
            finish(outcome.await).exit_process();
            Ok(())
        }
    }

    fn run_command_of<P: CommandFactory>(
        &self,
        options: impl Into<Options>,
    ) -> impl Future<Output = Result> + Send {
        let outcome = run_options(self, options.into(), P::command());
        async {
            finish(outcome.await).exit_process();
            Ok(())
        }
    }
}

fn run_arguments(adapter: &Adapter, args: Vec<OsString>) -> BoxFuture<'_, Result<Exit>> {
    erased(parse_and_run(adapter, args))
}

fn run_options(
    adapter: &Adapter,
    options: Options,
    parser: clap::Command,
) -> BoxFuture<'_, Result<Exit>> {
    erased(run_parsed(adapter, options, parser))
}

async fn parse_and_run(adapter: &Adapter, args: Vec<OsString>) -> Result<Exit> {
    let matches = parser(adapter).try_get_matches_from(args);
    match matches.and_then(|matches| Options::from_arg_matches(&matches)) {
        Ok(options) => run_options(adapter, options, parser(adapter)).await,
        Err(error) => {
            // Help and version are printed on standard output, because they are not errors.
            error.print()?;
            let word = error.get(ContextKind::InvalidSubcommand).map(ToString::to_string);
            if let Some(name) = word.filter(|word| adapter.operations().any(|it| it.name == word)) {
                render::problem(&format!("'{name}' is an operation: write `call {name}`"));
            }
            Ok(if error.use_stderr() { Exit::Usage } else { Exit::Success })
        }
    }
}

async fn run_parsed(adapter: &Adapter, options: Options, parser: clap::Command) -> Result<Exit> {
    let configured = match &options.config {
        Some(file) => adapter.with_config_file(file).inspect_err(|_| {
            let own = adapter.settings().log_format;
            log::to_stderr_without_adapter(options.log_format.or(Some(own)));
        })?,
        None => adapter.clone(),
    };
    let adapter = &configured.with_flags(log::flag(options.log_format))?;
    log::to_stderr(adapter);
    adapter.log_notices();
    let parser = introspect::with_adapter_queries(parser, adapter);
    let output = Output::new(options.json);
    let is_serving = matches!(options.command, None | Some(Command::Serve(_)));
    let exit = match options.command {
        None => {
            if std::io::stdin().is_terminal() && !has_json_lines() {
                print_start_hint(adapter);
            }
            hangup::reopening_audit_log(adapter, stdio::serve_stdio(adapter)).await
        }
        Some(Command::Serve(serve)) => serve.run(adapter).await,
        Some(Command::Call { operation, params, param, yes }) => {
            let args = call::CallArgs { operation, params, named: param, yes };
            call::run(adapter, &output, &prompt::TerminalPrompt::default(), args).await
        }
        Some(Command::Introspect { query, name }) => {
            introspect::run(adapter, &output, &query, name.as_deref()).await
        }
        Some(Command::Docs { format, out }) => {
            docs::run(adapter, format, out.as_deref(), options.json)
        }
        Some(Command::Config { command }) => {
            command.run(adapter, &output, &parser).map(|()| Exit::Success)
        }
        Some(Command::Completions { shell }) => completions(shell, parser),
    };
    if is_serving {
        log_state("stopped");
    }
    // The spans are flushed here, because the process may end without dropping the adapter.
    adapter.flush_tracer().await;
    match exit {
        Err(Error::Usage(message)) => {
            render::problem(&message);
            Ok(Exit::Usage)
        }
        // The reader has closed the pipe, so it needs no more output. An example is `| head`.
        Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            Ok(Exit::Success)
        }
        other => other,
    }
}

/// Returns the parser of an adapter without flags of its own.
fn parser(adapter: &Adapter) -> clap::Command {
    let parser = Options::augment_args(clap::Command::new(adapter.name().to_owned()))
        .version(adapter.version().to_owned())
        .long_version(long_version(adapter.version()))
        .about(format!("The {} adapter, an MCP server that speaks MCP-AQL", adapter.name()));
    introspect::with_adapter_queries(parser, adapter)
}
