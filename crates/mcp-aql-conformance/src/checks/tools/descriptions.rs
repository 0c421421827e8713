//! Checks of tool descriptions, which models read.

use std::collections::BTreeSet;

use super::operations_of;
use crate::cases::{Cases, Finding};
use crate::category::Mode;
use crate::forms::is_snake_case;
use crate::run::Run;
use crate::verbs::starts_with_verb;

pub(super) fn introspect_named(run: &Run, cases: &Cases) {
    for tool in &run.adapter.endpoints {
        let holds = tool.description.contains("introspect") && tool.description.contains("query");
        cases.expect(holds, || {
            Finding::shown(
                format!("tool `{}`", tool.name),
                tool.description.clone(),
                "a description with a call of `introspect` and its parameter `query`",
                "explain how to discover the operations: \
                 { operation: \"introspect\", params: { query: \"operations\" } }",
            )
        });
    }
}

/// The labels of the protocol's template for descriptions in their order, each with its alternatives.
fn labels(mode: Mode) -> &'static [&'static [&'static str]] {
    match mode {
        Mode::Single => &[&["Supported operation categories:"], &["Quick start:"]],
        Mode::Semantic | Mode::All => &[
            &["Supported operations:"],
            &["Quick start examples:", "Quick start example:"],
            &["Discover required parameters:", "Discover all operations and parameters:"],
        ],
    }
}

pub(super) fn description_parts(run: &Run, cases: &Cases) {
    for tool in &run.adapter.endpoints {
        let text = tool.description.to_lowercase();
        let wanted: &[&str] = match run.adapter.mode {
            Mode::Single => {
                &["supported operation", "create", "read", "update", "delete", "execute"]
            }
            Mode::Semantic | Mode::All => &["supported operations"],
        };
        let missing: Vec<_> = wanted.iter().filter(|part| !text.contains(*part)).collect();
        cases.expect(missing.is_empty(), || {
            Finding::shown(
                format!("tool `{}`", tool.name),
                tool.description.clone(),
                format!("a description with {missing:?}"),
                "follow the protocol's template: purpose, operations, examples, and how to discover more",
            )
        });
    }
}

pub(super) fn description_labels(run: &Run, cases: &Cases) {
    for tool in &run.adapter.endpoints {
        let places: Vec<_> = labels(run.adapter.mode)
            .iter()
            .map(|forms| forms.iter().find_map(|label| tool.description.find(label)))
            .collect();
        let holds = places.iter().all(Option::is_some) && places.is_sorted();
        cases.expect(holds, || {
            Finding::shown(
                format!("tool `{}`", tool.name),
                tool.description.clone(),
                format!("these labels in this order: {:?}", labels(run.adapter.mode)),
                "use the labels of the protocol's template",
            )
        });
    }
}

/// The words of a text that may be names of operations.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// Whether a word is the name of an operation or has the form of one.
fn is_operation(run: &Run, word: &str) -> bool {
    run.adapter.operation(word).is_some()
        || (word.contains('_') && is_snake_case(word) && starts_with_verb(word))
}

/// The words of a list of operations that may be names. In a list with an operation per item, a colon
/// separates the names from descriptions and parameters.
fn listed_names(list: &str) -> BTreeSet<&str> {
    let is_itemized = list.trim_start().starts_with("- ");
    let names = list.lines().filter_map(|line| match is_itemized {
        true => line.strip_prefix("- ")?.split(':').next(),
        false => Some(line),
    });
    names.flat_map(words).collect()
}

pub(super) fn description_current(run: &Run, cases: &Cases) {
    if run.adapter.mode == Mode::Single {
        return cases.not_applicable("the description of the one tool has brief lists");
    }
    for tool in &run.adapter.endpoints {
        let (_, list) = tool.description.split_once("Supported operations:").unwrap_or_default();
        let list = list.split("\n\n").next().unwrap_or_default();
        let named = listed_names(list);
        let own: BTreeSet<_> =
            operations_of(&run.adapter, tool).map(|operation| operation.name.as_str()).collect();
        // A long list may be cut if it says so.
        let is_cut = named.contains("more");
        let missing: Vec<_> = own.difference(&named).filter(|_| !is_cut).collect();
        let others: Vec<_> =
            named.difference(&own).filter(|name| is_operation(run, name)).collect();
        cases.expect(missing.is_empty() && others.is_empty(), || {
            Finding::shown(
                format!("tool `{}`", tool.name),
                tool.description.clone(),
                format!(
                    "after \"Supported operations:\" the operations that introspection lists for this tool; \
                     missing: {missing:?}, not of this tool: {others:?}"
                ),
                "generate the description from the operations",
            )
        });
    }
}

pub(super) fn empty_families(run: &Run, cases: &Cases) {
    let endpoints = run.adapter.endpoints.iter();
    let empty = endpoints.filter(|tool| operations_of(&run.adapter, tool).next().is_none());
    for tool in cases.some_or_not_applicable(empty, "every tool has operations") {
        let text = tool.description.to_lowercase();
        cases.expect(text.contains("none") || text.contains("no "), || {
            Finding::shown(
                format!("tool `{}`", tool.name),
                tool.description.clone(),
                "a description that says that the tool has no operations",
                "write `Supported operations: none.`, so that models do not try",
            )
        });
    }
}
