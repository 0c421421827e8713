//! Selects how much detail the tool descriptions show for each operation, within a token budget.

use mcp_aql_core::Adapter;
use mcp_aql_core::internal::adapter::default_description_budget;
use mcp_aql_core::internal::operation::{Handler, RegisteredOperation};

use super::token_estimate::estimated_tokens;

/// Number of tokens for a tool's name, schema and hints.
const TOOL_TOKENS: usize = 72;

/// Maximum length of a description, in UTF-16 units. Claude's clients truncate longer ones.
const MAX_LENGTH: usize = 2_048;

/// The size limits of an adapter's tool descriptions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    tokens: usize,
    /// Maximum length of each description, in UTF-16 units.
    length: usize,
}

impl Budget {
    /// Returns the default budget.
    pub(super) fn default_of(adapter: &Adapter) -> Self {
        Self { tokens: default_description_budget(adapter.mode()), length: MAX_LENGTH }
    }

    /// Returns the adapter's budget. If the author sets more tokens than the default, descriptions can have any length,
    /// because the author knows the clients.
    fn of(adapter: &Adapter) -> Self {
        let default = Self::default_of(adapter);
        match adapter.settings().description_budget {
            Some(tokens) if tokens > default.tokens => Self { tokens, length: usize::MAX },
            Some(tokens) => Self { tokens, ..default },
            None => default,
        }
    }

    /// Returns `true` if tools with these descriptions are within the budget.
    pub(super) fn has_room_for(&self, descriptions: &[String]) -> bool {
        let size = |text: &String| estimated_tokens(text) + TOOL_TOKENS;
        descriptions.iter().all(|text| text.encode_utf16().count() <= self.length)
            && descriptions.iter().map(size).sum::<usize>() <= self.tokens
    }
}

/// How much detail a description shows for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    Name,
    /// The parameters in one line.
    Parameters,
    /// The summary, and the parameters in one line.
    Summary,
    /// The description, and a line with a description for each parameter.
    Full,
}

/// The descriptions of an operation by detail. Some may be equal.
#[derive(Debug)]
struct Texts {
    parameters: String,
    summary: String,
    full: String,
}

/// The descriptions of all operations and the selected detail of each, in the order of the registry.
#[derive(Debug, Default)]
pub(super) struct Signatures {
    texts: Vec<Texts>,
    details: Vec<Detail>,
}

impl Signatures {
    /// Selects as much detail as the adapter's budget allows. `describe` generates the tool descriptions for a
    /// selection.
    ///
    /// First, as many operations as possible get their parameters, starting with the shortest. Then as many of these as
    /// possible get their summary, and then their full description, starting with those that grow least.
    ///
    /// Nothing is selected if less than three quarters of the operations fit, because most tasks then need `introspect`
    /// anyway.
    pub(super) fn within_budget(
        adapter: &Adapter,
        describe: impl Fn(&Self) -> Vec<String>,
    ) -> Self {
        let budget = Budget::of(adapter);
        let operations = adapter.registry().entries.iter().map(|entry| &entry.operation);
        let texts = operations.map(|operation| texts(adapter, operation)).collect();
        Self::fitting(texts, |signatures| budget.has_room_for(&describe(signatures)))
    }

    fn fitting(texts: Vec<Texts>, fits: impl Fn(&Self) -> bool) -> Self {
        let count = texts.len();
        let mut signatures = Self { details: vec![Detail::Name; count], texts };
        let shortest_first = signatures.order(|texts| texts.parameters.len());
        let described = signatures.raise(&shortest_first, Detail::Parameters, &fits);
        if described * 4 < count * 3 || described == 0 {
            return Self::default();
        }
        for (detail, growth) in [
            (Detail::Summary, growth_to_summary as fn(&Texts) -> usize),
            (Detail::Full, growth_to_full),
        ] {
            let mut order = signatures.order(growth);
            order.retain(|place| signatures.get(*place).is_some());
            signatures.raise(&order, detail, &fits);
        }
        signatures
    }

    /// Returns the indices of the operations in ascending order of a size.
    fn order(&self, size: impl Fn(&Texts) -> usize) -> Vec<usize> {
        let mut places: Vec<_> = (0..self.texts.len()).collect();
        places.sort_by_key(|place| self.texts.get(*place).map(&size));
        places
    }

