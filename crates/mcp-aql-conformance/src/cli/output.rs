//! The output of reports: formats and destinations.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use mcp_aql_conformance::Report;
use mcp_aql_conformance::files::{self, open_to_write};
use mcp_aql_conformance::report::{Baseline, Plan};

/// Maximum number of obstacles in the summary. The report has all of them.
const MAX_OBSTACLES: usize = 5;
/// Maximum size of a report file, in bytes.
const MAX_REPORT_BYTES: u64 = 256 << 20;

/// The formats of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for a terminal
    Text,
    /// JSON for programs and for `report`
    Json,
    /// JUnit XML for CI systems
    Junit,
    /// A single-file HTML page
    Html,
    /// SARIF 2.1.0 for code scanning services
    Sarif,
}

/// The format and the destination of a report.
#[derive(Debug, Args)]
pub(crate) struct Output {
    /// The format of the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Output {
    /// Returns `true` if the output already contains the summary.
    pub(crate) fn says_all(&self) -> bool {
        self.output.is_none() && self.format == Format::Text
    }

    /// Checks that the report can be written. Call this before the run, so a long run does not end without a report.
    pub(crate) fn check(&self) -> Result<(), String> {
        check(self.output.as_deref())
    }

    /// Writes a report.
    pub(crate) fn write(&self, report: &Report) -> Result<(), String> {
        let text = match self.format {
            Format::Text => report.text(self.output.is_none() && likes_colour()),
            Format::Json => json(report)?,
            Format::Junit => report.junit(),
            Format::Html => report.html(),
            Format::Sarif => report.sarif(),
        };
        write(self.output.as_deref(), &text)
    }

    /// Checks that the plan can be written. Call this before the plan is made.
    pub(crate) fn check_plan(&self) -> Result<(), String> {
        match self.format {
            Format::Text | Format::Json => self.check(),
            _ => Err("the formats of `--plan` are text and json".to_owned()),
        }
    }

    /// Writes a plan.
    pub(crate) fn write_plan(&self, plan: &Plan) -> Result<(), String> {
        let text = match self.format {
            Format::Json => json(plan)?,
            _ => plan.text(),
        };
        write(self.output.as_deref(), &text)
    }
}

/// Returns `true` if standard output is a terminal and colors are not disabled.
fn likes_colour() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal()
        && !is_set("NO_COLOR")
        && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}

/// Formats a value as indented JSON. Hidden characters are escaped, so strings of an adapter cannot control the terminal.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<String, String> {
    match serde_json::to_string_pretty(value) {
        Ok(json) => Ok(mcp_aql_text::visible_json(&json).into_owned()),
        Err(error) => Err(format!("cannot write JSON: {error}")),
    }
}

/// Checks that this file can be written.
pub(crate) fn check(file: Option<&Path>) -> Result<(), String> {
    let Some(file) = file else { return Ok(()) };
    let cannot =
        |why: &dyn std::fmt::Display| Err(format!("cannot write `{}`: {why}", file.display()));
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return cannot(&"the folder does not exist");
    }
    if file.is_dir() {
        return cannot(&"it is a folder");
    }
    let is_new = !file.exists();
    if let Err(error) = open_to_write(file, OpenOptions::new().append(true).create(is_new)) {
        return cannot(&error);
    }
    if is_new {
        // Remove the probe, so an interrupted run leaves no empty report.
        let _ = std::fs::remove_file(file);
    }
    Ok(())
}

/// Creates a file or truncates an existing one.
pub(crate) fn create(file: &Path) -> std::io::Result<File> {
    open_to_write(file, OpenOptions::new().write(true).create(true).truncate(true))
}

/// Writes a string to a file or to standard output, with a final newline.
pub(crate) fn write(file: Option<&Path>, text: &str) -> Result<(), String> {
    let mut text = std::borrow::Cow::Borrowed(text);
    if !text.ends_with('\n') {
        text.to_mut().push('\n');
    }
    match file {
        Some(file) => create(file)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| format!("cannot write `{}`: {error}", file.display())),
        None => {
            let mut stdout = std::io::stdout().lock();
            match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
                // The reader may close the pipe early.
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                    Err(format!("cannot write to standard output: {error}"))
                }
                _ => Ok(()),
            }
        }
    }
}

/// Reads a string from a file, or from standard input for `-`.
pub(crate) fn read(file: &Path) -> Result<String, String> {
    let wrong = |error: std::io::Error| format!("cannot read `{}`: {error}", file.display());
    let mut text = String::new();
    if file == Path::new("-") {
        std::io::stdin().lock().take(MAX_REPORT_BYTES).read_to_string(&mut text).map_err(wrong)?;
    } else {
        text = files::read(file, MAX_REPORT_BYTES).map_err(wrong)?;
    }
    Ok(text)
}

/// Reads a report saved as JSON.
pub(crate) fn read_report(file: &Path) -> Result<Report, String> {
    Report::from_json(&read(file)?).map_err(|error| {
        format!("`{}` is not a report of `test --format json`: {error}", file.display())
    })
}

/// Reads a baseline.
pub(crate) fn read_baseline(file: &Path) -> Result<Baseline, String> {
    Baseline::from_json(&read(file)?)
        .map_err(|error| format!("`{}` is not a baseline: {error}", file.display()))
}

/// Prints a message to standard error. A failed write is ignored.
pub(crate) fn print_notice(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Summarizes a report in a few lines.
pub(crate) fn last_lines(report: &Report) -> String {
    let mut lines = Vec::new();
    if !report.is_reached() {
        lines.push("nothing was tested".to_owned());
    } else {
        let summary = &report.summary;
        let level = match report.selection.is_empty() {
            true => format!(
                "level {} of {} granted, {} % exercised",
                report.conformance_level, report.requested_level, report.coverage.percent
            ),
            false => "selected checks".to_owned(),
        };
        lines.push(format!(
            "{} {}: {level}; {} passed, {} failed, {} with warnings, {} not exercised, \
             {} not applicable",
            plain(&report.implementation),
            plain(&report.version),
            summary.passed,
            summary.failed,
            summary.warnings,
            summary.skipped + summary.blocked,
            summary.not_applicable
        ));
    }
    let obstacles: Vec<_> = report.unaccepted_obstacles().collect();
    let shown = obstacles.iter().take(MAX_OBSTACLES);
    lines.extend(shown.map(|obstacle| format!("  {}", plain(obstacle))));
    let more = obstacles.len().saturating_sub(MAX_OBSTACLES);
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    lines.join("\n")
}

/// Replaces control characters in a string of several lines.
pub(crate) fn plain_lines(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

/// Shortens a string from the adapter to one line without control characters, so it cannot control the terminal.
pub(crate) fn plain(text: &str) -> String {
    const MAX_LINE_CHARS: usize = 400;
    let shown = |letter| if mcp_aql_text::is_hidden(letter) { ' ' } else { letter };
    text.chars().take(MAX_LINE_CHARS).map(shown).collect()
}
