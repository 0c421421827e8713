//! Prints results: formatted for people on a terminal, and as JSON otherwise.

use std::io::{IsTerminal, Write as _};

use anstyle::{AnsiColor, Style};
use mcp_aql_core::{OperationResult, Result};
use serde_json::{Map, Value};

use super::Exit;
use super::process_report::{PROCESS, announce, has_json_lines};

/// A reply of the adapter: its JSON and the parsed result.
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) result: OperationResult,
}

/// The terminal escape sequences for parts of the output.
struct Theme {
    heading: Style,
    fault: Style,
    caution: Style,
    quiet: Style,
}

impl Theme {
    const PLAIN: Self = Self {
        heading: Style::new(),
        fault: Style::new(),
        caution: Style::new(),
        quiet: Style::new(),
    };
    const COLORED: Self = Self {
        heading: Style::new().bold(),
        fault: AnsiColor::Red.on_default().bold(),
        caution: AnsiColor::Yellow.on_default().bold(),
        quiet: Style::new().dimmed(),
    };

    fn on(stream: &impl IsTerminal) -> &'static Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        if stream.is_terminal() && !unwanted && !dumb { &Self::COLORED } else { &Self::PLAIN }
    }
}

/// The maximum width of every column except the last, in characters.
const MAX_COLUMN_WIDTH: usize = 40;

/// The destination and format of results.
pub(super) struct Output {
    json: bool,
    theme: &'static Theme,
    /// Captures the output in tests. Otherwise it is written to standard output.
    #[cfg(test)]
    captured: Option<std::sync::Mutex<String>>,
}

impl Output {
    /// Creates an output. It uses JSON if `json` is set or if standard output is not a terminal.
    pub(super) fn new(json: bool) -> Self {
        let stdout = std::io::stdout();
        Self {
            json: json || !stdout.is_terminal(),
            theme: Theme::on(&stdout),
            #[cfg(test)]
            captured: None,
        }
    }

    /// Captures the output as it would be printed on a terminal or, with `json`, for a program.
    #[cfg(test)]
    pub(super) fn captured(json: bool) -> Self {
        Self { json, theme: &Theme::PLAIN, captured: Some(std::sync::Mutex::default()) }
    }

    /// Returns the captured output.
    #[cfg(test)]
    pub(super) fn text(&self) -> String {
        self.captured.as_ref().map(|captured| captured.lock().unwrap().clone()).unwrap_or_default()
    }

    pub(super) fn json(&self) -> bool {
        self.json
    }

    /// Prints a reply: completely as JSON, or only its data for a person.
    pub(super) fn result(&self, answer: &Answer) -> Result<Exit> {
        let ended = if answer.result.is_success() { Exit::Success } else { Exit::Failure };
        if self.json {
            self.json_line(&answer.text)?;
            return Ok(ended);
        }
        if let Some(error) = answer.result.error() {
            if has_json_lines() {
                problem(&format!("{} ({})", plain(&error.message), plain(&error.code)));
                return Ok(ended);
            }
            problem(&plain(&error.message));
            let mut stderr = std::io::stderr();
            let quiet = Theme::on(&stderr).quiet;
            let _ = writeln!(stderr, "{quiet}{}{quiet:#}", plain(&error.code));
            return Ok(ended);
        }
        self.data(answer.result.data())?;
        for warning in answer.result.warnings() {
            let text = plain(member(warning, "message").as_str().unwrap_or_default());
            if has_json_lines() {
                announce(&text);
                continue;
            }
            let mut stderr = std::io::stderr();
            let caution = Theme::on(&stderr).caution;
            let _ = writeln!(stderr, "{caution}warning{caution:#}: {text}");
        }
        Ok(ended)
    }

    fn data(&self, data: &Value) -> Result {
        let object = data.as_object();
        if let Some(items) =
            object.and_then(|object| object.get("items")).filter(|it| it.is_array())
        {
            self.table(&Table::guess(items))?;
            if let Some(page) = object.and_then(|object| object.get("pageInfo")) {
                self.page(page)?;
            }
            for (name, beside) in object.into_iter().flatten() {
                // Members that the caller knows already are not repeated.
                if !matches!(name.as_str(), "items" | "pageInfo" | "applied") {
                    self.line("")?;
                    self.heading(&plain(name))?;
                    self.pretty(beside)?;
                }
            }
            return Ok(());
        }
        match data {
            // The data is a named result, such as `{"task":{…}}`.
            Value::Object(fields) if fields.len() == 1 => match fields.iter().next() {
                Some((name, Value::Object(inner))) => {
                    self.heading(&plain(name))?;
                    self.fields(inner)
                }
                _ => self.fields(fields),
            },
            Value::Object(fields) => self.fields(fields),
            Value::Array(_) => self.table(&Table::guess(data)),
            Value::Null => self.line("done"),
            scalar => self.line(&cell(scalar)),
        }
    }

