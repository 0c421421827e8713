//! Renders the reference as Markdown, for GitHub, GitLab and other code hosts.

use std::fmt::Write as _;

use mcp_aql_protocol::ErrorCode;

use super::json::Json;
use super::phrases;
use super::prose::{self, Block, Span};
use super::reference::{Family, Field, Operation, Part, Reference, Type, anchor, member_anchor};

pub(super) fn render(reference: &Reference) -> String {
    let mut page = Page { text: String::new() };
    page.opening(reference);
    page.index(reference);
    page.calling(reference);
    reference.families.iter().for_each(|family| page.family(family));
    page.types(reference);
    page.errors(reference);
    page.limits(reference);
    page.text
}

struct Page {
    text: String,
}

impl Page {
    /// Appends a paragraph or another block, followed by an empty line.
    fn block(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push_str("\n\n");
    }

    fn heading(&mut self, level: usize, anchor: &str, text: &str) {
        // The anchor is explicit, because code hosts derive anchors from headings in different ways.
        self.block(&format!("<a id=\"{anchor}\"></a>"));
        self.block(&format!("{} {text}", "#".repeat(level)));
    }

    fn table(&mut self, columns: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
        let _ = writeln!(self.text, "| {} |", columns.join(" | "));
        let _ = writeln!(self.text, "|{}", "---|".repeat(columns.len()));
        for row in rows {
            let _ = writeln!(self.text, "| {} |", row.join(" | "));
        }
        self.text.push('\n');
    }

    fn json(&mut self, json: &Json) {
        self.block(&fenced("json", &json.to_string()));
    }

    fn prose(&mut self, text: &str) {
        for block in prose::blocks(text) {
            let text = match block {
                Block::Paragraph(inside) => spans(&inside),
                Block::List(items) => items
                    .iter()
                    .map(|item| format!("- {}", spans(item)))
                    .collect::<Vec<_>>()
                    .join("\n"),
                Block::Code(code) => fenced("", &code),
            };
            self.block(&text);
        }
    }

    fn opening(&mut self, reference: &Reference) {
        self.block("<!-- Written by the adapter's command `docs`: changes made here are lost. -->");
        self.block(&format!("# {}", escaped(&reference.name)));
        let count = match reference.operations().count() {
            1 => "1 operation".to_owned(),
            count => format!("{count} operations"),
        };
        self.block(&format!(
            "Reference of the {} adapter, version {}: {count}, offered to MCP clients through \
             MCP-AQL {}.",
            escaped(&reference.name),
            escaped(&reference.version),
            escaped(&reference.protocol.version),
        ));
        if let Some(instructions) = &reference.instructions {
            self.prose(instructions);
        }
    }

    fn index(&mut self, reference: &Reference) {
        self.heading(2, "operations", "Operations");
        for family in &reference.families {
            self.block(&format!(
                "**[{}](#{})**, tool {}. {}",
                escaped(&family.name),
                anchor("family", &family.name),
                code(&family.tool),
                escaped(&family.purpose),
            ));
            self.table(
                &["Operation", "Category", "Description"],
                family.operations.iter().map(|operation| {
                    let summary = cell(&prose::line(&operation.summary));
                    let mark = if operation.deprecated.is_some() { "**Deprecated.** " } else { "" };
                    vec![
                        operation_link(operation.name),
                        operation.category.as_str().to_owned(),
                        format!("{mark}{summary}"),
                    ]
                }),
            );
        }
        self.block(
            "[How to call](#calling) · [Types](#types) · [Errors](#errors) · \
             [Mode and limits](#limits)",
        );
    }

    fn calling(&mut self, reference: &Reference) {
        self.heading(2, "calling", "How to call");
        self.block(
            "A call names the tool, the operation, and the operation's parameters in `params`. This call \
             lists all operations:",
        );
        self.json(&reference.first_call());
        self.block(
            "The reply is `{\"success\": true, \"data\": …}` or `{\"success\": false, \"error\": …}`, \
             and the error's message says what to change.",
        );
    }

    fn family(&mut self, family: &Family) {
        self.heading(2, &anchor("family", &family.name), &escaped(&family.name));
        self.block(&format!("{} Tool: {}.", escaped(&family.purpose), code(&family.tool)));
        family.operations.iter().for_each(|operation| self.operation(operation));
    }

