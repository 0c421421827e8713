//! Searches for operations by the words of a task (REQ-INT-29).

use mcp_aql_protocol::ErrorCode;
use mcp_aql_rank::operations::OperationDocument;

use crate::error::OperationError;
use crate::operation::RegisteredOperation;
use crate::schema::Argument;
use crate::schema::shape::{Kind, Rest, Shape, Shapes};
use crate::text::clean;

/// Number of results if the call does not set `first`.
const DEFAULT_RESULTS: usize = 5;
/// Maximum number of results. The description of the parameter `first` in `table.rs` repeats it.
const MAX_RESULTS: usize = 50;
/// Maximum depth to which the fields of parameters are indexed.
const MAX_DEPTH: usize = 3;
/// Maximum number of characters of a search query repeated in an error.
const MAX_ECHO: usize = 80;

/// Returns the number of results that a call requests.
pub(super) fn number_of_results(arguments: &[Argument]) -> Result<usize, OperationError> {
    let first = arguments.iter().find(|argument| argument.name == "first");
    let Some(first) = first.and_then(|it| it.value.as_ref()?.as_u64()) else {
        return Ok(DEFAULT_RESULTS);
    };
    let number = usize::try_from(first).ok().filter(|number| (1..=MAX_RESULTS).contains(number));
    let expected = format!("must be 1 to {MAX_RESULTS} with 'search'");
    number.ok_or_else(|| OperationError::invalid_value("first", &expected))
}

/// Creates the error for a search without results. Unlike an empty list, it can suggest what to do next.
pub(super) fn nothing_found(searched: &str) -> OperationError {
    let echo: String = searched.chars().take(MAX_ECHO).collect();
    OperationError::new(
        ErrorCode::IntrospectionError,
        format!(
            "No operation matches '{}'. Describe the task in other words, such as 'create a task', or list \
             the operations without 'search'",
            clean(&echo)
        ),
    )
}

/// Collects the strings of an operation that a search should match. Generated examples have no description, so only
/// those of the author contribute.
pub(crate) fn document<'a>(
    operation: &'a RegisteredOperation,
    examples: &'a [(String, String)],
    shapes: &'a Shapes,
) -> OperationDocument<'a> {
    let spec = &operation.spec;
    let mut document = OperationDocument::new(spec.name).description(spec.description);
    for (place, parameter) in operation.parameters.iter().enumerate() {
        // The parameters of a query are the same for all lists, and their descriptions name all fields of the
        // resource. Indexing them would make every list match.
        if !operation.composites.contains(place) {
            document = document.parameter(parameter.spec.name, parameter.description());
            document = with_fields(document, &parameter.shape, shapes, MAX_DEPTH);
        }
    }
    for (description, _) in examples.iter().filter(|(description, _)| !description.is_empty()) {
        document = document.example(description);
    }
    document
}

/// Adds the allowed values and the fields of a shape.
fn with_fields<'a>(
    mut document: OperationDocument<'a>,
    shape: &'a Shape,
    shapes: &'a Shapes,
    depth: usize,
) -> OperationDocument<'a> {
    let target = shape.resolve(shapes);
    for value in shape.checks.allowed.iter().chain(&target.checks.allowed) {
        if let Some(value) = value.as_str() {
            document = document.value(value);
        }
    }
    let Some(depth) = depth.checked_sub(1) else { return document };
    match &target.kind {
        Kind::Array(items) => with_fields(document, items, shapes, depth),
        Kind::Tuple(parts) | Kind::Union(parts) => {
            parts.iter().fold(document, |it, part| with_fields(it, part, shapes, depth))
        }
        Kind::Object(object) => {
            for (name, field) in &object.fields {
                let description = field.shape.description.as_deref().unwrap_or_default();
                document = document.parameter(name, description);
                document = with_fields(document, &field.shape, shapes, depth);
            }
            match &object.rest {
                Rest::Each(each) => with_fields(document, each, shapes, depth),
                Rest::Closed | Rest::Open => document,
            }
        }
        _ => document,
    }
}