    /// Gives this detail to as many operations as possible, in the given order. Returns their number.
    fn raise(&mut self, order: &[usize], detail: Detail, fits: &impl Fn(&Self) -> bool) -> usize {
        let before = self.details.clone();
        let mut fit_with = |count: usize| {
            self.details.clone_from(&before);
            for place in order.iter().take(count) {
                if let Some(known) = self.details.get_mut(*place) {
                    *known = detail;
                }
            }
            fits(self)
        };
        if fit_with(order.len()) {
            return order.len();
        }
        // Binary search: `low` operations fit into the budget, and `high` do not.
        let (mut low, mut high) = (0, order.len());
        while high - low > 1 {
            let middle = low.midpoint(high);
            if fit_with(middle) { low = middle } else { high = middle }
        }
        fit_with(low);
        low
    }

    /// Returns `true` if all operations are described with their parameters.
    pub(super) fn are_complete(&self) -> bool {
        !self.details.is_empty() && self.details.iter().all(|detail| *detail != Detail::Name)
    }

    /// Returns the selected description of the operation with this index, or `None` if only its name is shown.
    pub(super) fn get(&self, place: usize) -> Option<&str> {
        let texts = self.texts.get(place)?;
        match self.details.get(place)? {
            Detail::Name => None,
            Detail::Parameters => Some(&texts.parameters),
            Detail::Summary => Some(&texts.summary),
            Detail::Full => Some(&texts.full),
        }
    }
}

fn growth_to_summary(texts: &Texts) -> usize {
    texts.summary.len().saturating_sub(texts.parameters.len())
}

fn growth_to_full(texts: &Texts) -> usize {
    texts.full.len().saturating_sub(texts.summary.len())
}

/// Creates the descriptions of an operation. `introspect` only has a summary, because the tool descriptions already
/// show how to call it.
fn texts(adapter: &Adapter, operation: &RegisteredOperation) -> Texts {
    let item = |text: &str| {
        let lines: Vec<_> = text.lines().filter(|line| !line.is_empty()).collect();
        format!("\n- {}: {}", operation.spec.name, lines.join("\n  "))
    };
    let summary = adapter.summary(operation);
    if matches!(operation.handler, Handler::Introspect) {
        let summary = item(&summary);
        return Texts { parameters: summary.clone(), summary: summary.clone(), full: summary };
    }
    let full = item(&adapter.description_with_parameters(operation));
    let Some(parameters) = adapter.parameters_in_one_line(operation) else {
        return Texts { parameters: full.clone(), summary: full.clone(), full };
    };
    let with_summary = match parameters.is_empty() {
        true => item(&summary),
        false => item(&format!("{summary} ({parameters})")),
    };
    // Keep the summary of a deprecated operation, because it names the replacement.
    let needs_summary = parameters.is_empty() || operation.spec.deprecated.is_some();
    let parameters = match needs_summary {
        true => with_summary.clone(),
        false => item(&format!("({parameters})")),
    };
    Texts { parameters, summary: with_summary, full }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(budget: usize) -> Vec<String> {
        let texts =
            [("a", "aa", "aaaaa"), ("bbb", "bbb", "bbbb"), ("c", "c", "ccc"), ("d", "d", "d")];
        let texts = texts.map(|(parameters, summary, full)| Texts {
            parameters: parameters.into(),
            summary: summary.into(),
            full: full.into(),
        });
        let fits = |signatures: &Signatures| {
            let shown = (0..4).filter_map(|place| signatures.get(place));
            shown.map(str::len).sum::<usize>() <= budget
        };
        let fitted = Signatures::fitting(texts.into(), fits);
        let shown = |place| fitted.get(place).unwrap_or_default().to_owned();
        (0..4).filter(|_| !fitted.details.is_empty()).map(shown).collect()
    }

    #[test]
    fn the_most_operations_are_described_within_the_budget() {
        // REQ-MCP-08
        assert_eq!(fitted(2), [""; 0]);
        assert_eq!(fitted(3), ["a", "", "c", "d"]);
        assert_eq!(fitted(4), ["aa", "", "c", "d"]);
        assert_eq!(fitted(6), ["a", "bbb", "c", "d"]);
        assert_eq!(fitted(7), ["aa", "bbb", "c", "d"]);
        assert_eq!(fitted(8), ["aa", "bbbb", "c", "d"]);
        assert_eq!(fitted(10), ["aa", "bbbb", "ccc", "d"]);
        assert_eq!(fitted(13), ["aaaaa", "bbbb", "ccc", "d"]);
    }
}
