//! Renders the reference as one HTML page.
//!
//! The page is complete without its script. The script adds the search, the choice of colors and the copy buttons.

mod entry;
mod parts;

use super::element::Html;
use super::phrases;
use super::prose::line;
use super::reference::{Family, Reference, anchor};
use parts::{badge, heading, prose, sample, spans};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// The content security policy. It blocks all external requests, even if a description contains markup.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'";

pub(super) fn render(reference: &Reference) -> String {
    let mut html = Html::default();
    html.raw("<!doctype html>\n<!-- Written by the adapter's command `docs`. -->\n");
    html.element("html", &[("lang", "en")], |html| {
        html.element("head", &[], |html| head(html, reference));
        html.element("body", &[], |html| {
            html.leaf("a", &[("class", "skip"), ("href", "#main")], "Skip to the content");
            bar(html, reference);
            html.element("nav", &[("id", "contents"), ("aria-label", "Contents")], |html| {
                contents(html, reference);
            });
            html.element("main", &[("id", "main"), ("tabindex", "-1")], |html| {
                html.raw("<p id=\"found\" role=\"status\"></p>\n");
                overview(html, reference);
                reference.families.iter().for_each(|each| family(html, each));
                types(html, reference);
                errors(html, reference);
                limits(html, reference);
                footer(html, reference);
            });
        });
    });
    html.raw("\n");
    html.finish()
}