    fn page(&self, page: &Value) -> Result {
        let more = member(page, "hasNextPage") == true;
        let total = member(page, "totalCount").as_u64().map(|total| format!("{total} in all"));
        let next = member(page, "endCursor").as_str().filter(|_| more);
        let next = next.map(|cursor| format!("next page: after {}", plain(cursor)));
        let text: Vec<_> = [total, next].into_iter().flatten().collect();
        if text.is_empty() {
            return Ok(());
        }
        let quiet = self.theme.quiet;
        self.line(&format!("{quiet}{}{quiet:#}", text.join("; ")))
    }

    fn fields(&self, fields: &Map<String, Value>) -> Result {
        let width = fields.keys().map(|name| plain(name).chars().count()).max().unwrap_or(0);
        for name in ordered(fields.keys().map(String::as_str).collect()) {
            let value = fields.get(name).map(cell).unwrap_or_default();
            let name = plain(name);
            let quiet = self.theme.quiet;
            self.line(&format!("{quiet}{name:<width$}{quiet:#}  {value}"))?;
        }
        Ok(())
    }

    pub(super) fn pretty(&self, value: &Value) -> Result {
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        text.lines().try_for_each(|line| self.line(&plain(line)))
    }

    pub(super) fn heading(&self, text: &str) -> Result {
        let heading = self.theme.heading;
        self.line(&format!("{heading}{text}{heading:#}"))
    }

    pub(super) fn line(&self, text: &str) -> Result {
        #[cfg(test)]
        if let Some(captured) = &self.captured {
            *captured.lock().unwrap() += &format!("{text}\n");
            return Ok(());
        }
        Ok(writeln!(std::io::stdout(), "{text}")?)
    }

    /// Prints JSON. It is unchanged for a program. On a terminal, undisplayable characters are escaped.
    fn json_line(&self, json: &str) -> Result {
        if std::io::stdout().is_terminal() {
            return self.line(&mcp_aql_text::visible_json(json));
        }
        self.line(json)
    }

    pub(super) fn table(&self, table: &Table) -> Result {
        if table.rows.is_empty() {
            return self.line("nothing");
        }
        let upper: Vec<_> = table.columns.iter().map(|name| plain(&name.to_uppercase())).collect();
        let widths: Vec<usize> = (0..upper.len())
            .map(|column| {
                let cells = table.rows.iter().filter_map(|row| row.get(column));
                cells.chain(upper.get(column)).map(|cell| cell.chars().count()).max()
            })
            .map(|width| width.unwrap_or(0).min(MAX_COLUMN_WIDTH))
            .collect();
        let heading = self.theme.heading;
        self.line(&format!("{heading}{}{heading:#}", padded(&upper, &widths)))?;
        table.rows.iter().try_for_each(|row| self.line(&padded(row, &widths)))
    }
}

/// A table with strings as cells.
pub(super) struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Builds a table with these members of each object as columns.
    pub(super) fn of(items: &Value, columns: &[&str]) -> Self {
        let rows: Vec<Vec<String>> = items
            .as_array()
            .into_iter()
            .flatten()
            .map(|item| {
                columns.iter().map(|name| item.get(name).map(cell).unwrap_or_default()).collect()
            })
            .collect();
        let used: Vec<bool> = (0..columns.len())
            .map(|index| rows.iter().any(|row| row.get(index).is_some_and(|cell| !cell.is_empty())))
            .collect();
        let keep = |row: Vec<String>| {
            row.into_iter().zip(&used).filter(|(_, used)| **used).map(|(cell, _)| cell).collect()
        };
        Self {
            columns: keep(columns.iter().map(|name| name.replace('_', " ")).collect()),
            rows: rows.into_iter().map(keep).collect(),
        }
    }

    /// Builds a table whose columns are the members of the objects. A nested member has its path as its name. Other
    /// items have a single column.
    fn guess(items: &Value) -> Self {
        let flattened = |item: &Value| match item {
            Value::Object(members) => {
                let mut all = Map::new();
                flatten("", members, 0, &mut all);
                Value::Object(all)
            }
            other => other.clone(),
        };
        let items: &Value = &items.as_array().into_iter().flatten().map(flattened).collect();
        let mut names: Vec<&str> = Vec::new();
        for item in items.as_array().into_iter().flatten().filter_map(Value::as_object) {
            for name in item.keys() {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
        }
        if names.is_empty() {
            let rows = items.as_array().into_iter().flatten().map(|item| vec![cell(item)]);
            return Self { columns: vec!["value".to_owned()], rows: rows.collect() };
        }
        Self::of(items, &ordered(names))
    }
}

