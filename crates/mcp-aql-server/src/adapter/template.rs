//! The protocol's templates for tool descriptions, by endpoint family (REQ-MCP-02).

use std::fmt::Write as _;

use mcp_aql_protocol::SemanticCategory;

use mcp_aql_core::internal::operation::{Handler, OperationSpec};
use mcp_aql_core::internal::router::Family;

/// The fixed parts of a tool description.
pub(super) struct Template {
    pub(super) opening: String,
    pub(super) statement: Option<String>,
    pub(super) quick_start: &'static str,
    /// Number of example calls.
    pub(super) examples: usize,
    pub(super) discover: &'static str,
    /// If `true`, the introspect call names an operation.
    pub(super) by_name: bool,
}

impl Template {
    pub(super) fn of<'s>(
        crude: Option<SemanticCategory>,
        family: &Family,
        specs: &[(&'s OperationSpec, &Handler)],
        named: &[&OperationSpec],
    ) -> Self {
        const EXAMPLE: &str = "Quick start example:";
        const EXAMPLES: &str = "Quick start examples:";
        const PARAMETERS: &str = "Discover required parameters:";
        const EVERYTHING: &str = "Discover all operations and parameters:";
        let purpose = family.purpose().to_owned();
        let with = |statement: &str, quick_start| Self {
            opening: purpose.clone(),
            statement: Some(statement.to_owned()),
            quick_start,
            examples: 1,
            discover: PARAMETERS,
            by_name: true,
        };
        match crude {
            Some(SemanticCategory::Create) => {
                with("They neither remove nor overwrite any.", EXAMPLES)
            }
            Some(SemanticCategory::Read) => Self {
                examples: 2,
                discover: EVERYTHING,
                by_name: false,
                ..with("They never change stored data.", EXAMPLES)
            },
            Some(SemanticCategory::Update) => with("Earlier values may be lost.", EXAMPLE),
            Some(SemanticCategory::Delete) => with("Use with caution.", EXAMPLES),
            Some(SemanticCategory::Execute) => {
                let authors = |(spec, handler): &(&'s OperationSpec, &Handler)| {
                    matches!(handler, Handler::Function(_)).then_some(*spec)
                };
                let things = executable_things(specs.iter().filter_map(authors));
                let has_commands =
                    specs.iter().filter_map(authors).any(|it| it.lifecycle.is_none());
                let statement = execute_statement(named, has_commands);
                Self { opening: things, ..with(&statement, EXAMPLES) }
            }
            None => {
                let mut opening = purpose;
                let categories = categories(family, specs);
                let _ = write!(opening, "\n\nPrimary semantic categories: {categories}");
                Self {
                    opening,
                    statement: None,
                    quick_start: EXAMPLE,
                    examples: 1,
                    discover: EVERYTHING,
                    by_name: false,
                }
            }
        }
    }
}

/// Lists the objects of the EXECUTE operations: `execute_export` has the object `export`.
fn executable_things<'s>(own: impl Iterator<Item = &'s OperationSpec>) -> String {
    let mut things: Vec<String> = Vec::new();
    for spec in own {
        if let Some((_, thing)) = spec.name.split_once('_') {
            let thing = thing.replace('_', " ");
            if !things.contains(&thing) && things.len() < 6 {
                things.push(thing);
            }
        }
    }
    if things.is_empty() {
        "Execution lifecycle operations.".to_owned()
    } else {
        format!("Execution lifecycle operations for {}.", things.join(", "))
    }
}

/// Explains the EXECUTE operations, with a summary of each one shown without its parameters.
fn execute_statement(named: &[&OperationSpec], has_commands: bool) -> String {
    let mut text = match has_commands {
        true => "They run commands or manage what runs",
        false => "They manage what runs, not what is stored",
    }
    .to_owned();
    text.push_str(if named.is_empty() { "." } else { ":" });
    for spec in named {
        let _ = write!(text, "\n- {}: {}", spec.name, spec.summary());
    }
    text.push_str("\n\nIMPORTANT: they may be destructive and are not idempotent.");
    text
}

/// Returns the categories of a family's operations. An empty family has its declared categories.
fn categories(family: &Family, specs: &[(&OperationSpec, &Handler)]) -> String {
    let held = |category| specs.iter().any(|(spec, _)| spec.category == category);
    let names: Vec<_> = SemanticCategory::ALL
        .into_iter()
        .filter(|category| match specs.is_empty() {
            true => family.categories().contains(category),
            false => held(*category),
        })
        .map(SemanticCategory::as_str)
        .collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
