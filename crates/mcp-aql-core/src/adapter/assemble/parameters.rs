//! Compiles the parameters of operations from their tables.

use std::sync::Arc;

use mcp_aql_protocol::{SemanticCategory, is_public_name};
use serde_json::{Map, Value};

use crate::introspection::TypeRegistry;
use crate::operation::{CompositeTable, Composites, OperationSpec, Parameter, ParameterEntry};
use crate::paging::CursorKey;
use crate::schema::shape::{Compiler, Kind};
use crate::schema::spec::{InputSpec, Merge, ParameterSpec};

/// Returns the parameters of an operation. Groups are expanded into their fields (REQ-INT-26).
pub(super) fn parameters(
    spec: &OperationSpec,
    types: &mut TypeRegistry,
    compiler: &mut Compiler,
    (composites, key): (&mut Composites, &CursorKey),
    problems: &mut Vec<String>,
) -> Vec<Parameter> {
    let mut parameters: Vec<Parameter> = Vec::new();
    let mut has_input = false;
    for entry in spec.parameters {
        let specs: &[ParameterSpec] = match entry {
            ParameterEntry::One(one) => std::slice::from_ref(one),
            ParameterEntry::Group(group) => group,
            ParameterEntry::Input(input) => {
                has_input = true;
                parameters.push(input_parameter(spec, input, types, compiler, problems));
                continue;
            }
            ParameterEntry::Composite(composite) => {
                let table = composite.bind(key);
                for (name, details) in table.types {
                    types.make(name, details, problems);
                }
                problems.extend(table.problems);
                let CompositeTable { parameters: own, reader, description, .. } = table;
                composites.add(own, reader, description, &mut parameters);
                continue;
            }
        };
        let own = specs.iter().map(|own| parameter(spec.name, own, types, compiler, problems));
        parameters.extend(own);
    }
    // A dynamic operation has no `Update<…>` argument. Its `input` is a parameter with a JSON schema.
    has_input |= parameters.iter().any(|it| &*it.name == "input" && it.spec.json_schema.is_some());
    if has_input != (spec.category == SemanticCategory::Update) {
        problems.push(if has_input {
            format!("operation `{}` takes `Update<…>`, but its category is not UPDATE", spec.name)
        } else {
            format!("operation `{}` is UPDATE, but takes no `input: Update<…>`", spec.name)
        });
    }
    check_names(spec.name, &parameters, problems);
    parameters
}

/// Compiles a single parameter.
fn parameter(
    operation: &str,
    spec: &ParameterSpec,
    types: &mut TypeRegistry,
    compiler: &mut Compiler,
    problems: &mut Vec<String>,
) -> Parameter {
    let (schema, problem) = types.parameter(spec);
    problems.extend(problem.map(|problem| {
        format!("operation `{operation}`: parameter `{}` contains {problem}", spec.name)
    }));
    let mut shape = compiler.schema(&schema);
    compiler.constrain(&mut shape, spec.constraints);
    shape.sensitive = spec.sensitive;
    if let Some(resource) = spec.resource {
        compiler.add_resource(&resource(), &mut |schema| types.input(schema));
    }
    Parameter {
        name: Arc::from(spec.name),
        spec: *spec,
        shape,
        default: default_of(operation, spec, problems),
        input: None,
        description: None,
        type_name: None,
    }
}

/// Checks that the parameters of an operation have valid and distinct names.
fn check_names(operation: &str, parameters: &[Parameter], problems: &mut Vec<String>) {
    for (index, parameter) in parameters.iter().enumerate() {
        let name = &parameter.name;
        let earlier = parameters.get(..index).unwrap_or_default();
        if earlier.iter().any(|other| other.name == *name) {
            problems.push(format!("operation `{operation}` has two parameters called `{name}`"));
        }
        if !is_public_name(name) || matches!(&**name, "operation" | "operations" | "params") {
            problems
                .push(format!("operation `{operation}`: parameter name `{name}` is not allowed"));
        }
    }
}

fn input_parameter(
    spec: &OperationSpec,
    input: &InputSpec,
    types: &mut TypeRegistry,
    compiler: &mut Compiler,
    problems: &mut Vec<String>,
) -> Parameter {
    let parameter = ParameterSpec::required::<Map<String, Value>>("input", "Fields to change.");
    let mut shape = compiler.input(input, &mut |schema| types.input(schema));
    shape.description = Some(input_description(input, types));
    check_replaced(spec.name, input, types, compiler, problems, &mut Vec::new());
    Parameter {
        name: Arc::from("input"),
        spec: parameter,
        shape,
        default: None,
        input: Some(*input),
        description: None,
        type_name: None,
    }
}

/// Reports objects inside the resource that an update would replace, because objects must merge (REQ-UPD-08). Unions
/// are exempt, because a value of one variant cannot be merged into another variant.
fn check_replaced(
    operation: &str,
    input: &InputSpec,
    types: &mut TypeRegistry,
    compiler: &mut Compiler,
    problems: &mut Vec<String>,
    seen: &mut Vec<String>,
) {
    let name = crate::schema::shape::input_name(&types.input(input.schema));
    if seen.contains(&name) {
        return;
    }
    seen.push(name);
    for field in input.fields {
        let (mut merge, mut schema) = (field.merge, field.parameter.schema);
        while let Merge::Keys(element) = merge {
            (merge, schema) = (element.merge, element.schema);
        }
        match merge {
            Merge::Fields(nested) => {
                check_replaced(operation, &nested(), types, compiler, problems, seen);
            }
            Merge::Replace if !field.allow_replace => {
                let schema = types.input(schema);
                let shape = compiler.schema(&schema);
                let shapes = types.forms_in(&shape, compiler);
                if matches!(shape.resolve(shapes).kind, Kind::Object(_)) {
                    problems.push(format!(
                        "operation `{operation}`: field `{}` is an object, but an update cannot merge it: \
                         derive `UpdateInput` for its type, make it a `BTreeMap` or `HashMap`, or write \
                         `#[update_input(replace)]`",
                        field.parameter.name
                    ));
                }
            }
            _ => {}
        }
    }
}

fn default_of(
    operation: &str,
    parameter: &ParameterSpec,
    problems: &mut Vec<String>,
) -> Option<Value> {
    let value = parameter.default?.value();
    value
        .map_err(|_| {
            problems.push(format!(
                "operation `{operation}`: the default of `{}` is not JSON",
                parameter.name
            ));
        })
        .ok()
}

/// Returns the description of the parameter `input`, with the names of the resource's fields (REQ-UPD-12).
fn input_description(input: &InputSpec, types: &mut TypeRegistry) -> String {
    let name = crate::schema::shape::input_name(&types.input(input.schema));
    let fields: Vec<_> = input.names().collect();
    format!("Fields to change ({name}): {}. Null removes an optional one.", fields.join(", "))
}
