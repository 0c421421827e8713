//! The arguments that select checks.

use std::path::PathBuf;

use clap::Args;
use mcp_aql_conformance::{Mode, Settings, Verdict, checks};

use super::output;

/// Maximum number of names in an error message.
const MAX_NAMES: usize = 12;

/// The selected checks and modes. Several selections of checks add up.
#[derive(Debug, Args)]
pub(crate) struct SelectionArguments {
    /// Run only the checks of this area; may be repeated
    #[arg(long = "category", value_name = "NAME")]
    categories: Vec<String>,
    /// Run only this check; may be repeated
    #[arg(long = "check", value_name = "ID")]
    checks: Vec<String>,
    /// Run only the checks of this requirement; may be repeated
    #[arg(long = "requirement", value_name = "REQ")]
    requirements: Vec<String>,
    /// Run only the checks with findings in this report, or all checks if nothing could be tested
    #[arg(long, value_name = "REPORT")]
    rerun_failed: Option<PathBuf>,
    /// Test only in this endpoint mode: semantic or single
    #[arg(long, value_name = "MODE", value_parser = mode)]
    mode: Option<Mode>,
}

fn mode(text: &str) -> Result<Mode, String> {
    let modes = [Mode::Semantic, Mode::Single];
    let found = modes.into_iter().find(|mode| mode.as_str() == text);
    found.ok_or_else(|| "write semantic or single".to_owned())
}

impl SelectionArguments {
    /// Applies the selection to the settings.
    ///
    /// Returns `None` if the report of `--rerun-failed` has no findings and nothing else is selected.
    pub(crate) fn apply(&self, mut settings: Settings) -> Result<Option<Settings>, String> {
        if let Some(mode) = self.mode {
            settings = settings.mode(mode);
        }
        for name in &self.categories {
            if !checks().any(|check| check.category() == name) {
                let mut names: Vec<_> = checks().map(|check| check.category()).collect();
                names.dedup();
                return Err(format!(
                    "`{name}` is not a category of checks; the categories are {}",
                    names.join(", ")
                ));
            }
            settings = settings.category(name);
        }
        for id in &self.checks {
            settings = settings.check(Self::known_check(id)?);
        }
        for id in &self.requirements {
            if !checks().any(|check| check.requirements.contains(&id.as_str())) {
                return Err(format!(
                    "no check covers the requirement `{id}`; `list` shows the requirements of all checks"
                ));
            }
            settings = settings.requirement(id);
        }
        let Some(file) = &self.rerun_failed else { return Ok(Some(settings)) };
        let report = output::read_report(file)?;
        let is_alone =
            self.categories.is_empty() && self.checks.is_empty() && self.requirements.is_empty();
        // Nothing was tested, so every check of that run may have findings.
        let is_untested = !report.is_reached();
        if is_untested && is_alone && report.selection.is_empty() {
            return Ok(Some(settings));
        }
        let failed = report.checks().filter(|check| {
            (is_untested || matches!(check.verdict, Verdict::Fail | Verdict::Warn))
                && checks().any(|known| known.id == check.id)
        });
        let failed: Vec<_> = failed.map(|check| check.id.clone()).collect();
        let is_empty = failed.is_empty() && is_alone;
        let settings = failed.into_iter().fold(settings, Settings::check);
        Ok((!is_empty).then_some(settings))
    }

    /// Returns the id if there is such a check.
    fn known_check(id: &str) -> Result<&str, String> {
        if checks().any(|check| check.id == id) {
            return Ok(id);
        }
        let area = id.split('.').next().unwrap_or_default();
        let of_area = checks().filter(|check| check.category() == area).map(|check| check.id);
        let names: Vec<_> = of_area.take(MAX_NAMES).collect();
        Err(match names.is_empty() {
            true => format!("`{id}` is not a check; `list` shows all checks"),
            false => format!(
                "`{id}` is not a check; checks of this area are {}; `list` shows all checks",
                names.join(", ")
            ),
        })
    }
}
