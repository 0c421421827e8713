//! The arguments of the command line, and the run that they describe.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use mcp_aql_conformance::{
    Category, CommandTarget, ConfigError, File, PerMode, Settings, Target, TimeLimits,
};

use super::http_target;
use super::output::Output;
use super::selection::SelectionArguments;

/// Tests any running MCP-AQL adapter for conformance
#[derive(Debug, Parser)]
#[command(name = "mcp-aql-conformance", version, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  no findings, and the requested level is granted or only selected checks were run
  1  a MUST failed, or there is no adapter; `diff`: something got worse
  2  warnings only, or something that the level requires was not exercised
  3  the command line, the configuration or a file is invalid
  130  interrupted: the run removed what it could, and its report has the results so far";

const EXAMPLES: &str = "\
Examples:
  mcp-aql-conformance test -- npx my-adapter
  mcp-aql-conformance test --url http://127.0.0.1:8080/mcp --level 1
  mcp-aql-conformance test --allow create,update,delete --format junit --output report.xml -- ./adapter
  mcp-aql-conformance test --check introspection.bad_query --mode semantic -- npx my-adapter
  mcp-aql-conformance test --rerun-failed report.json -- npx my-adapter
  mcp-aql-conformance test --plan --allow create,delete -- npx my-adapter

Without --allow, the run only calls READ operations and makes calls that must fail.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the checks and write a report
    #[command(after_help = EXAMPLES)]
    Test {
        #[command(flatten)]
        asked: Box<RunArguments>,
        #[command(flatten)]
        selection: Box<SelectionArguments>,
        /// Only read the tools and introspection, and show what a run would call and create
        #[arg(long, conflicts_with_all = ["baseline", "write_baseline"])]
        plan: bool,
        #[command(flatten)]
        files: TestFiles,
        #[command(flatten)]
        output: Output,
    },
    /// Collect the evidence that the protocol's own conformance runner judges
    #[command(after_help = "\
The evidence is introspection and replies to calls that are made for it. No list in it is empty: if \
a part could not be collected, its reason is reported, and nothing is written (exit code 2). Most \
adapters need --allow create,update,execute, and --allow delete to remove the created items.")]
    Evidence {
        #[command(flatten)]
        asked: RunArguments,
        /// Write to this file instead of standard output
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Render a report that was saved as JSON
    Report {
        /// The report; - reads it from standard input
        file: PathBuf,
        /// Write a baseline that accepts the findings of the report to this file
        #[arg(long, value_name = "FILE")]
        write_baseline: Option<PathBuf>,
        #[command(flatten)]
        output: Output,
    },
    /// Compare two reports that were saved as JSON
    #[command(after_help = "\
The exit code is 1 if the level is lower, if there are new findings or more cases of known ones, or if \
checks are no longer exercised, and 0 otherwise.")]
    Diff {
        /// The older report
        old: PathBuf,
        /// The newer report
        new: PathBuf,
        /// The format of the comparison
        #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
        format: DiffFormat,
    },
    /// Show all checks with their requirements, or all requirements with their checks
    List {
        /// The order of the list
        #[arg(long, value_enum, default_value_t = ListOrder::Check)]
        by: ListOrder,
        /// The format of the list
        #[arg(long, value_enum, default_value_t = ListFormat::Text)]
        format: ListFormat,
    },
}

/// The orders of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListOrder {
    /// Each check with the requirements that it judges
    Check,
    /// Each requirement with its section of the specification and the checks that judge it
    Requirement,
}

/// The formats of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// Text for a terminal
    Text,
    /// JSON for programs
    Json,
    /// A Markdown table
    Markdown,
}

/// The formats of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    /// Text for a terminal
    Text,
    /// JSON for programs
    Json,
}

/// Files that a run reads and writes besides its report.
#[derive(Debug, Args)]
pub(crate) struct TestFiles {
    /// Accept the findings in this baseline: they are listed, but do not affect the exit code
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write a baseline that accepts the findings of this run to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) write_baseline: Option<PathBuf>,
    /// Write all messages to this file, as lines of JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

