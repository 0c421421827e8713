//! Checks the parts, the settings and the operations of an adapter while it is built.

use std::collections::HashMap;

use mcp_aql_protocol::{RESERVED_OPERATIONS, SemanticCategory, is_public_name, nearest_name};

use crate::adapter::settings::key_list::declarations;
use crate::adapter::{Parts, Settings};
use crate::introspection::other_than_text_keys;
use crate::operation::{DataKey, OperationSpec, Parameter, RegisteredOperation};
use crate::router::{EndpointProfile, Entry};
use crate::schema::shape::{Faults, Path, Shapes, misfit_problem};
use crate::schema::spec::ParameterSpec;

/// Maximum length of an adapter's name. The name and a caller's account are a group in the store, which has at most
/// [`MAX_NAME_BYTES`](crate::store::MAX_NAME_BYTES).
const MAX_ADAPTER_NAME_BYTES: usize = 200;
/// Advice in problems about operations that a person must confirm.
const CHANNEL_ADVICE: &str = "add `.safety_loop(…)` with a `.channel(…)` (cargo feature `safety`)";

/// Checks the values passed to the builder, and the settings.
pub(super) fn check_parts(parts: &Parts, settings: &Settings, problems: &mut Vec<String>) {
    if parts.name.trim().is_empty() {
        problems.push("the adapter has no name: write `Adapter::builder(\"…\")`".to_owned());
    }
    if parts.name.len() > MAX_ADAPTER_NAME_BYTES {
        problems.push(format!(
            "the adapter's name has {} bytes: write at most {MAX_ADAPTER_NAME_BYTES}",
            parts.name.len()
        ));
    }
    problems.extend_from_slice(&parts.problems);
    let mut values = settings.clone();
    problems
        .extend(declarations().filter_map(|declaration| declaration.range_problem(&mut values)));
    settings.gate.check(problems);
    if settings.max_concurrent_requests == Some(0) {
        problems
            .push("`max_concurrent_requests` is 0, so no call could run: set 1 or more".to_owned());
    }
    // Reject the prefix `_` as well: the expression `^(.+_)?mcp_aql` of §6.5, with which clients find the tools of an
    // adapter, does not match `_mcp_aql`.
    let prefix = &settings.tool_prefix;
    let body = prefix.strip_suffix('_');
    let plain = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|each| each.is_ascii_lowercase() || each.is_ascii_digit() || each == b'_')
    };
    if !prefix.is_empty() && !body.is_some_and(plain) {
        problems.push(format!(
            "tool prefix `{prefix}` is not valid: write lower-case letters, digits and underscores, and an \
             underscore as the last character, for example `github_`"
        ));
    }
}

/// Returns the selected profile, and checks all profiles.
pub(super) fn chosen_profile(
    parts: &Parts,
    settings: &Settings,
    problems: &mut Vec<String>,
) -> EndpointProfile {
    let found = parts.profiles.iter().find(|profile| profile.name() == settings.profile);
    let chosen = found.cloned().unwrap_or_else(|| {
        let known: Vec<_> = parts.profiles.iter().map(EndpointProfile::name).collect();
        problems.push(format!(
            "endpoint profile `{}` is not known: write one of {}",
            settings.profile,
            known.join(", ")
        ));
        EndpointProfile::crude()
    });
    problems.extend(chosen.problems());
    if parts.profiles.iter().filter(|profile| profile.is_crude()).count() > 1 {
        problems.push(
            "profile name `crude` is the name of the standard profile: choose another name"
                .to_owned(),
        );
    }
    chosen
}

/// Checks the name of an operation. The macros check names too, but an [`OperationSpec`] can also be written by hand
/// (REQ-CLS-06, REQ-CLS-10).
pub(super) fn check_name(
    spec: &OperationSpec,
    built_in: bool,
    origins: &mut HashMap<&'static str, &'static str>,
    problems: &mut Vec<String>,
) {
    let name: &'static str = spec.name;
    if !is_public_name(name) {
        problems.push(format!("operation name `{name}` is not snake_case"));
    }
    if !built_in && RESERVED_OPERATIONS.contains(&name) {
        problems.push(format!("operation name `{name}` is reserved by the protocol"));
    } else if let Some(other) = origins.insert(name, spec.origin) {
        problems.push(match spec.origin {
            origin if origin == other => {
                format!("two operations are called `{name}`, both from `{origin}`: register it once, or rename one")
            }
            origin => format!(
                "two operations are called `{name}`, one from `{other}` and one from `{origin}`: rename one"
            ),
        });
    }
    if let Some((verb, announced)) = SemanticCategory::of_verb(name)
        && announced != spec.category
        && spec.rationale.is_none()
        && !built_in
    {
        problems.push(format!(
            "operation `{name}` is {}, but its verb `{verb}` implies {}: choose another verb, or write a `rationale`",
            spec.category.as_str(),
            announced.as_str()
        ));
    }
    if spec.description.trim().is_empty() {
        problems.push(format!("operation `{name}` has no description"));
    }
}

/// Checks that the shared state required by an operation was added to the builder.
pub(super) fn check_state(spec: &OperationSpec, parts: &Parts, problems: &mut Vec<String>) {
    for state in spec.states {
        if let Some(problem) = parts.states.problem_of(state) {
            problems.push(format!("operation `{}` {problem}", spec.name));
        }
    }
}

