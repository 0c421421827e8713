//! The rules of queries, each a function named after it.

use darling::error::Accumulator;
use mcp_aql_protocol::SemanticCategory;

use super::model::OperationModel;
use super::query::QueryKind;
use super::query_attr::TextControl;
use crate::support::{fault, feature};

/// Every rule of the arguments that stand for a query.
pub(super) fn run(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    feature_is_on(operation, errors);
    queries_read(operation, errors);
    relationships_have_a_name(operation, errors);
    one_query(operation, errors);
    searches_have_text(operation, errors);
    names_are_free(operation, errors);
}

/// Queries are an optional part of the runtime.
fn feature_is_on(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    for query in operation.queries() {
        errors.extend(feature::query(query.kind.name(), query.span));
    }
}

/// What is asked for is only looked at (MCP-AQL §8.1).
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

/// Relationships are queried under the protocol's own name (REQ-REL-01).
fn relationships_have_a_name(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    const NAME: &str = "query_relationships";
    if operation.name.text == NAME {
        return;
    }
    for query in operation.queries().filter(|query| query.kind == QueryKind::Relationship) {
        errors.push(fault(
            query.span,
            format_args!(
                "`RelationshipQuery` is for the operation that the protocol calls `{NAME}`: write that name, `name = \"{NAME}\"`"
            ),
        ));
    }
}

/// A request has each name once, so there is one query of a kind.
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
                    "`{}` and `{name}` have parameters of one name: keep one of them",
                    first.name()
                ),
            ));
        }
        seen.push(query.kind);
    }
}

/// Only relationships, which bring no `fields`, go together with them.
fn clash(one: QueryKind, other: QueryKind) -> bool {
    one == QueryKind::Collection || other == QueryKind::Collection
}

/// A search says what it looks for (REQ-COL-02).
fn searches_have_text(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let name = &operation.name.text;
    if !name.starts_with("search_") {
        return;
    }
    for query in operation.queries().filter(|query| query.text(name) == TextControl::None) {
        if let Some(span) = query.text_span() {
            errors.push(fault(
                span,
                format_args!(
                    "`{name}` is a search by its name, and this leaves out what to look for: write `text = \"required\"` or rename it"
                ),
            ));
        }
    }
}

/// The names of a query's parameters are taken.
fn names_are_free(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    for query in operation.queries() {
        let taken = query.parameters(&operation.name.text);
        for parameter in operation.parameters() {
            let name = parameter.name.text.as_str();
            if taken.contains(&name) {
                errors.push(fault(
                    parameter.name.span,
                    format_args!(
                        "`{}` brings a parameter `{name}` already: write another name",
                        query.kind.name()
                    ),
                ));
            }
        }
    }
}
