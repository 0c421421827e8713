//! Checks of the tool descriptions that models read.

use std::collections::BTreeSet;

use super::operations_of;
use crate::adapter::{Operation, Tool};
use crate::cases::{Cases, Finding};
use crate::category::{Category, Mode};
use crate::finding::listed;
use crate::forms::is_snake_case;
use crate::run::Run;
use crate::verbs::starts_with_verb;

pub(super) fn introspect_named(run: &Run, cases: &Cases) {
    for tool in &run.adapter.endpoints {
        let names_it = tool.description.contains("introspect");
        if names_it && let Some(gap) = run.adapter.unread() {
            // The description may explain the adapter's own form of `introspect`.
            cases.skip(gap.skip());
            continue;
        }
        let holds = names_it && tool.description.contains("query");
        cases.expect(holds, || {
            Finding::shown(format!("tool `{}`", tool.name), tool.description.clone())
        });
    }
}

/// Returns the labels of the protocol's template for descriptions in their order, each with its alternatives.
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

/// Returns the byte offset of a label in a description.
///
/// More words may precede the colon of the label, for example the tool to use:
///
/// ```text
/// Discover required parameters with the READ tool:
/// ```
fn place_of(label: &str, description: &str) -> Option<usize> {
    let words = label.trim_end_matches(':');
    let mut places = description.match_indices(words);
    places.find_map(|(at, _)| {
        let rest = description.get(at + words.len()..)?;
        rest.lines().next()?.contains(':').then_some(at)
    })
}

/// Removes the parts in braces. They are examples of requests.
///
/// ```text
/// Quick start: { "operation": "introspect" } first  →  Quick start:  first
/// ```
fn without_examples(text: &str) -> String {
    let mut depth = 0_usize;
    let mut kept = String::new();
    for letter in text.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(letter),
            _ => {}
        }
    }
    kept
}

/// Returns `true` if a description names an operation of its tool other than `introspect`, outside of the examples.
///
/// The check `tools.description_current` compares the whole list.
fn lists_operations(run: &Run, tool: &Tool) -> bool {
    let text = without_examples(&tool.description);
    let named: BTreeSet<_> = words(&text).collect();
    listable(run, tool).any(|operation| named.contains(operation.name.as_str()))
}

/// Returns the operations of a tool that its description should list.
fn listable<'r>(run: &'r Run, tool: &'r Tool) -> impl Iterator<Item = &'r Operation> {
    operations_of(&run.adapter, tool).filter(|operation| operation.name != "introspect")
}

/// Returns `true` if any operation is known. Otherwise skips or blocks the case.
fn knows_operations(run: &Run, cases: &Cases) -> bool {
    if let Some(gap) = run.adapter.unread() {
        cases.skip(gap.skip());
        return false;
    }
    let is_known = !run.adapter.operations.is_empty();
    if !is_known {
        cases.block("introspection.list_form", "no entry of the list of operations could be read");
    }
    is_known
}

/// Returns the categories with operations that the description of the single tool does not mention.
///
/// The template has a brief list for each category, so its name is enough, also in another form such as "updating". The
/// name of an operation in the category counts, too.
fn unnamed_categories(run: &Run, tool: &Tool) -> Vec<Category> {
    let text = tool.description.to_lowercase();
    let is_named = |category: Category| {
        let word = category.family();
        let stem = word.trim_end_matches('e');
        text.contains(stem)
            || operations_of(&run.adapter, tool).any(|operation| {
                operation.category == Some(category)
                    && words(&tool.description).any(|word| word == operation.name)
            })
    };
    let used =
        Category::ALL.into_iter().filter(|category| run.adapter.of(*category).next().is_some());
    used.filter(|category| !is_named(*category)).collect()
}