    fn operation(&mut self, operation: &Operation) {
        self.heading(3, &anchor("operation", operation.name), &escaped(operation.name));
        let effect = match (operation.permissions.read_only, operation.permissions.destructive) {
            (true, _) => "reads only",
            (_, true) => "may overwrite or remove data",
            _ => "adds data",
        };
        self.block(&format!(
            "**{}**, {effect}. Tool: {}.",
            operation.category.as_str(),
            code(&operation.tool)
        ));
        if let Some(notice) = &operation.deprecated {
            self.block(&format!("> **Deprecated.** {}", escaped(notice)));
        }
        self.prose(&operation.description);
        if let Some(rationale) = operation.rationale {
            self.block(&format!("Category: {}", spans(&prose::line(rationale))));
        }
        if operation.parameters.is_empty() {
            self.block("This operation has no parameters.");
        } else {
            self.block("**Parameters**");
            self.table(
                &["Name", "Type", "Required", "Default", "Constraints", "Description"],
                operation.parameters.iter().map(|parameter| {
                    let anchor = member_anchor("parameter", operation.name, &parameter.info.name);
                    let mut row = row(parameter);
                    if let Some(name) = row.first_mut() {
                        name.insert_str(0, &format!("<a id=\"{anchor}\"></a>"));
                    }
                    row
                }),
            );
        }
        let returns = &operation.returns;
        self.block(&format!(
            "**Result**: {}{}",
            kind(&returns.kind),
            spans(&phrases::place(&returns.description))
        ));
        for example in &operation.examples {
            match example.description.as_str() {
                "" => self.block("**Example**"),
                shows => self.block(&format!("**Example**: {}", spans(&prose::line(shows)))),
            }
            self.json(&example.call);
        }
        let mut errors: Vec<_> = operation.errors.iter().map(error_link).collect();
        errors.push("those of [every call](#errors)".to_owned());
        let own =
            if operation.built_in { "" } else { ", and errors that the operation itself returns" };
        self.block(&format!("**Errors**: {}{own}.", errors.join(", ")));
    }

    fn types(&mut self, reference: &Reference) {
        let [own, protocol] = &reference.types;
        self.heading(2, "types", "Types");
        own.iter().for_each(|each| self.one_type(each));
        self.heading(2, "protocol-types", "Types of the protocol");
        protocol.iter().for_each(|each| self.one_type(each));
    }

    fn one_type(&mut self, each: &Type) {
        self.heading(3, &anchor("type", &each.name), &escaped(&each.name));
        self.block(&format!("*{}*", escaped(&each.kind)));
        self.prose(&each.description);
        if !each.values.is_empty() {
            let values: Vec<_> =
                each.values.iter().map(|value| code(&phrases::literal(value))).collect();
            self.block(&format!("Values: {}.", values.join(", ")));
        }
        if !each.members.is_empty() {
            let members: Vec<_> = each.members.iter().map(|member| kind(member)).collect();
            self.block(&format!("One of {}.", members.join(", ")));
        }
        if !each.fields.is_empty() {
            self.table(
                &["Field", "Type", "Required", "Default", "Constraints", "Description"],
                each.fields.iter().map(row),
            );
        }
        if !each.used_by.is_empty() {
            let users: Vec<_> = each.used_by.iter().map(|name| operation_link(name)).collect();
            self.block(&format!("Used by {}.", users.join(", ")));
        }
    }

    fn errors(&mut self, reference: &Reference) {
        self.heading(2, "errors", "Errors");
        self.block(
            "Every code except `INTERNAL_ERROR` describes an error that the caller can correct.",
        );
        for (shows, codes) in [
            ("Any call can return these:", &reference.general_errors),
            ("These come from checks before an operation runs:", &reference.checked_errors),
            ("Operations can return these themselves:", &reference.other_errors),
        ] {
            if codes.is_empty() {
                continue;
            }
            self.block(shows);
            self.table(
                &["Code", "Meaning"],
                codes.iter().map(|each| {
                    let anchor = anchor("error", each.as_str());
                    let name = format!("<a id=\"{anchor}\"></a>{}", code(each.as_str()));
                    vec![name, cell(&prose::line(each.meaning()))]
                }),
            );
        }
    }