fn head(html: &mut Html, reference: &Reference) {
    let name = &reference.name;
    html.raw("<meta charset=\"utf-8\">\n");
    html.element(
        "meta",
        &[("http-equiv", "Content-Security-Policy"), ("content", CONTENT_SECURITY_POLICY)],
        |_| {},
    );
    html.raw("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    // An empty icon keeps browsers from requesting /favicon.ico.
    html.raw("<link rel=\"icon\" href=\"data:,\">\n");
    html.leaf("title", &[], &format!("{name} {} – operations", reference.version));
    html.raw("<style>\n");
    html.raw(STYLE);
    html.raw("</style>\n<script>\n");
    html.raw(SCRIPT);
    html.raw("</script>\n");
}

fn bar(html: &mut Html, reference: &Reference) {
    html.element("header", &[("class", "bar")], |html| {
        html.element("a", &[("class", "brand"), ("href", "#main")], |html| {
            html.leaf("span", &[("class", "name")], &reference.name);
            html.leaf("span", &[("class", "version")], &reference.version);
        });
        html.raw(concat!(
            "<div class=\"search needs-script\" role=\"search\">",
            "<label class=\"aside\" for=\"search\">Search operations and types</label>",
            "<input id=\"search\" type=\"search\" placeholder=\"Search operations, parameters, types\" ",
            "autocomplete=\"off\" spellcheck=\"false\" aria-describedby=\"found\">",
            "<kbd aria-hidden=\"true\">/</kbd></div>\n",
            "<p id=\"said\" class=\"aside\" role=\"status\"></p>\n",
            "<button id=\"theme\" class=\"plain needs-script\" type=\"button\">",
            "<span class=\"aside\">Switch colours</span></button>\n",
            "<button id=\"menu\" class=\"plain needs-script\" type=\"button\" aria-controls=\"contents\" ",
            "aria-expanded=\"false\">Contents</button>\n",
        ));
    });
}

fn contents(html: &mut Html, reference: &Reference) {
    let section = |html: &mut Html, anchor: &str, name: &str| {
        html.element("p", &[("class", "title")], |html| {
            html.leaf("a", &[("href", &format!("#{anchor}"))], name);
        });
    };
    section(html, "overview", "Overview");
    for family in &reference.families {
        let anchor_of = anchor("family", &family.name);
        html.element("div", &[], |html| {
            section(html, &anchor_of, &family.name);
            html.element("ul", &[], |html| {
                for operation in &family.operations {
                    let target = anchor("operation", operation.name);
                    let mut attributes = vec![("data-for", target.as_str())];
                    attributes.extend(operation.deprecated.as_ref().map(|_| ("class", "old")));
                    html.element("li", &attributes, |html| {
                        html.element("a", &[("href", &format!("#{target}"))], |html| {
                            html.leaf("code", &[], operation.name);
                            badge(html, operation.category);
                        });
                    });
                }
            });
        });
    }
    let [own, protocol] = &reference.types;
    for (target, title, types) in
        [("types", "Types", own), ("protocol-types", "Types of the protocol", protocol)]
    {
        if types.is_empty() {
            continue;
        }
        html.element("div", &[], |html| {
            section(html, target, title);
            html.element("ul", &[], |html| {
                for each in types {
                    let target = anchor("type", &each.name);
                    html.element("li", &[("data-for", &target)], |html| {
                        html.element("a", &[("href", &format!("#{target}"))], |html| {
                            html.leaf("code", &[], &each.name);
                        });
                    });
                }
            });
        });
    }
    section(html, "errors", "Errors");
    section(html, "limits", "Mode and limits");
}

fn overview(html: &mut Html, reference: &Reference) {
    html.element("section", &[("id", "overview"), ("class", "overview")], |html| {
        html.leaf("h1", &[], &reference.name);
        let count = match reference.operations().count() {
            1 => "1 operation".to_owned(),
            count => format!("{count} operations"),
        };
        html.leaf(
            "p",
            &[("class", "lead")],
            &format!(
                "Reference of the {} adapter, version {}: {count}, offered to MCP clients through \
                 MCP-AQL {}.",
                reference.name, reference.version, reference.protocol.version
            ),
        );
        if let Some(instructions) = &reference.instructions {
            prose(html, instructions);
        }
        html.element("div", &[("class", "two")], |html| {
            html.element("div", &[], |html| {
                html.leaf("h2", &[("class", "small")], "Tools");
                html.element("ul", &[("class", "tools")], |html| {
                    for family in &reference.families {
                        tool(html, family);
                    }
                });
            });
            html.element("div", &[], |html| {
                html.leaf("h2", &[("class", "small")], "How to call");
                html.raw(
                    "<p>A call names the tool, the operation, and the operation's parameters in \
                     <code>params</code>. This call lists all operations:</p>\n",
                );
                sample(html, "MCP tool call", &reference.first_call());
                html.raw(
                    "<p>The reply is <code>{\"success\": true, \"data\": …}</code> or \
                     <code>{\"success\": false, \"error\": …}</code>, and the error's message says \
                     what to change.</p>\n",
                );
            });
        });
    });
}

/// Writes a family's tool and its operations.
fn tool(html: &mut Html, family: &Family) {
    html.element("li", &[], |html| {
        html.element("p", &[], |html| {
            html.leaf("code", &[], &family.tool);
            html.text(" ");
            html.leaf("span", &[("class", "quiet")], &family.purpose);
        });
        html.element("p", &[("class", "links")], |html| {
            for operation in &family.operations {
                let target = format!("#{}", anchor("operation", operation.name));
                html.leaf("a", &[("href", &target)], operation.name);
                html.text(" ");
            }
        });
    });
}

fn family(html: &mut Html, family: &Family) {
    let id = anchor("family", &family.name);
    html.element("section", &[("id", &id), ("class", "group")], |html| {
        heading(html, "h2", &id, &family.name, &[]);
        html.element("p", &[("class", "quiet")], |html| {
            html.text(&family.purpose);
            html.text(" Tool: ");
            html.leaf("code", &[], &family.tool);
        });
        family.operations.iter().for_each(|each| entry::operation(html, each));
    });
}

fn types(html: &mut Html, reference: &Reference) {
    let [own, protocol] = &reference.types;
    for (id, title, types) in
        [("types", "Types", own), ("protocol-types", "Types of the protocol", protocol)]
    {
        if types.is_empty() {
            continue;
        }
        html.element("section", &[("id", id), ("class", "group")], |html| {
            heading(html, "h2", id, title, &[]);
            types.iter().for_each(|each| entry::one_type(html, each));
        });
    }
}

fn errors(html: &mut Html, reference: &Reference) {
    html.element("section", &[("id", "errors"), ("class", "group")], |html| {
        heading(html, "h2", "errors", "Errors", &[]);
        html.raw(
            "<p>Every code except <code>INTERNAL_ERROR</code> describes an error that the caller can \
             correct.</p>\n",
        );
        for (title, codes) in [
            ("Any call can return these", &reference.general_errors),
            ("These come from checks before an operation runs", &reference.checked_errors),
            ("Operations can return these themselves", &reference.other_errors),
        ] {
            if codes.is_empty() {
                continue;
            }
            html.leaf("h3", &[("class", "small")], title);
            html.element("dl", &[("class", "rows")], |html| {
                for code in codes {
                    html.element("div", &[("id", &anchor("error", code.as_str()))], |html| {
                        html.element("dt", &[], |html| html.leaf("code", &[], code.as_str()));
                        html.element("dd", &[], |html| spans(html, &line(code.meaning())));
                    });
                }
            });
        }
    });
}

fn limits(html: &mut Html, reference: &Reference) {
    html.element("section", &[("id", "limits"), ("class", "group")], |html| {
        heading(html, "h2", "limits", "Mode and limits", &[]);
        html.element("dl", &[("class", "rows")], |html| {
            for (name, value) in phrases::facts(reference) {
                html.element("div", &[], |html| {
                    html.leaf("dt", &[], name);
                    html.element("dd", &[], |html| spans(html, &value));
                });
            }
        });
    });
}

fn footer(html: &mut Html, reference: &Reference) {
    html.element("footer", &[], |html| {
        html.text(&format!(
            "{} {}, generated from its introspection.",
            reference.name, reference.version
        ));
    });
}
