//! Validate: checks the parameters of a call against the operation's table.
//!
//! See REQ-RQ-07 and REQ-RQ-12. The order is: required parameters, types, unknown names, constraints, defaults.

mod errors;
mod meaning;

use mcp_aql_protocol::SizeLimits;
use serde_json::{Map, Value};

use super::Pipeline;
use crate::caller::principal::Principal;
use crate::error::OperationError;
use crate::error::warning::{Deprecation, Severity, Warning};
use crate::gatekeeper::GatedOperation;
use crate::observe::logging::CALLS;
use crate::operation::{CallScope, CompositeValues, Handler, Parameter, RegisteredOperation};
use crate::request::{Credentials, Params, json_in_text};
use crate::schema::Argument;
use crate::schema::shape::{FaultKind, Faults, Path, Shapes};
use crate::schema::spec::{InputSpec, Merge};
use crate::text::clean;
use errors::{
    FurtherFaults, MAX_SHOWN_NAMES, is_type_fault, missing_error, nested_unknown_error,
    read_only_error, type_error, unknown_error, value_error,
};
use meaning::{RefusedCall, UnknownName};

/// Code of the warning about an ignored parameter.
const IGNORED_PARAMETER: &str = "VALIDATION_UNKNOWN_PARAM_WARNING";

/// The valid arguments of a call.
pub(crate) struct ValidCall {
    pub(super) valid: ValidParams,
    pub(super) credentials: Credentials,
    /// The parameters as they were sent. Set for calls that start an execution with support for retries.
    pub(super) sent: Option<Box<Map<String, Value>>>,
}

/// The validated arguments of a call, in the order of the operation's table.
pub(crate) struct ValidParams {
    pub(crate) arguments: Vec<Argument>,
    /// Warnings about deprecated parameters, composite arguments and ignored names.
    pub(crate) warnings: Vec<Warning>,
    /// Composite arguments, if the operation has any.
    pub(crate) composites: Option<Box<CompositeValues>>,
}

impl ValidParams {
    /// Checks whether the Rust types of the parameters accept the arguments. They can be stricter than their schemas.
    ///
    /// # Errors
    ///
    /// Returns a message with the name of the rejected argument.
    pub(crate) fn accepted_by_types(&self, operation: &RegisteredOperation) -> Result<(), String> {
        let refused =
            self.arguments.iter().zip(&operation.parameters).find(|(argument, it)| {
                argument.value.as_ref().is_some_and(|value| !it.accepts(value))
            });
        match refused {
            Some((argument, _)) => {
                Err(format!("the type of '{}' rejects its value", argument.name))
            }
            None => Ok(()),
        }
    }
}

/// The rules of validation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValidationRules<'a> {
    /// If `true`, unknown names are rejected. Otherwise they cause warnings (REQ-UNK-06).
    pub(crate) strict: bool,
    /// If `true`, `taskId` is accepted for `task_id` (REQ-RQ-05).
    pub(crate) camel_case_aliases: bool,
    /// Limits of objects and lists sent as JSON strings. `None` if such strings are not accepted.
    pub(crate) json_texts: Option<&'a SizeLimits>,
    /// If `true`, a later stage reads the arguments, including those of composite arguments.
    pub(crate) whole: bool,
    /// Authenticated caller. Cursors belong to it.
    pub(crate) caller: Option<&'a Principal>,
}

/// The operations and types that a call may refer to.
pub(crate) struct Lookups<'a> {
    pub(crate) shapes: &'a Shapes,
    /// Returns the operation that searches the resources of a list operation, and the name of its search parameter.
    pub(crate) search_operation: &'a dyn Fn(&str) -> Option<(String, String)>,
}

impl Pipeline {
    /// Checks the parameters of a call (REQ-RQ-07).
    pub(super) fn validate(
        &self,
        operation: &GatedOperation,
        params: Params<'_>,
        credentials: Credentials,
        scope: &CallScope,
    ) -> Result<ValidCall, OperationError> {
        let introspects = matches!(operation.handler, Handler::Introspect);
        let lifecycle = operation.spec.lifecycle;
        let rules = ValidationRules {
            // `introspect` always rejects unknown parameters, because its result has no warnings (REQ-INT-28).
            strict: self.settings.strict || introspects,
            camel_case_aliases: self.settings.camel_case_aliases,
            json_texts: self.settings.json_texts.then_some(&self.settings.limits),
            whole: operation.needs_whole_arguments(),
            caller: scope.principal(),
        };
        let unknown_query = params
            .get("query")
            .filter(|query| introspects && !self.catalog.introspection.knows(query))
            .cloned();
        let sent = lifecycle.filter(|lifecycle| lifecycle.retry).map(|_| Box::new(params.to_map()));
        let lookups = Lookups {
            shapes: &self.catalog.shapes,
            search_operation: &|name| {
                self.views.of(scope.principal(), &self.catalog).registry.search_operation(name)
            },
        };
        match check_parameters(operation, params, &lookups, rules) {
            Ok(valid) => Ok(ValidCall { valid, credentials, sent }),
            Err(error) if introspects => {
                Err(self.catalog.introspection.failure(error, unknown_query.as_ref()))
            }
            Err(error) => Err(error),
        }
    }
}

