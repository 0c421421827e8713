//! The rules of query arguments, one function per rule.

use darling::error::Accumulator;
use mcp_aql_protocol::SemanticCategory;

use super::super::OperationModel;
use super::{QueryKind, TextSearch};
use crate::support::fault;
use crate::support::runtime::needs_query;

/// Checks every rule of query arguments.
pub(in crate::operation) fn run(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    feature_is_on(operation, errors);
    queries_read(operation, errors);
    relationships_have_a_name(operation, errors);
    one_query(operation, errors);
    searches_have_text(operation, errors);
    names_do_not_clash(operation, errors);
}

/// Requires the feature `query` of the runtime.
fn feature_is_on(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    for query in operation.queries() {
        errors.extend(needs_query(query.kind.name(), query.span));
    }
}

/// Rejects queries outside READ operations (MCP-AQL §8.1).
fn queries_read(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let Some(category) = &operation.category else { return };
    if operation.is(SemanticCategory::Read) {
        return;
    }
    for query in operation.queries() {
        errors.push(fault(
            query.span,
            format_args!(
                "`{}` outside READ: write `category = \"READ\"`, or take plain parameters; this operation is {}",
                query.kind.name(),
                category.as_str(),
            ),
        ));
    }
}

/// Requires the name that the protocol reserves for relationship queries (REQ-REL-01).
fn relationships_have_a_name(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    const NAME: &str = "query_relationships";
    if operation.name.text == NAME {
        return;
    }
    for query in operation.queries().filter(|query| query.kind == QueryKind::Relationship) {
        errors.push(fault(
            query.span,
            format_args!(
                "`RelationshipQuery` is for the operation `{NAME}`: write that name, `name = \"{NAME}\"`"
            ),
        ));
    }
}

/// Rejects two queries that would add the same parameters.
fn one_query(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let mut seen: Vec<QueryKind> = Vec::new();
    for query in operation.queries() {
        let name = query.kind.name();
        if seen.contains(&query.kind) {
            errors.push(fault(
                query.span,
                format_args!("an operation has one `{name}`: leave this one out"),
            ));
        } else if let Some(first) = seen.iter().find(|first| clash(**first, query.kind)) {
            errors.push(fault(
                query.span,
                format_args!(
                    "`{}` and `{name}` have parameters with the same name: keep one of them",
                    first.name()
                ),
            ));
        }
        seen.push(query.kind);
    }
}

/// Returns `true` if two kinds share parameter names. Only `Fields` and `RelationshipQuery` share none.
fn clash(one: QueryKind, other: QueryKind) -> bool {
    one == QueryKind::Collection || other == QueryKind::Collection
}

/// Requires the parameter `query` for `search_…` operations (REQ-COL-02).
fn searches_have_text(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let name = &operation.name.text;
    if !name.starts_with("search_") {
        return;
    }
    for query in operation.queries().filter(|query| query.text(name) == TextSearch::None) {
        if let Some(span) = query.text_span() {
            errors.push(fault(
                span,
                format_args!(
                    "`{name}` is a search by its name, but this removes the search text: write `text = \"required\"` or rename it"
                ),
            ));
        }
    }
}

/// Rejects parameters with the same name as a query parameter.
fn names_do_not_clash(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    for query in operation.queries() {
        let taken = query.parameters(&operation.name.text);
        for parameter in operation.parameters() {
            let name = parameter.name.text.as_str();
            if taken.contains(&name) {
                errors.push(fault(
                    parameter.name.span,
                    format_args!(
                        "`{}` already adds a parameter `{name}`: write another name",
                        query.kind.name()
                    ),
                ));
            }
        }
    }
}
