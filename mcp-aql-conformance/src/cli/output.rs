//! Where reports go, and in which form.

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use mcp_aql_conformance::Report;

/// So many reasons are told in the last lines; the report has them all.
const MOST_OBSTACLES: usize = 5;
/// The longest report that is read.
const LONGEST_REPORT: u64 = 256 << 20;

/// The forms of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a terminal
    Text,
    /// For programs, and for `report`
    Json,
    /// For a page or a comment
    Markdown,
    /// For CI systems: JUnit's XML
    Junit,
    /// A page for browsers, in one file
    Html,
    /// An SVG image that says the level
    Badge,
}

/// In which form a report is written, and where.
#[derive(Debug, Args)]
pub(crate) struct Output {
    /// In which form
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Into this file, in place of standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Output {
    /// Whether a reader of the output needs no further words.
    pub(crate) fn says_all(&self) -> bool {
        self.output.is_none() && self.format == Format::Text
    }

    /// Whether it can be written: better known before a run than after.
    pub(crate) fn check(&self) -> Result<(), String> {
        check(self.output.as_deref())
    }

    /// Writes a report.
    pub(crate) fn write(&self, report: &Report) -> Result<(), String> {
        let text = match self.format {
            Format::Text => report.text(self.output.is_none() && likes_colour()),
            Format::Json => json(report)?,
            Format::Markdown => report.markdown(),
            Format::Junit => report.junit(),
            Format::Html => report.html(),
            Format::Badge => report.badge(),
        };
        write(self.output.as_deref(), &text)
    }
}

/// Whether standard output is a terminal that shows colours, and nobody said no.
fn likes_colour() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal()
        && !is_set("NO_COLOR")
        && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}

/// As JSON for people and programs.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<String, String> {
    serde_json::to_string_pretty(value).map_err(|error| format!("cannot write JSON: {error}"))
}

/// Whether this file can be written.
pub(crate) fn check(file: Option<&Path>) -> Result<(), String> {
    let Some(file) = file else { return Ok(()) };
    let cannot =
        |why: &dyn std::fmt::Display| Err(format!("cannot write `{}`: {why}", file.display()));
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return cannot(&"there is no such folder");
    }
    if file.is_dir() {
        return cannot(&"it is a folder");
    }
    let is_new = !file.exists();
    if let Err(error) = std::fs::OpenOptions::new().append(true).create(is_new).open(file) {
        return cannot(&error);
    }
    if is_new {
        // A run that is interrupted leaves no empty report.
        let _ = std::fs::remove_file(file);
    }
    Ok(())
}

/// Writes a text into a file, or to standard output.
pub(crate) fn write(file: Option<&Path>, text: &str) -> Result<(), String> {
    let mut text = std::borrow::Cow::Borrowed(text);
    if !text.ends_with('\n') {
        text.to_mut().push('\n');
    }
    match file {
        Some(file) => std::fs::write(file, text.as_bytes())
            .map_err(|error| format!("cannot write `{}`: {error}", file.display())),
        None => {
            let mut stdout = std::io::stdout().lock();
            match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
                // Whoever has read enough may close the pipe.
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                    Err(format!("cannot write to standard output: {error}"))
                }
                _ => Ok(()),
            }
        }
    }
}

/// Reads a text from a file, or from standard input for `-`.
pub(crate) fn read(file: &Path) -> Result<String, String> {
    let wrong = |error: std::io::Error| format!("cannot read `{}`: {error}", file.display());
    let mut text = String::new();
    if file == Path::new("-") {
        std::io::stdin().lock().take(LONGEST_REPORT).read_to_string(&mut text).map_err(wrong)?;
    } else {
        let file = std::fs::File::open(file).map_err(wrong)?;
        file.take(LONGEST_REPORT).read_to_string(&mut text).map_err(wrong)?;
    }
    Ok(text)
}

/// Tells whoever started the command. Nobody listens when this fails.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// What a run came to, in a few lines.
pub(crate) fn last_lines(report: &Report) -> String {
    let mut lines = Vec::new();
    if report.modes.is_empty() {
        lines.push("nothing was tested".to_owned());
    } else {
        let summary = &report.summary;
        lines.push(format!(
            "{} {}: level {} of {} shown; {} passed, {} failed, {} with warnings, {} not tested, \
             {} not applicable",
            plain(&report.implementation),
            plain(&report.version),
            report.conformance_level,
            report.requested_level,
            summary.passed,
            summary.failed,
            summary.warnings,
            summary.skipped,
            summary.not_applicable
        ));
    }
    let shown = report.obstacles.iter().take(MOST_OBSTACLES);
    lines.extend(shown.map(|obstacle| format!("  {}", plain(obstacle))));
    let more = report.obstacles.len().saturating_sub(MOST_OBSTACLES);
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    lines.join("\n")
}

/// The same of a text with several lines.
pub(crate) fn plain_lines(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

/// A text of the adapter's on one line of a terminal, with nothing in it that a terminal obeys.
pub(crate) fn plain(text: &str) -> String {
    const LONGEST: usize = 400;
    let shown = |letter| if mcp_aql_text::is_hidden(letter) { ' ' } else { letter };
    text.chars().take(LONGEST).map(shown).collect()
}
