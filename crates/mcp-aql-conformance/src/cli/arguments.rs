//! The arguments of the command line and the run that they describe.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use mcp_aql_conformance::{
    Category, CommandTarget, ConfigError, File, PerMode, Settings, Target, TimeLimits, checks,
};

use super::http_target;
use super::output::Output;

/// Tests any running MCP-AQL adapter for conformance
#[derive(Debug, Parser)]
#[command(name = "mcp-aql-conformance", version, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  all is as it should be, and the level is shown
  1  a MUST failed, or there is no adapter
  2  warnings only, or something that the level needs was not tested
  3  the command line, the configuration or a file is wrong
  130  interrupted";

const EXAMPLES: &str = "\
Examples:
  mcp-aql-conformance test -- npx my-adapter
  mcp-aql-conformance test --url http://127.0.0.1:8080/mcp --level 1
  mcp-aql-conformance test --allow create,update,delete --format junit --output report.xml -- ./adapter

Without --allow, the run only calls READ operations and makes calls that must fail.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the checks and write a report
    #[command(after_help = EXAMPLES)]
    Test {
        #[command(flatten)]
        asked: RunArguments,
        /// Run only the checks of this category; may be repeated
        #[arg(long = "category", value_name = "NAME")]
        categories: Vec<String>,
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
        #[command(flatten)]
        output: Output,
    },
    /// Show all checks with their requirements
    List {
        /// The format of the list
        #[arg(long, value_enum, default_value_t = ListFormat::Text)]
        format: ListFormat,
    },
}

/// The formats of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// One line per check
    Text,
    /// JSON for programs
    Json,
    /// A Markdown table
    Markdown,
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
    /// Let operations of these categories run: create, update, delete, execute
    #[arg(long, value_name = "CATEGORY", value_delimiter = ',')]
    allow: Vec<Category>,
    /// The time limit of one request in seconds; 10 by default
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
    /// Whether the run may create items that outlive it.
    pub(crate) fn may_create(&self) -> bool {
        self.allow.iter().any(|category| *category != Category::Read)
    }

    /// Resolves the target and the settings of the run.
    pub(crate) fn resolve(
        &self,
        categories: Vec<String>,
    ) -> Result<(Arc<dyn Target>, Settings), ConfigError> {
        let file = match &self.config {
            Some(path) => File::load(path)?,
            None => File::default(),
        };
        let target = self.target(&file)?;
        let mut settings = Settings::default().level(self.level).file(file);
        for category in &self.allow {
            settings = settings.allow(*category);
        }
        for name in categories {
            if !checks().any(|check| check.category() == name) {
                let mut names: Vec<_> = checks().map(|check| check.category()).collect();
                names.dedup();
                return Err(ConfigError::Wrong(format!(
                    "`{name}` is not a category of checks; the categories are {}",
                    names.join(", ")
                )));
            }
            settings = settings.category(name);
        }
        if let Some(request) = self.timeout {
            let TimeLimits { run, .. } = settings.limits();
            settings = settings.time_limits(TimeLimits { request, run });
        }
        Ok((target, settings))
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
