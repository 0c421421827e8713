//! The entries of operations and types. The page's search shows and hides them.

use super::parts::{badge, error_link, heading, kind, prose, sample, spans};
use crate::docs::element::Html;
use crate::docs::phrases;
use crate::docs::prose::line;
use crate::docs::reference::{Field, Operation, Type, anchor, member_anchor};

pub(super) fn operation(html: &mut Html, operation: &Operation) {
    let id = anchor("operation", operation.name);
    html.element("article", &[("id", &id), ("class", "entry operation")], |html| {
        html.element("div", &[("class", "facts")], |html| {
            html.element("header", &[], |html| {
                heading(html, "h3", &id, operation.name, &[("class", "code")]);
                html.element("p", &[("class", "badges")], |html| badges(html, operation));
            });
            if let Some(notice) = &operation.deprecated {
                html.leaf("p", &[("class", "notice")], notice);
            }
            prose(html, &operation.description);
            if let Some(rationale) = operation.rationale {
                html.element("p", &[("class", "quiet")], |html| {
                    html.text("Category: ");
                    spans(html, &line(rationale));
                });
            }
            html.leaf("h4", &[], "Parameters");
            if operation.parameters.is_empty() {
                html.raw("<p class=\"quiet\">This operation has no parameters.</p>\n");
            } else {
                let id = |name: &str| Some(member_anchor("parameter", operation.name, name));
                fields(html, "Parameter", &operation.parameters, id);
            }
            html.leaf("h4", &[], "Result");
            html.element("p", &[], |html| {
                kind(html, &operation.returns.kind);
                spans(html, &phrases::place(&operation.returns.description));
            });
            html.leaf("h4", &[], "Errors");
            if !operation.errors.is_empty() {
                html.element("ul", &[("class", "codes")], |html| {
                    for code in &operation.errors {
                        html.element("li", &[], |html| error_link(html, *code));
                    }
                });
            }
            html.raw(match operation.built_in {
                true => {
                    "<p class=\"quiet\">Also those of <a href=\"#errors\">every call</a>.</p>\n"
                }
                false => {
                    "<p class=\"quiet\">Also those of <a href=\"#errors\">every call</a>, and errors that \
                     the operation itself returns.</p>\n"
                }
            });
        });
        html.element("div", &[("class", "samples")], |html| {
            for example in &operation.examples {
                let title = match example.description.as_str() {
                    "" => "Example".to_owned(),
                    shows => format!("Example: {shows}"),
                };
                sample(html, &title, &example.call);
            }
        });
    });
}

fn badges(html: &mut Html, operation: &Operation) {
    badge(html, operation.category);
    let effect = match (operation.permissions.read_only, operation.permissions.destructive) {
        (true, _) => "reads only",
        (_, true) => "may overwrite or remove data",
        _ => "adds data",
    };
    if operation.deprecated.is_some() {
        html.leaf("span", &[("class", "badge old")], "deprecated");
    }
    html.leaf("span", &[("class", "effect")], effect);
    html.element("span", &[("class", "tool")], |html| {
        html.leaf("span", &[("class", "aside")], "Tool: ");
        html.leaf("code", &[], &operation.tool);
    });
}

/// Writes the parameters of an operation, or the fields of a type, as a table.
fn fields(
    html: &mut Html,
    what: &'static str,
    fields: &[Field],
    id: impl Fn(&str) -> Option<String>,
) {
    // The roles are explicit, because a narrow screen stacks the cells, and the table must remain accessible.
    html.element("table", &[("role", "table")], |html| {
        html.element("thead", &[("role", "rowgroup")], |html| {
            html.element("tr", &[("role", "row")], |html| {
                for name in [what, "Type", "Description"] {
                    html.leaf("th", &[("scope", "col"), ("role", "columnheader")], name);
                }
            });
        });
        html.element("tbody", &[("role", "rowgroup")], |html| {
            for field in fields {
                let id = id(&field.info.name);
                let mut attributes = vec![("role", "row")];
                attributes.extend(id.as_deref().map(|id| ("id", id)));
                html.element("tr", &attributes, |html| row(html, field, id.as_deref()));
            }
        });
    });
}

fn row(html: &mut Html, field: &Field, id: Option<&str>) {
    let info = &field.info;
    html.element("th", &[("scope", "row"), ("role", "rowheader")], |html| {
        match id {
            Some(id) => html.element("a", &[("href", &format!("#{id}"))], |html| {
                html.leaf("code", &[], &info.name);
            }),
            None => html.leaf("code", &[], &info.name),
        }
        html.text(" ");
        match info.required {
            true => html.leaf("span", &[("class", "required")], "required"),
            false => html.leaf("span", &[("class", "optional")], "optional"),
        }
        if field.deprecated {
            html.text(" ");
            html.leaf("span", &[("class", "badge old")], "deprecated");
        }
        if info.sensitive {
            html.text(" ");
            html.leaf("span", &[("class", "badge secret")], "secret");
        }
    });
    html.element("td", &[("class", "type"), ("role", "cell")], |html| kind(html, &field.kind));
    html.element("td", &[("role", "cell")], |html| {
        prose(html, &info.description);
        let constraints = phrases::constraints(info);
        if constraints.is_empty() && info.default.is_none() {
            return;
        }
        html.element("ul", &[("class", "constraints")], |html| {
            for phrase in &constraints {
                html.element("li", &[], |html| spans(html, phrase));
            }
            if let Some(default) = &info.default {
                html.element("li", &[], |html| {
                    html.text("default ");
                    html.leaf("code", &[], &phrases::literal(default));
                });
            }
        });
    });
}

pub(super) fn one_type(html: &mut Html, each: &Type) {
    let id = anchor("type", &each.name);
    html.element("article", &[("id", &id), ("class", "entry")], |html| {
        html.element("header", &[], |html| {
            heading(html, "h3", &id, &each.name, &[("class", "code")]);
            html.element("p", &[("class", "badges")], |html| {
                html.leaf("span", &[("class", "badge type")], &each.kind);
            });
        });
        prose(html, &each.description);
        if !each.values.is_empty() {
            html.element("ul", &[("class", "values")], |html| {
                for value in &each.values {
                    html.element("li", &[], |html| {
                        html.leaf("code", &[], &phrases::literal(value));
                    });
                }
            });
        }
        if !each.members.is_empty() {
            html.element("p", &[], |html| {
                html.text("One of ");
                for (index, member) in each.members.iter().enumerate() {
                    html.text(if index == 0 { "" } else { ", " });
                    kind(html, member);
                }
                html.text(".");
            });
        }
        if !each.fields.is_empty() {
            fields(html, "Field", &each.fields, |_| None);
        }
        if !each.used_by.is_empty() {
            html.element("p", &[("class", "quiet links")], |html| {
                html.text("Used by ");
                for name in &each.used_by {
                    html.leaf("a", &[("href", &format!("#{}", anchor("operation", name)))], name);
                    html.text(" ");
                }
            });
        }
    });
}