/// Checks the parameters of a call, or of an example.
pub(crate) fn check_parameters(
    operation: &RegisteredOperation,
    params: Params<'_>,
    lookups: &Lookups<'_>,
    rules: ValidationRules<'_>,
) -> Result<ValidParams, OperationError> {
    let (mut arguments, mut unknown) = arrange_by_table(operation, params);
    if rules.camel_case_aliases && !unknown.is_empty() {
        resolve_camel_case(operation, &mut arguments, &mut unknown);
    }
    if let Some(limits) = rules.json_texts {
        read_json_texts(operation, &mut arguments, lookups.shapes, limits);
    }
    let checked = check(operation, &mut arguments, lookups.shapes);
    if checked.missing.is_empty() && checked.faults.is_empty() && unknown.is_empty() {
        return finish(operation, arguments, &[], checked.warnings, (rules.caller, rules.whole));
    }
    let Lookups { shapes, search_operation } = *lookups;
    let names = unknown.iter().map(|(name, _)| name.as_str()).collect();
    let call =
        RefusedCall { operation, shapes, arguments: &arguments, unknown: names, search_operation };
    let warnings = refuse(&call, checked, &unknown, rules.strict)?;
    finish(operation, arguments, &unknown, warnings, (rules.caller, rules.whole))
}

/// Returns the error for the violations in a call. If only names are unknown and these are accepted, returns the
/// warnings instead.
fn refuse(
    call: &RefusedCall<'_>,
    checked: CheckResult<'_>,
    unknown: &[(String, Value)],
    strict: bool,
) -> Result<Vec<Warning>, OperationError> {
    let operation = call.operation;
    let (types, rest): (Vec<_>, Vec<_>) =
        checked.faults.into_vec().into_iter().partition(is_type_fault);
    let (nested, rest): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|fault| matches!(fault.kind, FaultKind::Unknown { .. }));
    let (read_only, values): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|fault| fault.kind == FaultKind::ReadOnly);
    // Only the names shown in the message are explained, because a request may have many.
    let parameters = || {
        let (shown, rest) = unknown.split_at(unknown.len().min(MAX_SHOWN_NAMES));
        let shown = shown.iter().map(|(name, value)| call.parameter(name, value));
        shown.chain(rest.iter().map(|(name, _)| UnknownName::unexplained(name)))
    };
    let fields = || nested.iter().filter_map(|fault| call.field(fault));
    let values_only = FurtherFaults { values: &values, ..FurtherFaults::default() };
    if !checked.missing.is_empty() {
        let mut unknown: Vec<_> = parameters().chain(fields()).collect();
        unknown.extend(call.misplaced(&checked.missing, &unknown));
        let further = FurtherFaults { unknown, types: &types, values: &values };
        return Err(missing_error(call, &checked.missing, &further));
    }
    if !types.is_empty() {
        let unknown = parameters().filter(|_| strict).chain(fields()).collect();
        return Err(type_error(operation, &types, &FurtherFaults { unknown, ..values_only }));
    }
    if strict && !unknown.is_empty() {
        let unknown: Vec<_> = parameters().collect();
        let further = FurtherFaults { unknown: fields().collect(), ..values_only };
        return Err(unknown_error(operation, &unknown, &further));
    }
    if !nested.is_empty() {
        return Err(nested_unknown_error(call, &nested, &values_only));
    }
    if !read_only.is_empty() {
        return Err(read_only_error(operation, &read_only, &values_only));
    }
    if !values.is_empty() {
        return Err(value_error(operation, &values));
    }
    Ok(checked.warnings)
}

/// The result of checking each parameter.
struct CheckResult<'a> {
    missing: Vec<&'a Parameter>,
    faults: Faults,
    /// Warnings about deprecated parameters.
    warnings: Vec<Warning>,
}

/// Checks each argument, and sets the defaults of omitted ones.
fn check<'a>(
    operation: &'a RegisteredOperation,
    arguments: &mut [Argument],
    shapes: &Shapes,
) -> CheckResult<'a> {
    let mut missing = Vec::new();
    let mut faults = Faults::default();
    let mut warnings = Vec::new();
    for (parameter, argument) in operation.parameters.iter().zip(arguments) {
        match &argument.value {
            // For an optional parameter, null counts as omitted (REQ-ENC-15).
            Some(value)
                if parameter.spec.required || parameter.spec.refuses_null || !value.is_null() =>
            {
                let path = Path::Root(parameter.spec.name);
                parameter.shape.check(value, path, shapes, &mut faults);
                add_deprecated(parameter, value, &mut warnings);
            }
            None if parameter.spec.required => missing.push(parameter),
            _ => argument.value.clone_from(&parameter.default),
        }
    }
    CheckResult { missing, faults, warnings }
}