pub(super) fn description_parts(run: &Run, cases: &Cases) {
    if !knows_operations(run, cases) {
        return;
    }
    for tool in &run.adapter.endpoints {
        if run.adapter.mode == Mode::Single {
            let unnamed = unnamed_categories(run, tool);
            cases.expect(unnamed.is_empty(), || {
                Finding::shown(format!("tool `{}`", tool.name), tool.description.clone()).expected(
                    format!(
                        "a description that mentions the operations of each category; missing: {}",
                        listed(&unnamed)
                    ),
                )
            });
            continue;
        }
        if listable(run, tool).next().is_none() {
            // The check `tools.empty_families` judges tools without operations.
            continue;
        }
        cases.expect(lists_operations(run, tool), || {
            Finding::shown(format!("tool `{}`", tool.name), tool.description.clone())
                .expected("a description that lists the operations of the tool by their names")
        });
    }
}

pub(super) fn description_labels(run: &Run, cases: &Cases) {
    for tool in &run.adapter.endpoints {
        let places: Vec<_> = labels(run.adapter.mode)
            .iter()
            .map(|forms| forms.iter().find_map(|label| place_of(label, &tool.description)))
            .collect();
        let holds = places.iter().all(Option::is_some) && places.is_sorted();
        let order = labels(run.adapter.mode).iter().filter_map(|forms| forms.first());
        cases.expect(holds, || {
            Finding::shown(format!("tool `{}`", tool.name), tool.description.clone())
                .expected(format!("these labels in this order: {}", listed(order)))
        });
    }
}

/// Splits a string into words of letters, digits and underscores, the characters of operation names.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// Returns `true` if a word is the name of an operation or has the form of one.
fn is_operation(run: &Run, word: &str) -> bool {
    run.adapter.operation(word).is_some()
        || (word.contains('_') && is_snake_case(word) && starts_with_verb(word))
}

/// Returns the possible operation names in a list of operations.
///
/// If the list has one operation per line, a colon separates the name from its description and parameters.
///
/// ```text
/// - get_bed: returns a bed (bed_id)
/// - list_beds
/// ```
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
        // A long list may be shortened if it says so, for example with "and 12 more".
        let is_cut = named.contains("more");
        let missing: Vec<_> = own.difference(&named).filter(|_| !is_cut).collect();
        let others: Vec<_> =
            named.difference(&own).filter(|name| is_operation(run, name)).collect();
        cases.expect(missing.is_empty() && others.is_empty(), || {
            Finding::shown(format!("tool `{}`", tool.name), tool.description.clone()).expected(
                format!(
                    "after \"Supported operations:\" the operations that introspection lists for \
                     this tool; missing: {}; not of this tool: {}",
                    listed(&missing),
                    listed(&others)
                ),
            )
        });
    }
}

pub(super) fn empty_families(run: &Run, cases: &Cases) {
    // An operation without a known tool may belong to any tool, so no tool is certainly empty.
    let is_unknown = |operation: &Operation| {
        run.adapter.endpoints.iter().all(|tool| tool.name != operation.tool)
    };
    if !knows_operations(run, cases) {
        return;
    }
    if let Some(operation) = run.adapter.operations.iter().find(|it| is_unknown(it)) {
        return cases.skip_without(format!(
            "introspection names no tool of the adapter for `{}`, so any tool may have it",
            operation.name
        ));
    }
    let endpoints = run.adapter.endpoints.iter();
    let empty = endpoints.filter(|tool| operations_of(&run.adapter, tool).next().is_none());
    for tool in cases.some_or_not_applicable(empty, "every tool has operations") {
        let text = tool.description.to_lowercase();
        cases.expect(text.contains("none") || text.contains("no "), || {
            Finding::shown(format!("tool `{}`", tool.name), tool.description.clone())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_may_have_more_words_before_the_colon() {
        let label = "Discover required parameters:";
        assert_eq!(place_of(label, "Beds.\n\nDiscover required parameters:\n{}"), Some(7));
        assert_eq!(
            place_of(label, "Discover required parameters with the READ tool:\n{}"),
            Some(0)
        );
        assert_eq!(place_of(label, "Discover required parameters.\nExamples:"), None);
        assert_eq!(place_of(label, "Examples:"), None);
    }
}
