//! Small parts of HTML used in the whole page.

use mcp_aql_protocol::{ErrorCode, SemanticCategory};

use crate::docs::element::Html;
use crate::docs::json::{Json, Token};
use crate::docs::prose::{Block, Span, blocks, line};
use crate::docs::reference::{Part, anchor};

/// Writes a heading with a link to itself.
pub(super) fn heading(
    html: &mut Html,
    level: &'static str,
    id: &str,
    name: &str,
    class: &[(&'static str, &str)],
) {
    html.element(level, class, |html| {
        html.text(name);
        html.text(" ");
        let label = format!("Link to {name}");
        let target = format!("#{id}");
        let attributes = [("class", "self"), ("href", target.as_str()), ("aria-label", &label)];
        html.leaf("a", &attributes, "#");
    });
}

pub(super) fn badge(html: &mut Html, category: SemanticCategory) {
    let class = format!("badge {}", category.crude_family());
    html.leaf("span", &[("class", &class)], category.as_str());
}

pub(super) fn kind(html: &mut Html, parts: &[Part]) {
    html.element("span", &[("class", "kind")], |html| {
        for part in parts {
            match part {
                Part::Text(text) => html.text(text),
                Part::Type(name) => {
                    html.leaf("a", &[("href", &format!("#{}", anchor("type", name)))], name);
                }
            }
        }
    });
}

pub(super) fn sample(html: &mut Html, title: &str, json: &Json) {
    html.element("figure", &[("class", "sample")], |html| {
        html.element("figcaption", &[], |html| {
            html.element("span", &[], |html| spans(html, &line(title)));
            html.raw("<button class=\"copy needs-script\" type=\"button\">Copy</button>");
        });
        html.element("pre", &[("tabindex", "0")], |html| {
            html.element("code", &[], |html| {
                for (token, text) in &json.pieces {
                    match token {
                        Token::Mark => html.text(text),
                        Token::Name => html.leaf("span", &[("class", "n")], text),
                        Token::Text => html.leaf("span", &[("class", "s")], text),
                        Token::Number | Token::Word => html.leaf("span", &[("class", "v")], text),
                    }
                }
            });
        });
    });
}

pub(super) fn prose(html: &mut Html, text: &str) {
    for block in blocks(text) {
        match block {
            Block::Paragraph(inside) => html.element("p", &[], |html| spans(html, &inside)),
            Block::List(items) => html.element("ul", &[], |html| {
                for item in &items {
                    html.element("li", &[], |html| spans(html, item));
                }
            }),
            Block::Code(code) => {
                html.element("pre", &[("tabindex", "0")], |html| html.leaf("code", &[], &code));
            }
        }
    }
}

pub(super) fn spans(html: &mut Html, spans: &[Span]) {
    for span in spans {
        match span {
            Span::Text(text) => html.text(text),
            Span::Code(text) => html.leaf("code", &[], text),
            Span::Strong(text) => html.leaf("strong", &[], text),
            Span::Link { label, address } => {
                html.leaf("a", &[("href", address), ("rel", "noreferrer")], label);
            }
        }
    }
}

pub(super) fn error_link(html: &mut Html, code: ErrorCode) {
    let target = format!("#{}", anchor("error", code.as_str()));
    html.element("a", &[("href", &target), ("title", code.meaning())], |html| {
        html.leaf("code", &[], code.as_str());
    });
}
