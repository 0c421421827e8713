//! The list of all checks.

use std::fmt::Write as _;

use mcp_aql_conformance::Check;
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
        // Writing to a string does not fail.
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