/// The adapter and the settings of a run.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The requested conformance level
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=2))]
    level: u8,
    /// Read fixtures, skips, headers and limits from this TOML file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Allow operations of these categories: create, update, delete, execute
    #[arg(long, value_name = "CATEGORY", value_delimiter = ',')]
    allow: Vec<Category>,
    /// The time limit of one request in seconds [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// The URL of a running adapter instead of a command
    #[arg(long, value_name = "URL", conflicts_with = "target")]
    url: Option<String>,
    /// Send this header with every request; may be repeated
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// The command that starts the adapter on standard input and output, after --
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "url")]
    target: Vec<OsString>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(limit) if (0.001..=86_400.0).contains(&seconds) => Ok(limit),
        _ => Err("write a number of seconds, up to a day".to_owned()),
    }
}

impl RunArguments {
    /// Resolves the target and the settings of the run.
    pub(crate) fn resolve(&self) -> Result<(Arc<dyn Target>, Settings), ConfigError> {
        let file = match &self.config {
            Some(path) => File::load(path)?,
            None => File::default(),
        };
        let target = self.target(&file)?;
        let mut settings = Settings::default().level(self.level).file(file);
        for category in &self.allow {
            settings = settings.allow(*category);
        }
        if let Some(request) = self.timeout {
            let TimeLimits { run, .. } = settings.limits();
            settings = settings.time_limits(TimeLimits { request, run });
        }
        Ok((target, settings))
    }

    /// Returns the arguments that repeat the run with other checks. Values of headers are omitted, because they may be
    /// secrets.
    pub(crate) fn invocation(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut add = |name: &str, value: String| words.extend([name.to_owned(), value]);
        if !self.allow.is_empty() {
            let names: Vec<_> = self.allow.iter().map(|it| it.family()).collect();
            add("--allow", names.join(","));
        }
        if let Some(config) = &self.config {
            add("--config", config.display().to_string());
        }
        if let Some(timeout) = self.timeout {
            add("--timeout", timeout.as_secs_f64().to_string());
        }
        for header in &self.headers {
            let name = header.split(':').next().unwrap_or_default();
            add("--header", format!("{name}: …"));
        }
        match &self.url {
            Some(url) => add("--url", url.clone()),
            None => {
                words.push("--".to_owned());
                words.extend(self.target.iter().map(|word| word.to_string_lossy().into_owned()));
            }
        }
        words
    }

    fn target(&self, file: &File) -> Result<Arc<dyn Target>, ConfigError> {
        let has_url = self.url.is_some() || file.modes.values().any(|reach| reach.url.is_some());
        let has_command =
            self.url.is_none() || file.modes.values().any(|reach| reach.url.is_none());
        for (what, is_given) in
            [("--header", !self.headers.is_empty()), ("[headers]", !file.headers.is_empty())]
        {
            if is_given && !has_url {
                return Err(ConfigError::Wrong(format!(
                    "`{what}` requires `--url`: a command has no headers"
                )));
            }
        }
        if !file.env.is_empty() && !has_command {
            return Err(ConfigError::Wrong(
                "`[env]` requires a command: the environment of a running adapter cannot be set"
                    .to_owned(),
            ));
        }
        let first = match &self.url {
            Some(url) => http_target::at_url(url, file, &self.headers)?,
            None => Arc::new(command(&self.target, file)?),
        };
        let mut target = PerMode::of(first);
        for (mode, reach) in &file.modes {
            let other = match &reach.url {
                Some(url) => http_target::at_url(url, file, &self.headers)?,
                None => Arc::new(command(&reach.command, file)?),
            };
            target = target.with_shared(*mode, other);
        }
        Ok(Arc::new(target))
    }
}

fn command(
    words: &[impl Clone + Into<OsString>],
    file: &File,
) -> Result<CommandTarget, ConfigError> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(ConfigError::Wrong("the command after `--` is missing".to_owned()));
    };
    let mut target = CommandTarget::new(program.clone(), arguments.iter().cloned());
    for (name, value) in &file.env {
        target = target.env(name, value);
    }
    Ok(target)
}
