//! Selects how much of each operation the tool descriptions show, within a budget.

use mcp_aql_core::adapter::Adapter;
use mcp_aql_core::operation::{Handler, RegisteredOperation};
use mcp_aql_core::router::EndpointMode;

/// The budget of the descriptions of several tools, in tokens.
const BUDGET: usize = 1_500;
/// The budget of the description of a single tool, in tokens.
const SINGLE_BUDGET: usize = 600;
/// The average number of bytes of two tokens in `o200k_base`, measured with tool descriptions.
const BYTES_OF_TWO_TOKENS: usize = 7;
/// The bytes of a tool's name, schema and hints.
const TOOL_BYTES: usize = 300;

/// The budget of descriptions without a setting, in bytes.
pub(super) fn default_budget(adapter: &Adapter) -> usize {
    bytes(match adapter.mode() {
        EndpointMode::Single => SINGLE_BUDGET,
        EndpointMode::Semantic | EndpointMode::All => BUDGET,
    })
}

fn bytes(tokens: usize) -> usize {
    tokens.saturating_mul(BYTES_OF_TWO_TOKENS) / 2
}

/// The estimated size of tools with these descriptions, in bytes.
pub(super) fn size(descriptions: &[String]) -> usize {
    descriptions.iter().map(|text| text.len() + TOOL_BYTES).sum()
}

/// The text of each operation that is described with its parameters, in the order of the registry.
#[derive(Debug, Default)]
pub(super) struct Signatures(Vec<Option<String>>);

impl Signatures {
    /// Selects the most detailed texts that fit into the adapter's budget beside descriptions that
    /// only name the operations.
    pub(super) fn within_budget(adapter: &Adapter, descriptions: &[String]) -> Self {
        let budget = adapter.settings().description_budget.map(bytes);
        let budget = budget.unwrap_or_else(|| default_budget(adapter));
        let budget = budget.saturating_sub(size(descriptions));
        let operations = adapter.registry().entries.iter().map(|entry| &entry.operation);
        let texts = operations.map(|operation| texts(adapter, operation));
        let (short, detailed) = texts.unzip();
        Self(fitting(short, detailed, budget))
    }

    /// Whether all operations are described with their parameters.
    pub(super) fn are_complete(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(Option::is_some)
    }

    /// Whether all operations are only named.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text of the operation at this place of the registry.
    pub(super) fn get(&self, place: usize) -> Option<&str> {
        self.0.get(place)?.as_deref()
    }
}

/// Selects the short text of as many operations as fit, the shortest first, and then replaces as many
/// as fit by detailed texts, those with the smallest difference first. Nothing is selected if less than
/// half of the operations fit, because a list of names is easier to read.
fn fitting(short: Vec<String>, detailed: Vec<String>, budget: usize) -> Vec<Option<String>> {
    let count = short.len();
    let sizes = short.iter().map(String::len);
    let (selected, rest) = smallest(sizes, budget);
    if selected.iter().filter(|it| **it).count() * 2 < count {
        return Vec::new();
    }
    let growth = short.iter().zip(&detailed).zip(&selected).map(|((short, detailed), selected)| {
        if *selected { detailed.len().saturating_sub(short.len()) } else { usize::MAX }
    });
    let (replaced, _) = smallest(growth, rest);
    let texts = short.into_iter().zip(detailed).zip(selected.into_iter().zip(replaced));
    texts
        .map(|((short, detailed), (selected, replaced))| {
            selected.then_some(if replaced { detailed } else { short })
        })
        .collect()
}

/// Marks the smallest sizes whose sum is within a budget, and returns the rest of the budget.
fn smallest(sizes: impl Iterator<Item = usize>, budget: usize) -> (Vec<bool>, usize) {
    let mut order: Vec<(usize, usize)> =
        sizes.enumerate().map(|(place, size)| (size, place)).collect();
    order.sort_unstable();
    let mut marked = vec![false; order.len()];
    let mut rest = budget;
    for (size, place) in order {
        let Some(left) = rest.checked_sub(size) else { break };
        rest = left;
        if let Some(mark) = marked.get_mut(place) {
            *mark = true;
        }
    }
    (marked, rest)
}

/// The short and the detailed text of an operation, which may be the same. `introspect` has its summary
/// only, because the descriptions show its calls.
fn texts(adapter: &Adapter, operation: &RegisteredOperation) -> (String, String) {
    let item = |text: &str| {
        let lines: Vec<_> = text.lines().filter(|line| !line.is_empty()).collect();
        format!("\n- {}: {}", operation.spec.name, lines.join("\n  "))
    };
    if matches!(operation.handler, Handler::Introspect) {
        let summary = item(&operation.spec.summary());
        return (summary.clone(), summary);
    }
    let detailed = item(&adapter.description_with_parameters(operation));
    let short = adapter.summary_with_parameters(operation);
    (short.map_or_else(|| detailed.clone(), |short| item(&short)), detailed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(budget: usize) -> Vec<String> {
        let texts = |texts: [&str; 3]| texts.map(str::to_owned).to_vec();
        let fitted = fitting(texts(["a", "bbb", "c"]), texts(["aaaaa", "bbbb", "ccc"]), budget);
        fitted.into_iter().map(Option::unwrap_or_default).collect()
    }

    #[test]
    fn the_most_operations_are_described_within_the_budget() {
        // REQ-MCP-08
        assert_eq!(fitted(1), [""; 0]);
        assert_eq!(fitted(2), ["a", "", "c"]);
        assert_eq!(fitted(4), ["a", "", "ccc"]);
        assert_eq!(fitted(5), ["a", "bbb", "c"]);
        assert_eq!(fitted(6), ["a", "bbbb", "c"]);
        assert_eq!(fitted(8), ["a", "bbbb", "ccc"]);
        assert_eq!(fitted(12), ["aaaaa", "bbbb", "ccc"]);
    }
}