/// Checks the key under which an operation returns its result.
pub(super) fn check_data_key(spec: &OperationSpec, problems: &mut Vec<String>) {
    if let DataKey::Named(key) = spec.data_key
        && !is_public_name(key)
    {
        problems.push(format!("operation `{}`: key `{key}` is not snake_case", spec.name));
    }
}

/// Checks that the replacements of deprecated operations and parameters exist.
pub(super) fn check_replacements(entries: &[Entry], problems: &mut Vec<String>) {
    let operations = || entries.iter().map(|entry| entry.operation.spec.name);
    for Entry { operation, .. } in entries {
        let spec = &operation.spec;
        if let Some(name) = spec.deprecated.and_then(|it| it.replacement)
            && (name == spec.name || !operations().any(|other| other == name))
        {
            let others = operations().filter(|other| *other != spec.name);
            problems.push(format!(
                "operation `{}` is deprecated, but its replacement `{name}` is not another operation of this \
                 adapter{}",
                spec.name,
                did_you_mean(name, others)
            ));
        }
        // Skip the parameters of deprecated operations: their replacement may be a parameter of the new operation.
        if spec.deprecated.is_some() {
            continue;
        }
        let parameters: Vec<_> = operation.parameters.iter().map(|it| &*it.name).collect();
        for parameter in &operation.parameters {
            check_replacement(spec, &parameter.spec, &parameters, problems);
        }
    }
}

/// Checks that the replacement of a deprecated parameter is another parameter of the same operation.
fn check_replacement(
    operation: &OperationSpec,
    parameter: &ParameterSpec,
    known: &[&str],
    problems: &mut Vec<String>,
) {
    let Some(name) = parameter.deprecated.and_then(|it| it.replacement) else { return };
    let others = || known.iter().copied().filter(|other| *other != parameter.name);
    if !others().any(|other| other == name) {
        problems.push(format!(
            "operation `{}`: parameter `{}` is deprecated, but its replacement `{name}` is not another \
             parameter of the operation{}",
            operation.name,
            parameter.name,
            did_you_mean(name, others())
        ));
    }
}

/// Returns the suggestion `; did you mean …?`, or an empty string if no known name is similar.
fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest_name(name, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// Checks that an extension can reach people if any operation or policy requires a confirmation by a person.
pub(super) fn check_people(entries: &[Entry], settings: &Settings, problems: &mut Vec<String>) {
    if settings.extensions.iter().any(|extension| extension.reaches_people()) {
        return;
    }
    for entry in entries {
        let spec = &entry.operation.spec;
        if spec.danger.requires_reauth {
            problems.push(format!(
                "operation `{}`: `requires_reauth` needs a person to confirm calls, but the adapter has no \
                 channel to a person: {CHANNEL_ADVICE}",
                spec.name
            ));
        }
    }
    for operation in settings.gate.operator_confirmed_operations() {
        problems.push(format!(
            "the policy for `{operation}` needs a person to confirm calls, but the adapter has no channel to \
             a person: {CHANNEL_ADVICE}"
        ));
    }
}

/// Returns the operations that a policy may name: all except the reserved ones.
pub(super) fn policy_targets(
    entries: &[Entry],
) -> impl Iterator<Item = (&OperationSpec, &[Parameter])> + Clone {
    entries
        .iter()
        .filter(|entry| !RESERVED_OPERATIONS.contains(&entry.operation.spec.name))
        .map(|entry| (&entry.operation.spec, entry.operation.parameters.as_slice()))
}

/// Rejects maps in parameters whose keys are not strings, because the names of JSON members always are.
pub(super) fn check_map_keys(
    operation: &RegisteredOperation,
    shapes: &Shapes,
    problems: &mut Vec<String>,
) {
    for parameter in &operation.parameters {
        if let Some(expected) = other_than_text_keys(parameter, shapes) {
            problems.push(format!(
                "operation `{}`: parameter `{}` has a map whose keys are not strings ({expected}), but JSON \
                 only has string keys: write a list of entries, or use another type for the keys",
                operation.name, parameter.name
            ));
        }
    }
}

/// Checks that the constraints of each parameter apply to all of its values. The macros check this for the types that
/// they know by name.
pub(super) fn check_constraints(
    operation: &RegisteredOperation,
    shapes: &Shapes,
    problems: &mut Vec<String>,
) {
    for parameter in &operation.parameters {
        let constraints = parameter.spec.constraints.iter();
        let misfits = constraints.filter_map(|it| misfit_problem(it, &parameter.shape, shapes));
        problems.extend(misfits.map(|problem| {
            format!("operation `{}`: parameter `{}` has {problem}", operation.name, parameter.name)
        }));
    }
}

/// Checks that the default of each parameter satisfies the parameter's own type and constraints.
pub(super) fn check_defaults(
    operation: &RegisteredOperation,
    shapes: &Shapes,
    problems: &mut Vec<String>,
) {
    for parameter in &operation.parameters {
        let Some(default) = &parameter.default else { continue };
        let mut faults = Faults::default();
        parameter.shape.check(default, Path::Root(&parameter.name), shapes, &mut faults);
        if !faults.is_empty() || !parameter.accepts(default) {
            problems.push(format!(
                "operation `{}`: the default of `{}` does not match the parameter's type or constraints",
                operation.name, parameter.name
            ));
        }
    }
}