/// Flattens nested objects: `{ "owner": { "name": "Ada" } }` becomes `{ "owner.name": "Ada" }`.
fn flatten(prefix: &str, members: &Map<String, Value>, depth: usize, all: &mut Map<String, Value>) {
    const MAX_FLATTEN_DEPTH: usize = 3;
    for (name, value) in members {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            Value::Object(inner) if depth < MAX_FLATTEN_DEPTH => {
                flatten(&path, inner, depth + 1, all)
            }
            value => {
                all.insert(path, value.clone());
            }
        }
    }
}

/// Orders columns: identifiers first, then names, then the rest alphabetically.
fn ordered(mut names: Vec<&str>) -> Vec<&str> {
    names.sort_by_key(|name| match *name {
        name if name == "id" || name.ends_with("_id") => 0,
        "name" | "title" => 1,
        name if name.starts_with('_') => 3,
        _ => 2,
    });
    names
}

fn padded(row: &[String], widths: &[usize]) -> String {
    let last = row.len().saturating_sub(1);
    let cells = row.iter().zip(widths).enumerate().map(|(index, (cell, width))| {
        // The last column is not padded.
        if index == last {
            return cell.clone();
        }
        let width = *width;
        if cell.chars().count() > width {
            let cut: String = cell.chars().take(width.saturating_sub(1)).collect();
            return format!("{cut}…");
        }
        format!("{cell:<width$}")
    });
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => plain(text),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            items.iter().map(cell).collect::<Vec<_>>().join(", ")
        }
        other => plain(&other.to_string()),
    }
}

/// Returns a member of an object, or `null` if there is none.
pub(super) fn member<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.get(name).unwrap_or(&Value::Null)
}

/// Returns a string as one line without control characters.
///
/// Line ends and tabs become spaces. Other undisplayable characters are shown as their code points, so that a result
/// cannot control the terminal.
pub(super) fn plain(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace(['\n', '\t'], " ");
    mcp_aql_text::visible(&text).into_owned()
}

/// Prints an error message to standard error.
pub(super) fn problem(message: &str) {
    if has_json_lines() {
        tracing::error!(target: PROCESS, "{message}");
        return;
    }
    let mut stderr = std::io::stderr();
    let fault = Theme::on(&stderr).fault;
    let _ = writeln!(stderr, "{fault}error{fault:#}: {message}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tables_start_with_identifiers() {
        let items = json!([{ "done": false, "task_id": "t-1", "title": "Ship\u{1b}[2J it", "tags": ["a"],
            "metadata": {} }]);
        let table = Table::guess(&items);
        assert_eq!(table.columns, ["task id", "title", "done", "tags"]);
        assert_eq!(table.rows, [["t-1", "Ship<U+001B>[2J it", "false", "a"]]);
        let table = Table::guess(&json!(["x", 7]));
        assert_eq!(table.rows, [["x"], ["7"]]);
    }

    #[test]
    fn controls_are_shown_by_their_numbers() {
        for character in ('\0'..=char::MAX).filter(|character| character.is_control()) {
            let shown = match character {
                '\n' | '\t' => "a b".to_owned(),
                _ => format!("a<U+{:04X}>b", u32::from(character)),
            };
            let text = format!("a{character}b");
            assert_eq!(plain(&text), shown);
            assert_eq!(Table::guess(&json!([{ "text": text }])).rows, [[shown]]);
        }
        assert_eq!(plain("a\r\nb\r"), "a b<U+000D>");
    }

    #[test]
    fn no_hidden_character_reaches_a_terminal() {
        let hostile: String = ('\0'..=char::MAX)
            .filter(|each| mcp_aql_text::is_ignorable(*each))
            .step_by(7)
            .collect();
        let hostile =
            format!("a{hostile}\u{1b}[2J\u{9b}\u{202e}\u{2066}\u{200b}\u{2028}\u{fff9}\u{e000}b");
        let text = hostile.as_str();
        for data in [
            json!(text),
            json!([text, [text], { text: text }]),
            json!([{ text: text, "inner": { text: [text, 1] } }]),
            json!({ "items": [{ text: text }], "pageInfo": { "hasNextPage": true, "endCursor": text }, text: text }),
            json!({ text: { text: text, "b": { text: text } } }),
            json!({ text: text, "b": [text], "c": { text: text } }),
        ] {
            let output = Output::captured(false);
            output.data(&data).unwrap();
            output.pretty(&data).unwrap();
            let shown = output.text();
            assert!(shown.contains("<U+202E>"), "{shown}");
            let hidden = shown.chars().find(|each| mcp_aql_text::is_hidden(*each) && *each != '\n');
            assert_eq!(hidden, None, "{data}");
        }
    }

    #[test]
    fn long_cells_are_cut_but_for_the_last() {
        let row = ["abcdef".to_owned(), "abcdef".to_owned()];
        assert_eq!(padded(&row, &[4, 4]), "abc…  abcdef");
    }
}
