//! Search for operations by the words of a task (REQ-INT-29).

use mcp_aql_protocol::ErrorCode;
use mcp_aql_rank::operations::OperationDocument;

use crate::error::OperationError;
use crate::operation::RegisteredOperation;
use crate::schema::argument::Argument;
use crate::schema::shape::{Kind, Rest, Shape, Shapes};
use crate::text::clean;

/// The number of results without `first`.
const DEFAULT_RESULTS: usize = 5;
/// The maximum number of results. The description of `first` states it.
const MAX_RESULTS: usize = 50;
/// The maximum depth to which the fields of parameters are searched.
const MAX_DEPTH: usize = 3;
/// The maximum number of characters of a search that an error repeats.
const MAX_ECHO: usize = 80;

/// The number of results that a call requests.
pub(super) fn number_of_results(arguments: &[Argument]) -> Result<usize, OperationError> {
    let first = arguments.iter().find(|argument| argument.name == "first");
    let Some(first) = first.and_then(|it| it.value.as_ref()?.as_u64()) else {
        return Ok(DEFAULT_RESULTS);
    };
    let number = usize::try_from(first).ok().filter(|number| (1..=MAX_RESULTS).contains(number));
    let expected = format!("must be 1 to {MAX_RESULTS} with 'search'");
    number.ok_or_else(|| OperationError::invalid_value("first", &expected))
}

/// The error for a search without a result. An empty list would not say what to do next.
pub(super) fn nothing_found(searched: &str) -> OperationError {
    let echo: String = searched.chars().take(MAX_ECHO).collect();
    OperationError::new(
        ErrorCode::IntrospectionError,
        format!(
            "No operation matches '{}'. Search for the words of a task, such as 'create a \
             task', or list the operations without 'search'",
            clean(&echo)
        ),
    )
}

/// The texts of an operation that a search may refer to. Only examples by the author have descriptions.
pub(crate) fn document<'a>(
    operation: &'a RegisteredOperation,
    examples: &'a [(String, String)],
    shapes: &'a Shapes,
) -> OperationDocument<'a> {
    let spec = &operation.spec;
    let mut document = OperationDocument::new(spec.name).description(spec.description);
    for (place, parameter) in operation.parameters.iter().enumerate() {
        // The parameters of a query are the same for all lists, and their texts name all fields of the resource.
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
