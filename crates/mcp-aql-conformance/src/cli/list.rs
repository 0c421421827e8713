//! The lists of all checks and of all requirements.

use std::fmt::Write as _;

use mcp_aql_conformance::{Check, RequirementSource, checks, requirements};
use serde::Serialize;

use super::arguments::ListFormat;
use super::output;

#[derive(Serialize)]
struct CheckEntry<'a> {
    id: &'a str,
    category: &'a str,
    title: &'a str,
    requirements: &'a [&'a str],
    keyword: &'a str,
    level: u8,
}

/// Renders the checks in this format.
pub(crate) fn list(
    format: ListFormat,
    checks: impl Iterator<Item = &'static Check>,
) -> Result<String, String> {
    let checks: Vec<_> = checks
        .map(|check| CheckEntry {
            id: check.id,
            category: check.category(),
            title: check.title,
            requirements: check.requirements,
            keyword: check.keyword.as_str(),
            level: check.level,
        })
        .collect();
    if format == ListFormat::Json {
        return output::json(&checks);
    }
    let width = checks.iter().map(|check| check.id.len()).max().unwrap_or_default();
    let mut text = String::new();
    let mut category = "";
    for CheckEntry { id, title, requirements, keyword, level, .. } in &checks {
        let requirements = requirements.join(", ");
        let is_first = id.split('.').next() != Some(category);
        category = id.split('.').next().unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = match format {
            ListFormat::Markdown => {
                if is_first {
                    let gap = if text.is_empty() { "" } else { "\n" };
                    let head = "| check | level | keyword | rule | requirements |";
                    let _ = writeln!(text, "{gap}## {category}\n\n{head}\n|---|---|---|---|---|");
                }
                let title = title.replace('|', "\\|");
                writeln!(text, "| `{id}` | {level} | {keyword} | {title} | {requirements} |")
            }
            _ => writeln!(
                text,
                "{id:width$}  {level}  {keyword:6}  {title}\n{:width$}             {requirements}",
                ""
            ),
        };
    }
    Ok(text)
}

#[derive(Serialize)]
struct RequirementEntry {
    id: &'static str,
    rank: &'static str,
    place: String,
    url: String,
    checks: Vec<&'static str>,
}

impl RequirementEntry {
    fn of(source: RequirementSource) -> Self {
        let judging = checks().filter(|check| check.requirements.contains(&source.id));
        Self {
            id: source.id,
            rank: source.rank.as_str(),
            place: source.place(),
            url: source.url(),
            checks: judging.map(|check| check.id).collect(),
        }
    }

    /// Returns the checks rendered by `form`, or "no check".
    fn checks_or_none(&self, form: impl Fn(&str) -> String) -> String {
        match self.checks.as_slice() {
            [] => "no check".to_owned(),
            checks => checks.iter().map(|id| form(id)).collect::<Vec<_>>().join(", "),
        }
    }
}

/// Renders all requirements with their checks in this format.
pub(crate) fn requirements_with_checks(format: ListFormat) -> Result<String, String> {
    let entries: Vec<_> = requirements().map(RequirementEntry::of).collect();
    if format == ListFormat::Json {
        return output::json(&entries);
    }
    let judged = entries.iter().filter(|entry| !entry.checks.is_empty()).count();
    let tally = format!("{judged} of {} requirements have checks.", entries.len());
    let width = entries.iter().map(|entry| entry.id.len()).max().unwrap_or_default();
    let mut text = String::new();
    if format == ListFormat::Markdown {
        let head = "| requirement | text | rank | checks |";
        let _ = writeln!(text, "\n{tally}\n\n{head}\n|---|---|---|---|");
    }
    for entry in &entries {
        let RequirementEntry { id, rank, place, url, .. } = entry;
        // Writing to a string cannot fail.
        let _ = match format {
            ListFormat::Markdown => {
                let checks = entry.checks_or_none(|id| format!("`{id}`"));
                writeln!(text, "| {id} | [{place}]({url}) | {rank} | {checks} |")
            }
            _ => {
                let checks = entry.checks_or_none(str::to_owned);
                writeln!(text, "{id:width$}  {place}, {rank}\n{:width$}  {checks}", "")
            }
        };
    }
    if format == ListFormat::Text {
        let _ = writeln!(text, "\n{tally}");
    }
    Ok(text)
}
