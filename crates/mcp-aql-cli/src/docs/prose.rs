//! The subset of Markdown that reference pages support: paragraphs, lists, code, strong emphasis and links. Everything
//! else is reduced to its plain characters.

use pulldown_cmark::{CowStr, Event, Parser, Tag, TagEnd};

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
    /// A web address with its label. Only `https:` and `http:` addresses become links.
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

/// Splits Markdown into blocks.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut reader = Reader::default();
    Parser::new(text).for_each(|event| reader.read(event));
    reader.end_list();
    reader.blocks
}

/// Returns Markdown as inline elements on one line, for a table cell.
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

/// Collects the blocks of a Markdown string.
#[derive(Default)]
struct Reader<'a> {
    blocks: Vec<Block>,
    /// The items of the open list. Items of nested lists are added to the outermost one.
    items: Vec<Vec<Span>>,
    /// The number of open lists.
    lists: usize,
    /// The open paragraph or item.
    spans: Vec<Span>,
    /// The open code block, heading, strong element or link label, with the tag that ends it. These contain plain
    /// characters only.
    plain: Option<(TagEnd, String)>,
    /// The address of the open link.
    address: Option<CowStr<'a>>,
}

impl<'a> Reader<'a> {
    fn read(&mut self, event: Event<'a>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            // Only code blocks keep their line breaks.
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text.replace('\n', " ")),
            Event::Code(code) => match &mut self.plain {
                Some((_, plain)) => plain.push_str(&code),
                None => self.spans.push(Span::code(&*code)),
            },
            Event::SoftBreak | Event::HardBreak => self.text(" "),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'a>) {
        match tag {
            Tag::List(_) => {
                self.end_item();
                self.lists += 1;
            }
            Tag::CodeBlock(_) => {
                self.end_list();
                self.plain = Some((tag.to_end(), String::new()));
            }
            // If a strong element and a link are nested, or one is inside a heading, only the outermost element is
            // kept.
            Tag::Heading { .. } | Tag::Strong | Tag::Link { .. } if self.plain.is_none() => {
                self.plain = Some((tag.to_end(), String::new()));
                if let Tag::Link { dest_url, .. } = tag {
                    self.address = Some(dest_url);
                }
            }
            // This is another paragraph of the same item.
            Tag::Paragraph if !self.spans.is_empty() => self.text(" "),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        if let Some((_, plain)) = self.plain.take_if(|(end, _)| *end == tag) {
            return self.end_plain(tag, plain);
        }
        match tag {
            TagEnd::List(_) => {
                self.lists = self.lists.saturating_sub(1);
                if self.lists == 0 {
                    self.end_list();
                }
            }
            TagEnd::Item => self.end_item(),
            TagEnd::Paragraph | TagEnd::HtmlBlock if self.lists == 0 => self.end_paragraph(),
            _ => {}
        }
    }

    fn end_plain(&mut self, tag: TagEnd, plain: String) {
        match tag {
            TagEnd::CodeBlock => {
                self.blocks.push(Block::Code(plain.trim_end_matches('\n').to_owned()));
            }
            TagEnd::Link => self.end_link(plain),
            TagEnd::Heading(_) => {
                self.spans.push(Span::Strong(plain));
                self.end_item();
            }
            _ => self.spans.push(Span::Strong(plain)),
        }
    }

    /// Adds characters to the open element.
    fn text(&mut self, text: &str) {
        match (&mut self.plain, self.spans.last_mut()) {
            (Some((_, plain)), _) => plain.push_str(text),
            (None, Some(Span::Text(last))) => last.push_str(text),
            (None, _) => self.spans.push(Span::text(text)),
        }
    }

    /// Ends a link. An address that does not start with `https:` or `http:` is reduced to its label.
    fn end_link(&mut self, label: String) {
        let address = self.address.take().unwrap_or_else(|| CowStr::from(""));
        if ["https://", "http://"].iter().any(|scheme| address.starts_with(scheme)) {
            self.spans.push(Span::Link { label, address: address.into_string() });
        } else {
            self.text(&label);
        }
    }

    fn end_paragraph(&mut self) {
        if !self.spans.is_empty() {
            self.blocks.push(Block::Paragraph(std::mem::take(&mut self.spans)));
        }
    }

    fn end_item(&mut self) {
        if self.lists == 0 {
            self.end_paragraph();
        } else if !self.spans.is_empty() {
            self.items.push(std::mem::take(&mut self.spans));
        }
    }

    /// Ends the open list, or the open paragraph before a code block.
    fn end_list(&mut self) {
        self.end_item();
        if !self.items.is_empty() {
            self.blocks.push(Block::List(std::mem::take(&mut self.items)));
        }
    }
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
            ("names", "max_request_size *x*", vec![Span::text("max_request_size x")]),
            ("markup", "a <b>c", vec![Span::text("a <b>c")]),
            ("markup in lines", "a <b\nc>d", vec![Span::text("a <b c>d")]),
            ("a heading", "# The **big** one", vec![Span::Strong("The big one".to_owned())]),
            ("a script", "[x](javascript:alert(1))", vec![Span::text("x")]),
            (
                "an item of Rust",
                "[`Update`]",
                vec![Span::text("["), Span::code("Update"), Span::text("]")],
            ),
        ] {
            assert_eq!(line(text), expected, "{shows}");
        }
        let (label, address) = ("the RFC".to_owned(), "https://example.org/a".to_owned());
        assert_eq!(line("[the **RFC**](https://example.org/a)"), [Span::Link { label, address }]);
    }

    #[test]
    fn nested_and_numbered_lists_become_items() {
        let text_of = |text: &str| vec![Span::text(text)];
        assert_eq!(
            blocks("1. one\n   - two\n\n     still two\n2. three\n\nEnd"),
            [
                Block::List(vec![text_of("one"), text_of("two still two"), text_of("three")]),
                Block::Paragraph(text_of("End")),
            ]
        );
    }
}
