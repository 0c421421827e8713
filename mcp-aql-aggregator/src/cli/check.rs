//! Shows for each server what is asked of it, and what is made of its answer.

use std::fmt::Write as _;

use mcp_aql_aggregator::{Aggregator, Checked, CheckedCall, ServerStatus};

use super::table::{cut, one_line};
use super::{Ended, output};

/// So many items of an answer are shown.
const SHOWN: usize = 3;
/// So many lines of a server's standard error are shown.
const LAST_WORDS: usize = 5;

/// Checks all servers, and writes what was found.
pub(super) async fn check(aggregator: &Aggregator, query: &str) -> Result<Ended, String> {
    let all = aggregator.check(query).await;
    let width = output::width();
    let texts: Vec<_> = all.iter().map(|checked| text(checked, width)).collect();
    output::write(&texts.join("\n"))?;
    Ok(if all.iter().all(|checked| checked.is_well) { Ended::Well } else { Ended::Failed })
}

/// What was found of one server.
fn text(checked: &Checked, width: usize) -> String {
    let mut lines = Lines { text: String::new(), width };
    let state = match checked.state.state {
        ServerStatus::Ready => "ready",
        ServerStatus::Unmapped => "no query tool",
        ServerStatus::Disabled => "disabled",
        _ => checked.state.reason.as_deref().unwrap_or("not ready"),
    };
    lines.add(0, &format!("{}: {state}", checked.state.name));
    for note in &checked.notes {
        lines.add(2, note);
    }
    for call in &checked.calls {
        self::call(&mut lines, call);
    }
    if !checked.is_well {
        let from = checked.last_words.len().saturating_sub(LAST_WORDS);
        for line in checked.last_words.iter().skip(from) {
            lines.add(2, &format!("stderr: {line}"));
        }
    }
    lines.text
}

fn call(lines: &mut Lines, call: &CheckedCall) {
    lines.add(2, &format!("tool {}: {}", call.tool, call.why));
    lines.add(4, &format!("template  {}", call.template));
    lines.add(4, &format!("call      {}", call.arguments));
    for answer in &call.answers {
        if answer.is_failure {
            lines.add(4, "answer    the tool says that it failed");
            continue;
        }
        let left_out = match answer.left_out {
            0 => String::new(),
            count => format!(", {count} left out"),
        };
        lines.add(
            4,
            &format!(
                "answer    {} bytes in {} ms, {} items{left_out}",
                answer.bytes,
                answer.latency.as_millis(),
                answer.items.len(),
            ),
        );
        for item in answer.items.iter().take(SHOWN) {
            lines.add(14, &format!("- {}", one_line(item)));
        }
        if answer.items.len() > SHOWN {
            lines.add(14, "…");
        }
    }
}

struct Lines {
    text: String,
    width: usize,
}

impl Lines {
    fn add(&mut self, indent: usize, line: &str) {
        // Writing into a string does not fail.
        let _ = writeln!(
            self.text,
            "{}",
            cut(&format!("{:indent$}{}", "", one_line(line)), self.width)
        );
    }
}
