//! Names in messages: suggestions, quoted names, and lists of names.

use std::fmt;

/// Maximum length of quoted input in characters.
const MAX_INPUT_CHARS: usize = 100;

/// Displays a name from the configuration in quotes, shortened and without control characters.
pub(crate) struct QuotedName<'a>(pub(crate) &'a str);

impl fmt::Display for QuotedName<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_QUOTED_CHARS: usize = 80;
        let start: String = self.0.chars().take(MAX_QUOTED_CHARS).collect();
        // `Debug` escapes control and invisible characters.
        write!(formatter, "{start:?}")?;
        if start.len() < self.0.len() {
            formatter.write_str("…")?;
        }
        Ok(())
    }
}

/// Returns the name that `written` most likely misspells, or `None` if no name is similar.
pub(crate) fn nearest<'n>(names: impl Iterator<Item = &'n str>, written: &str) -> Option<&'n str> {
    // Longer names are not compared, because the comparison takes quadratic time.
    const MAX_COMPARED_BYTES: usize = 100;
    if written.len() > MAX_COMPARED_BYTES {
        return None;
    }
    let lower = written.to_lowercase();
    names
        .filter(|name| name.len() <= MAX_COMPARED_BYTES)
        .map(|name| (strsim::jaro_winkler(&name.to_lowercase(), &lower), name))
        .filter(|(likeness, _)| *likeness >= 0.8)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name)
}

/// Formats a list of names as code, shortened if there are many.
pub(crate) fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const MAX_LISTED: usize = 30;
    let mut names: Vec<String> =
        names.take(MAX_LISTED + 1).map(|name| QuotedName(name).to_string()).collect();
    if names.len() > MAX_LISTED {
        names.truncate(MAX_LISTED);
        names.push("…".to_owned());
    }
    names.join(", ").replace('"', "`")
}

/// Prepares input for a message: shortened and without control characters.
pub(crate) fn quoted_input(text: &str) -> String {
    let clean = mcp_aql_rank::texts::clean(text);
    let mut shown: String =
        clean.chars().filter(|each| !each.is_control()).take(MAX_INPUT_CHARS).collect();
    if clean.chars().count() > MAX_INPUT_CHARS {
        shown.push('…');
    }
    shown
}

/// Joins names for a sentence, up to a maximum number.
pub(crate) fn join_names(names: &[&str]) -> String {
    const MAX_LISTED: usize = 40;
    let mut text = names.iter().take(MAX_LISTED).copied().collect::<Vec<_>>().join(", ");
    if names.len() > MAX_LISTED {
        text.push_str(", …");
    }
    text
}