    fn limits(&mut self, reference: &Reference) {
        self.heading(2, "limits", "Mode and limits");
        let rows = phrases::facts(reference);
        self.table(
            &["Setting", "Value"],
            rows.iter().map(|(name, value)| vec![(*name).to_owned(), cell(value)]),
        );
    }
}

/// Formats a parameter or field as a table row.
fn row(field: &Field) -> Vec<String> {
    let info = &field.info;
    let constraints: Vec<_> =
        phrases::constraints(info).iter().map(|phrase| cell(phrase)).collect();
    let mut description = cell(&prose::line(&info.description));
    if info.sensitive {
        description.insert_str(0, "**Secret.** ");
    }
    vec![
        cell(&[Span::code(info.name.as_str())]),
        kind(&field.kind).replace('|', "\\|"),
        if info.required { "yes" } else { "no" }.to_owned(),
        info.default
            .as_ref()
            .map(|it| cell(&[Span::code(phrases::literal(it))]))
            .unwrap_or_default(),
        constraints.join("; "),
        description,
    ]
}

fn kind(parts: &[Part]) -> String {
    parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => escaped(text),
            Part::Type(name) => format!("[{}](#{})", escaped(name), anchor("type", name)),
        })
        .collect()
}

fn operation_link(name: &str) -> String {
    format!("[{}](#{})", escaped(name), anchor("operation", name))
}

fn error_link(code: &ErrorCode) -> String {
    let name = code.as_str();
    format!("[{}](#{})", escaped(name), anchor("error", name))
}

fn spans(spans: &[Span]) -> String {
    spans
        .iter()
        .map(|span| match span {
            Span::Text(text) => escaped(text),
            Span::Code(text) => code(text),
            Span::Strong(text) => format!("**{}**", escaped(text)),
            Span::Link { label, address } => {
                let address = address.replace(['<', '>'], "").replace('\\', "%5C");
                format!("[{}](<{address}>)", escaped(label))
            }
        })
        .collect()
}

/// Formats spans for a table cell, without `|` or line breaks.
fn cell(inside: &[Span]) -> String {
    inside
        .iter()
        .map(|span| match span {
            // In code, `|` is the only character that needs an escape. No other escapes work there.
            Span::Code(_) | Span::Link { .. } => {
                spans(std::slice::from_ref(span)).replace('|', "\\|")
            }
            Span::Text(_) | Span::Strong(_) => spans(std::slice::from_ref(span)),
        })
        .collect()
}

/// Escapes a string for one line, so that it contains no Markdown, tags or entities.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(each) = rest.next() {
        let inside_word = |next: Option<&char>| {
            before.is_alphanumeric() && next.is_some_and(|next| next.is_alphanumeric())
        };
        match each {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // The `_` in `due_date` is not emphasis, and the string is easier to read without the escape.
            '_' if inside_word(rest.peek()) => escaped.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' | '#' => {
                escaped.push('\\');
                escaped.push(each);
            }
            // At the start of a line, these characters begin a list or a rule.
            '-' | '+' | '=' if escaped.is_empty() => {
                escaped.push('\\');
                escaped.push(each);
            }
            _ if each.is_control() => escaped.push(' '),
            _ => escaped.push(each),
        }
        before = each;
    }
    escaped
}

/// Formats code on one line. The fence has more backticks than any sequence of backticks in the code.
fn code(text: &str) -> String {
    let text: String =
        text.chars().map(|each| if each.is_control() { ' ' } else { each }).collect();
    let ticks = "`".repeat(longest_run(&text) + 1);
    let pad =
        if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}

fn longest_run(text: &str) -> usize {
    text.split(|each| each != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_anything_else() {
        for (text, expected) in [
            ("due_date of *a* <b> & [c](d)", r"due_date of \*a\* &lt;b&gt; &amp; \[c\](d)"),
            ("_version | $x$ `y`", r"\_version \| \$x\$ \`y\`"),
            ("- a\nb", r"\- a b"),
            ("# a", r"\# a"),
        ] {
            assert_eq!(escaped(text), expected);
        }
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(cell(&[Span::code("^a|b$")]), r"`^a\|b$`");
        assert_eq!(fenced("", "```\nx"), "````\n```\nx\n````");
    }
}
