//! Validation of parameters in this order: required ones, types, unknown names, constraints, defaults. All
//! rules come from the operation's table (REQ-RQ-07, REQ-RQ-12).

mod errors;
mod warnings;

use mcp_aql_protocol::Limits;
use serde_json::{Map, Value};

use crate::argument::Argument;
use crate::error::OperationError;
use crate::operation::{CompositeValues, Parameter, RegisteredOperation};
use crate::request::{IndexedArguments, read_parameter};
use crate::shape::{FaultKind, Faults, Path, Shapes};
use crate::warning::Warning;
use errors::{
    is_type_fault, missing_error, nested_unknown_error, read_only_error, type_error, unknown_error,
    value_error,
};
pub(crate) use warnings::log_ignored_parameters;
use warnings::{add_deprecated, ignored_parameter};

/// The validated arguments of a call, in the order of the operation's table.
pub(crate) struct ValidParams {
    pub(crate) arguments: Vec<Argument>,
    /// The warnings about deprecated parameters, composite arguments and ignored names.
    pub(crate) warnings: Vec<Warning>,
    /// The composite arguments, if the operation has any.
    pub(crate) composites: Option<Box<CompositeValues>>,
}

impl ValidParams {
    /// Checks whether the author's types accept the arguments. The error names the parameter whose type
    /// does not.
    pub(crate) fn accepted_by_types(&self, operation: &RegisteredOperation) -> Result<(), String> {
        let refused =
            self.arguments.iter().zip(&operation.parameters).find(|(argument, it)| {
                argument.value.as_ref().is_some_and(|value| !it.accepts(value))
            });
        match refused {
            Some((argument, _)) => {
                Err(format!("the type of '{}' refuses its value", argument.name))
            }
            None => Ok(()),
        }
    }
}

/// The rules for names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// Whether unknown names are refused; otherwise they cause warnings (REQ-UNK-06).
    pub(crate) strict: bool,
    /// Whether `taskId` is accepted for `task_id` (REQ-RQ-05).
    pub(crate) camel_case_aliases: bool,
    /// Whether a later stage reads the arguments, including those of composite arguments.
    pub(crate) whole: bool,
}

/// Checks the parameters of a call.
pub(crate) fn validate(
    operation: &RegisteredOperation,
    mut params: Map<String, Value>,
    shapes: &Shapes,
    rules: Rules,
) -> Result<ValidParams, OperationError> {
    if rules.camel_case_aliases {
        resolve_aliases(operation, &mut params);
    }
    let (mut arguments, unknown) = sort(operation, params);
    let Checked { missing, faults, warnings } = check(operation, &mut arguments, shapes);
    if !missing.is_empty() {
        return Err(missing_error(operation, &missing, &unknown, shapes));
    }
    if faults.is_empty() && unknown.is_empty() {
        return finish(operation, arguments, unknown, warnings, rules.whole);
    }
    let (types, rest): (Vec<_>, Vec<_>) = faults.into_vec().into_iter().partition(is_type_fault);
    let (nested, rest): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|fault| matches!(fault.kind, FaultKind::Unknown { .. }));
    if !types.is_empty() {
        return Err(type_error(operation, &types, &nested));
    }
    let (read_only, values): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|fault| fault.kind == FaultKind::ReadOnly);
    let ignored = if rules.strict {
        if !unknown.is_empty() {
            return Err(unknown_error(operation, &unknown));
        }
        Vec::new()
    } else {
        unknown
    };
    if !nested.is_empty() {
        return Err(nested_unknown_error(operation, &nested));
    }
    if !read_only.is_empty() {
        return Err(read_only_error(operation, &read_only));
    }
    if !values.is_empty() {
        return Err(value_error(operation, &values));
    }
    finish(operation, arguments, ignored, warnings, rules.whole)
}

/// Checks the parameters of a call whose text was scanned. Returns `None` if one of them is invalid or unknown. Then
/// [`validate`] explains all faults.
pub(crate) fn validate_indexed(
    operation: &RegisteredOperation,
    sent: &IndexedArguments<'_>,
    shapes: &Shapes,
    limits: &Limits,
    whole: bool,
) -> Option<ValidParams> {
    let mut arguments = absent_arguments(operation);
    for (name, text) in sent.params() {
        let argument = arguments.iter_mut().find(|argument| argument.name == *name)?;
        let value = read_parameter(name, text, limits)?;
        if argument.value.replace(value).is_some() {
            return None;
        }
    }
    let Checked { missing, faults, warnings } = check(operation, &mut arguments, shapes);
    if !missing.is_empty() || !faults.is_empty() {
        return None;
    }
    finish(operation, arguments, Vec::new(), warnings, whole).ok()
}

/// The faults of single parameters.
struct Checked<'a> {
    missing: Vec<&'a Parameter>,
    faults: Faults,
    /// The warnings about deprecated parameters.
    warnings: Vec<Warning>,
}

/// Checks each argument, and sets the defaults of omitted ones.
fn check<'a>(
    operation: &'a RegisteredOperation,
    arguments: &mut [Argument],
    shapes: &Shapes,
) -> Checked<'a> {
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
    Checked { missing, faults, warnings }
}

/// Reads the composite arguments, after each parameter was validated.
fn finish(
    operation: &RegisteredOperation,
    mut arguments: Vec<Argument>,
    unknown: Vec<String>,
    mut warnings: Vec<Warning>,
    whole: bool,
) -> Result<ValidParams, OperationError> {
    let composites = operation
        .composites
        .read(&mut arguments, whole, &mut warnings)
        .map_err(|error| error.with_detail("operation", operation.name.to_string()))?;
    warnings.extend(unknown.iter().map(|name| ignored_parameter(name)));
    Ok(ValidParams { arguments, warnings, composites })
}

/// Returns the values in the order of the table, and the names that are not in it.
fn sort(
    operation: &RegisteredOperation,
    params: Map<String, Value>,
) -> (Vec<Argument>, Vec<String>) {
    let mut arguments = absent_arguments(operation);
    let mut unknown = Vec::new();
    for (name, value) in params {
        match arguments.iter_mut().find(|argument| argument.name == name) {
            Some(argument) => argument.value = Some(value),
            None => unknown.push(name),
        }
    }
    (arguments, unknown)
}

/// One argument without a value for each parameter of the table.
fn absent_arguments(operation: &RegisteredOperation) -> Vec<Argument> {
    let absent = |parameter: &Parameter| Argument { name: parameter.spec.name, value: None };
    operation.parameters.iter().map(absent).collect()
}

/// Replaces `taskId` by `task_id` if there is no parameter `taskId`. A value under the parameter's own name
/// takes precedence.
fn resolve_aliases(operation: &RegisteredOperation, params: &mut Map<String, Value>) {
    let is_known = |name: &str| operation.parameters.iter().any(|it| *it.name == *name);
    if params.keys().all(|name| is_known(name)) {
        return;
    }
    for parameter in &operation.parameters {
        let alias = camel_case(&parameter.name);
        if !is_known(&alias)
            && let Some(value) = params.remove(&alias)
        {
            params.entry(parameter.name.to_string()).or_insert(value);
        }
    }
}

/// `task_id` → `taskId`
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
