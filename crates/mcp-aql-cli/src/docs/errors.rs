//! The error codes that calls of each operation can return, derived from the tables.

use mcp_aql_core::internal::introspection::TypeRegistry;
use mcp_aql_core::internal::operation::{Handler, Parameter, RegisteredOperation};
use mcp_aql_core::internal::schema::shape::Kind;
use mcp_aql_core::{Adapter, EndpointMode};
use mcp_aql_protocol::ErrorCode;

use super::introspection::{Info, Types};

/// The maximum depth of nested types in the search for constraints.
const MAX_TYPE_DEPTH: usize = 8;

/// Returns the codes of the checks before an operation runs, in the registry's order.
pub(super) fn of(
    adapter: &Adapter,
    operation: &RegisteredOperation,
    parameters: &[Info],
    types: &Types,
) -> Vec<ErrorCode> {
    let mut codes = Vec::new();
    let registered = &operation.parameters;
    let introspects = matches!(operation.handler, Handler::Introspect);
    let mut add = |code, applies: bool| codes.extend(applies.then_some(code));
    let typed = parameters.iter().any(|info| info.kind != "any");
    let narrow = parameters.iter().zip(registered).any(|(info, parameter)| {
        let input = input_type(parameter);
        let kind = input.as_deref().unwrap_or(&info.kind);
        !parameter.spec.constraints.is_empty() || is_narrow(info, kind, types, MAX_TYPE_DEPTH)
    });
    add(ErrorCode::ValidationMissingParam, parameters.iter().any(|info| info.required));
    add(ErrorCode::ValidationInvalidType, typed);
    add(ErrorCode::ValidationInvalidValue, narrow);
    add(ErrorCode::ValidationUnknownParam, adapter.settings().strict || introspects);
    add(ErrorCode::ValidationUnknownField, registered.iter().any(|it| it.input.is_some()));
    add(ErrorCode::ValidationReadOnlyField, registered.iter().any(has_fixed_fields));
    add(ErrorCode::ConflictVersionMismatch, registered.iter().any(|it| &*it.name == "if_match"));
    add(ErrorCode::InvalidQueryType, introspects);
    add(ErrorCode::IntrospectionError, introspects);
    codes
}

/// Returns the type of an UPDATE's `input`. Introspection only mentions it in the description.
pub(super) fn input_type(parameter: &Parameter) -> Option<String> {
    let input = parameter.input?;
    Some(mcp_aql_core::internal::schema::shape::input_name(
        &TypeRegistry::default().input(input.schema),
    ))
}

/// Returns all codes in three lists: codes of every call, codes of checks before some operations, and all others.
///
/// `is_checked` returns `true` if the checks of any operation can return a code.
pub(super) fn registry(
    adapter: &Adapter,
    is_checked: impl Fn(ErrorCode) -> bool,
) -> (Vec<ErrorCode>, Vec<ErrorCode>, Vec<ErrorCode>) {
    let batch = adapter.settings().batch;
    let general = |code: ErrorCode| match code {
        ErrorCode::ValidationEndpointMismatch => adapter.mode() != EndpointMode::Single,
        ErrorCode::BatchValidationError => batch,
        ErrorCode::ValidationInvalidEncoding
        | ErrorCode::ValidationPayloadTooLarge
        | ErrorCode::NotFoundOperation
        | ErrorCode::InternalError => true,
        _ => false,
    };
    let all = || ErrorCode::ALL.iter().copied();
    (
        all().filter(|code| general(*code)).collect(),
        all().filter(|code| is_checked(*code)).collect(),
        all()
            .filter(|code| !general(*code) && !is_checked(*code) && is_an_operations(*code))
            .collect(),
    )
}

/// Returns `true` if an operation itself may return this code.
fn is_an_operations(code: ErrorCode) -> bool {
    !matches!(
        code,
        ErrorCode::ValidationEndpointMismatch
            | ErrorCode::BatchValidationError
            | ErrorCode::InvalidQueryType
            | ErrorCode::IntrospectionError
    )
}

/// Returns `true` if a value of the correct JSON type can be rejected nevertheless.
fn is_narrow(info: &Info, kind: &str, types: &Types, depth: usize) -> bool {
    let constrained = !info.allowed.is_empty()
        || info.minimum.is_some()
        || info.maximum.is_some()
        || info.max_length.is_some()
        || info.min_length.is_some()
        || info.pattern.is_some()
        || info.format.is_some()
        // Each integer type has a limited range.
        || kind == "integer";
    let deeper = |info: &Info| depth > 0 && is_narrow(info, &info.kind, types, depth - 1);
    let of_type = |name: &str| types.get(name).is_some_and(|it| it.fields.iter().any(deeper));
    constrained || info.items.as_deref().is_some_and(deeper) || kind.split(" or ").any(of_type)
}

/// Returns `true` if an UPDATE's `input` has fields that callers cannot change.
fn has_fixed_fields(parameter: &Parameter) -> bool {
    matches!(&parameter.shape.kind, Kind::Object(object) if object
        .merge
        .as_ref()
        .is_some_and(|rules| !rules.read_only.is_empty()))
}
