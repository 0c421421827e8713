//! A parser for the part of Markdown that doc comments use: paragraphs, lists, code, strong text,
//! links. Everything else is plain text.

/// A block of prose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    Paragraph(Vec<Span>),
    List(Vec<Vec<Span>>),
    Code(String),
}

/// An inline element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Span {
    Text(String),
    Code(String),
    Strong(String),
    /// A web address and its label. Only `https:` and `http:` addresses become links.
    Link {
        label: String,
        address: String,
    },
}

impl Span {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn code(text: impl Into<String>) -> Self {
        Self::Code(text.into())
    }
}

/// Splits Markdown text into blocks.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open = OpenBlock::Nothing;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if let Some(fence) = fence(line) {
            open.close(&mut blocks);
            let inside: Vec<_> =
                lines.by_ref().take_while(|line| !line.trim().starts_with(fence)).collect();
            blocks.push(Block::Code(inside.join("\n")));
        } else if line.is_empty() {
            open.close(&mut blocks);
        } else if let Some(item) = item(line) {
            open.item(item, &mut blocks);
        } else if let Some(heading) = heading(line) {
            open.close(&mut blocks);
            blocks.push(Block::Paragraph(vec![Span::Strong(heading.to_owned())]));
        } else {
            open.text(line);
        }
    }
    open.close(&mut blocks);
    blocks
}

/// Returns the text as inline elements on one line, for a table cell.
pub(super) fn line(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    for block in blocks(text) {
        let mut add = |more: Vec<Span>| {
            if !spans.is_empty() {
                spans.push(Span::text(" "));
            }
            spans.extend(more);
        };
        match block {
            Block::Paragraph(inside) => add(inside),
            Block::List(items) => items.into_iter().for_each(add),
            Block::Code(code) => add(vec![Span::code(code)]),
        }
    }
    spans
}

/// The block that the next line may continue.
enum OpenBlock {
    Nothing,
    Paragraph(String),
    List(Vec<String>),
}

impl OpenBlock {
    fn close(&mut self, blocks: &mut Vec<Block>) {
        match std::mem::replace(self, Self::Nothing) {
            Self::Nothing => {}
            Self::Paragraph(text) => blocks.push(Block::Paragraph(spans(&text))),
            Self::List(items) => {
                blocks.push(Block::List(items.iter().map(|item| spans(item)).collect()));
            }
        }
    }

    fn item(&mut self, item: &str, blocks: &mut Vec<Block>) {
        if let Self::List(items) = self {
            items.push(item.to_owned());
        } else {
            self.close(blocks);
            *self = Self::List(vec![item.to_owned()]);
        }
    }

    /// Appends a line to the open block.
    fn text(&mut self, line: &str) {
        match self {
            Self::Nothing => *self = Self::Paragraph(line.to_owned()),
            Self::Paragraph(text) => append_line(text, line),
            Self::List(items) => {
                if let Some(item) = items.last_mut() {
                    append_line(item, line);
                }
            }
        }
    }
}

fn append_line(text: &mut String, line: &str) {
    text.push(' ');
    text.push_str(line);
}

fn fence(line: &str) -> Option<&'static str> {
    ["```", "~~~"].into_iter().find(|fence| line.starts_with(fence))
}

fn item(line: &str) -> Option<&str> {
    ["- ", "* ", "+ "].into_iter().find_map(|mark| line.strip_prefix(mark)).map(str::trim)
}

fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    rest.strip_prefix(' ').filter(|_| rest.len() < line.len()).map(str::trim)
}

/// Parses code, strong text and links in a line.
pub(super) fn spans(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let found = match first {
            '`' => code(rest),
            '*' => strong(rest),
            '[' => link(rest),
            _ => None,
        };
        if let Some((span, after)) = found {
            if !plain.is_empty() {
                spans.push(Span::Text(std::mem::take(&mut plain)));
            }
            spans.push(span);
            rest = after;
            continue;
        }
        // An unclosed run of backticks is plain text.
        let taken = match first {
            '`' => rest.len() - rest.trim_start_matches('`').len(),
            _ => first.len_utf8(),
        };
        let (text, after) = rest.split_at(taken);
        plain.push_str(text);
        rest = after;
    }
    if !plain.is_empty() {
        spans.push(Span::Text(plain));
    }
    spans
}

/// Parses `code` between runs of equally many backticks.
fn code(text: &str) -> Option<(Span, &str)> {
    let inside = text.trim_start_matches('`');
    let ticks = text.len() - inside.len();
    let mut rest = inside;
    while let Some((before, _)) = rest.split_once('`') {
        let (_, at) = rest.split_at(before.len());
        let after = at.trim_start_matches('`');
        if at.len() - after.len() == ticks {
            let (code, _) = inside.split_at(inside.len() - at.len());
            let one_space = |text: &str| {
                text.strip_prefix(' ')
                    .and_then(|text| text.strip_suffix(' '))
                    .filter(|inner| inner.contains('`'))
                    .map(str::to_owned)
            };
            return Some((Span::Code(one_space(code).unwrap_or_else(|| code.to_owned())), after));
        }
        rest = after;
    }
    None
}

fn strong(text: &str) -> Option<(Span, &str)> {
    let (inside, after) = text.strip_prefix("**")?.split_once("**")?;
    let tight = !inside.is_empty() && inside.trim().len() == inside.len();
    tight.then(|| (Span::Strong(inside.to_owned()), after))
}

fn link(text: &str) -> Option<(Span, &str)> {
    let (label, rest) = text.strip_prefix('[')?.split_once("](")?;
    let (address, after) = rest.split_once(')')?;
    let web = address.starts_with("https://") || address.starts_with("http://");
    let plain = !label.contains(['[', ']']) && !address.contains(char::is_whitespace);
    (web && plain && !label.trim().is_empty()).then(|| {
        let label = label.replace('`', "");
        (Span::Link { label, address: address.to_owned() }, after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doc_comments_are_split_into_blocks() {
        let text = "Change\nfields.\n\n# Notes\n- one\n  goes on\n- `two`\n\n```json\n{\"a\": 1}\n```\nEnd";
        let text_of = |text: &str| vec![Span::text(text)];
        assert_eq!(
            blocks(text),
            [
                Block::Paragraph(text_of("Change fields.")),
                Block::Paragraph(vec![Span::Strong("Notes".to_owned())]),
                Block::List(vec![text_of("one goes on"), vec![Span::code("two")]]),
                Block::Code("{\"a\": 1}".to_owned()),
                Block::Paragraph(text_of("End")),
            ]
        );
    }

    #[test]
    fn marks_that_nothing_closes_are_text() {
        for (shows, text, expected) in [
            ("code", "a `b*c` d", vec![Span::text("a "), Span::code("b*c"), Span::text(" d")]),
            ("code with a backtick", "`` a`b ``", vec![Span::code("a`b")]),
            ("an open backtick", "a `b ``c", vec![Span::text("a `b ``c")]),
            ("strong", "**must** be", vec![Span::Strong("must".to_owned()), Span::text(" be")]),
            ("a product", "2 ** 3 ** 4", vec![Span::text("2 ** 3 ** 4")]),
            ("a script", "[x](javascript:alert(1))", vec![Span::text("[x](javascript:alert(1))")]),
        ] {
            assert_eq!(spans(text), expected, "{shows}");
        }
        let (label, address) = ("the RFC".to_owned(), "https://example.org/a".to_owned());
        assert_eq!(spans("[the RFC](https://example.org/a)"), [Span::Link { label, address }]);
    }
}
