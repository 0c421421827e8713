//! The subcommand `check`: shows each server's calls and the parsed answers.

use std::fmt::Write as _;

use mcp_aql_aggregator::{Aggregator, CallCheck, ServerCheck, ServerStatus};

use super::table::{cut, one_line};
use super::{CommandOutcome, output};

/// Maximum number of items shown per answer.
const MAX_SHOWN_ITEMS: usize = 3;
/// Maximum number of lines shown of a server's standard error.
const MAX_STDERR_LINES: usize = 5;

/// Checks all servers and prints the findings.
pub(super) async fn check(aggregator: &Aggregator, query: &str) -> Result<CommandOutcome, String> {
    let all = super::report_slow_start(aggregator, aggregator.check(query)).await;
    let all = all.map_err(|error| error.to_string())?;
    let width = output::width();
    let texts: Vec<_> = all.iter().map(|checked| text(checked, width)).collect();
    output::write(&texts.join("\n"))?;
    Ok(if all.iter().all(|checked| checked.is_well) {
        CommandOutcome::Well
    } else {
        CommandOutcome::Failed
    })
}

/// Formats the findings about one server.
fn text(checked: &ServerCheck, width: usize) -> String {
    let mut lines = WrappedText { text: String::new(), width };
    let state = match checked.state.state {
        // A server that failed during the check may be ready again.
        ServerStatus::Ready if checked.state.reason.is_none() => "ready",
        // A server whose configured calls cannot be made differs from one without a search tool.
        ServerStatus::Unmapped if !checked.is_well => "not as configured",
        ServerStatus::Unmapped => "no query tool",
        ServerStatus::Disabled => "disabled",
        _ => checked.state.reason.as_deref().unwrap_or("not ready"),
    };
    lines.add(0, &format!("{}: {state}", checked.state.name));
    for note in checked.notes.iter().filter(|note| *note != state) {
        lines.wrap(2, note);
    }
    for call in &checked.calls {
        self::call(&mut lines, call);
    }
    if !checked.is_well {
        for cause in &checked.causes {
            lines.wrap(2, &format!("cause: {cause}"));
        }
        let from = checked.stderr_tail.len().saturating_sub(MAX_STDERR_LINES);
        for line in checked.stderr_tail.iter().skip(from) {
            lines.add(2, &format!("stderr: {}", one_line(line)));
        }
    }
    lines.text
}

fn call(lines: &mut WrappedText, call: &CallCheck) {
    lines.add(2, &format!("tool {}: {}", call.tool, call.why));
    lines.add(4, &format!("template  {}", call.template));
    if call.answers.is_empty() {
        lines.add(4, &format!("call      {}", call.arguments));
    }
    for answer in &call.answers {
        lines.add(4, &format!("call      {}", answer.arguments));
        let left_out = match answer.left_out {
            0 => String::new(),
            count => format!(", {count} left out"),
        };
        let (bytes, took, count) = (answer.bytes, answer.latency.as_millis(), answer.items.len());
        let items = if count == 1 { "item" } else { "items" };
        lines.add(4, &format!("answer    {bytes} bytes in {took} ms, {count} {items}{left_out}"));
        if answer.is_mismatch {
            lines.add(
                14,
                "`items` does not match the answer: remove it, or write the path to the results",
            );
        }
        for item in answer.items.iter().take(MAX_SHOWN_ITEMS) {
            lines.add(14, &format!("- {}", one_line(item)));
        }
        if answer.items.len() > MAX_SHOWN_ITEMS {
            lines.add(14, "…");
        }
    }
}

struct WrappedText {
    text: String,
    width: usize,
}

impl WrappedText {
    /// Adds a paragraph wrapped to the width, so that nothing of it is cut off.
    fn wrap(&mut self, indent: usize, text: &str) {
        let text = one_line(text);
        let most = self.width.saturating_sub(indent).max(1);
        let mut line = String::new();
        for word in text.split(' ') {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > most {
                self.add(indent, &line);
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.add(indent, &line);
    }

    fn add(&mut self, indent: usize, line: &str) {
        // Writing to a `String` cannot fail.
        let _ = writeln!(self.text, "{}", cut(&format!("{:indent$}{line}", ""), self.width));
    }
}