/// Reads the composite arguments. Each of their parameters must have been validated.
fn finish(
    operation: &RegisteredOperation,
    mut arguments: Vec<Argument>,
    unknown: &[(String, Value)],
    mut warnings: Vec<Warning>,
    (caller, whole): (Option<&Principal>, bool),
) -> Result<ValidParams, OperationError> {
    let composites = operation
        .composites
        .read(&mut arguments, caller, whole, &mut warnings)
        .map_err(|error| error.with_detail("operation", operation.name.to_string()))?;
    warnings.extend(unknown.iter().map(|(name, _)| ignored_parameter(name)));
    Ok(ValidParams { arguments, warnings, composites })
}

/// Returns the values in the order of the table, and the values whose names are not in the table.
fn arrange_by_table(
    operation: &RegisteredOperation,
    params: Params<'_>,
) -> (Vec<Argument>, Vec<(String, Value)>) {
    let absent = |parameter: &Parameter| Argument { name: parameter.spec.name, value: None };
    let mut arguments: Vec<_> = operation.parameters.iter().map(absent).collect();
    let mut unknown = Vec::new();
    for (name, value) in params {
        match arguments.iter_mut().find(|argument| argument.name == name) {
            Some(argument) => argument.value = Some(value),
            None => unknown.push((name.into_owned(), value)),
        }
    }
    unknown.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    (arguments, unknown)
}

/// Replaces JSON strings by the objects and lists that they contain. A string is only replaced if the parameter
/// accepts the contained value but not the string. The strings sent for `params` and `operations` as a whole are
/// replaced before, in `call/decode.rs`, when the operation is not known yet.
fn read_json_texts(
    operation: &RegisteredOperation,
    arguments: &mut [Argument],
    shapes: &Shapes,
    limits: &SizeLimits,
) {
    for (parameter, argument) in operation.parameters.iter().zip(arguments) {
        let Some(sent) = argument.value.as_ref().filter(|sent| sent.is_string()) else { continue };
        let Some(read) = json_in_text(sent, limits) else { continue };
        let root = Path::Root(parameter.spec.name);
        let name = root.to_string();
        let has_type = |value: &Value| {
            let mut faults = Faults::default();
            parameter.shape.check(value, root, shapes, &mut faults);
            !faults.into_vec().iter().any(|fault| fault.path == name && is_type_fault(fault))
        };
        if !has_type(sent) && has_type(&read) {
            argument.value = Some(read);
        }
    }
}

/// Accepts `taskId` for `task_id` unless there is a parameter `taskId`. A value under the parameter's own name takes
/// precedence. The aliases that an operation declares are replaced before (`call/mod.rs`).
fn resolve_camel_case(
    operation: &RegisteredOperation,
    arguments: &mut [Argument],
    unknown: &mut Vec<(String, Value)>,
) {
    for (parameter, argument) in operation.parameters.iter().zip(arguments) {
        let alias = camel_case(&parameter.name);
        if let Some(index) = unknown.iter().position(|(name, _)| *name == alias) {
            let (_, value) = unknown.remove(index);
            argument.value.get_or_insert(value);
        }
    }
}

/// Converts `task_id` to `taskId`.
fn camel_case(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut upper = false;
    for each in name.chars() {
        match each {
            '_' => upper = true,
            _ if upper => {
                text.push(each.to_ascii_uppercase());
                upper = false;
            }
            _ => text.push(each),
        }
    }
    text
}

/// Adds a warning for a deprecated parameter, and for each deprecated field in its value (REQ-WRN-07).
fn add_deprecated(parameter: &Parameter, value: &Value, warnings: &mut Vec<Warning>) {
    if let Some(deprecation) = &parameter.spec.deprecated {
        warnings.push(deprecated(parameter.spec.name, deprecation));
    }
    if let Some(input) = &parameter.input {
        add_deprecated_fields(input, value, warnings);
    }
}

fn add_deprecated_fields(input: &InputSpec, value: &Value, warnings: &mut Vec<Warning>) {
    // The depth of the value is limited, and so is this recursion.
    for field in input.fields {
        let Some(value) = value.get(field.parameter.name) else { continue };
        if let Some(deprecation) = &field.parameter.deprecated {
            warnings.push(deprecated(field.parameter.name, deprecation));
        }
        if let Merge::Fields(nested) = field.merge {
            add_deprecated_fields(&nested(), value, warnings);
        }
    }
}

fn deprecated(name: &str, deprecation: &Deprecation) -> Warning {
    Warning::deprecated("parameter", name, deprecation, chrono::Utc::now().date_naive())
}

/// Creates the warning about an ignored unknown parameter (REQ-UNK-08).
fn ignored_parameter(name: &str) -> Warning {
    let name = clean(name);
    let message = format!("Unknown parameter '{name}' was ignored");
    Warning::new(IGNORED_PARAMETER, message).severity(Severity::Medium).detail("param_name", name)
}

/// Logs the parameters that a call ignored.
pub(crate) fn log_ignored_parameters(operation: &RegisteredOperation, warnings: &[Warning]) {
    for warning in warnings.iter().filter(|warning| warning.code() == IGNORED_PARAMETER) {
        let parameter = warning.details().get("param_name").and_then(Value::as_str);
        tracing::warn!(target: CALLS, operation = &*operation.name, parameter, "unknown parameter ignored");
    }
}
