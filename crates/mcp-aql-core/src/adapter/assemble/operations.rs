//! Registers the operations of an adapter, together with the types they refer to.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use mcp_aql_protocol::SemanticCategory;

use super::checks::{
    check_constraints, check_data_key, check_defaults, check_map_keys, check_name, check_people,
    check_replacements, check_state, policy_targets,
};
use super::examples::examples;
use super::introspection::returns_of_introspect;
use super::parameters::parameters;
use crate::adapter::{Parts, Settings};
use crate::config::access::AccessRules;
use crate::execution::{self, ExecutionState};
use crate::extension::{ExtensionOperation, StartedExtension};
use crate::gatekeeper::{self, GatedOperation, OperationGates, PermissionPlan};
use crate::introspection::catalog::Description;
use crate::introspection::{self, TypeRegistry};
use crate::operation::further_query::{self, FurtherQueries};
use crate::operation::{Composites, DataKey, Handler, OperationSpec, Plain, RegisteredOperation};
use crate::router::{EndpointProfile, Entry, Family};
use crate::schema::shape::{Compiler, Members, Shapes, endless_types};
use crate::schema::spec::ReturnsSpec;

/// The operations of an adapter during the build.
pub(super) struct OperationSet {
    pub(super) entries: Vec<Entry>,
    /// Descriptions of the results, in the order of `entries`.
    pub(super) returns: Vec<Members>,
    /// Number of built-in operations. They come before the author's operations.
    pub(super) built_ins: usize,
    types: TypeRegistry,
    compiler: Compiler,
}

/// The operations with their compiled shapes and their descriptions.
pub(super) struct DescribedOperations {
    pub(super) entries: Vec<Entry>,
    pub(super) shapes: Shapes,
    pub(super) descriptions: Vec<Description>,
    /// Full entries of all types, by name.
    pub(super) types: BTreeMap<String, Members>,
}

impl OperationSet {
    /// Registers `introspect`, the reserved operations of extensions, the author's operations and the operations on
    /// executions, in this order.
    pub(super) fn register(
        parts: &Parts,
        (settings, access): (&Settings, &AccessRules),
        profile: &EndpointProfile,
        extensions: &[Box<dyn StartedExtension>],
        problems: &mut Vec<String>,
    ) -> Self {
        let reserved: Vec<_> =
            extensions.iter().flat_map(|extension| extension.operations()).collect();
        let mut registered = Self {
            entries: Vec::new(),
            returns: Vec::new(),
            built_ins: 1 + reserved.len(),
            types: TypeRegistry::default(),
            compiler: Compiler::default(),
        };
        let mut origins = HashMap::new();
        let introspect = std::iter::once((introspection::SPEC, Handler::Introspect));
        let on_executions = execution::built_in(&parts.operations);
        let own = parts.operations.iter().cloned().chain(on_executions);
        let built_in = introspect.map(plain_operation).chain(reserved);
        for (place, added) in built_in.chain(own.map(plain_operation)).enumerate() {
            let is_built_in = place < registered.built_ins;
            let spec = added.spec;
            check_name(&spec, is_built_in, &mut origins, problems);
            let family =
                family_of(&spec, &added.handler, parts, profile).unwrap_or_else(|problem| {
                    problems.push(format!("operation `{}`: {problem}", spec.name));
                    0
                });
            check_state(&spec, parts, problems);
            let endpoint = profile.families().get(family).map_or("", Family::name);
            let operation = registered.operation(added, endpoint, settings, problems);
            check_data_key(&spec, problems);
            let permission = if is_built_in {
                PermissionPlan::open()
            } else {
                PermissionPlan::new(&spec, &settings.gate, problems)
            };
            let gate_note = gatekeeper::gate_note(&operation.handler, &permission);
            let scope = match operation.handler {
                Handler::Introspect => None,
                Handler::Execution(_) | Handler::Function(_) => access.scope(&spec),
            };
            let registered_operation = RegisteredOperation { gate_note, scope, ..operation };
            let gates = OperationGates::default();
            let operation = GatedOperation { registered: registered_operation, permission, gates };
            registered.entries.push(Entry { operation, family });
        }
        registered
    }

    /// Compiles the parameters of an operation, and adds the description of its result.
    fn operation(
        &mut self,
        added: ExtensionOperation,
        endpoint: &str,
        settings: &Settings,
        problems: &mut Vec<String>,
    ) -> RegisteredOperation {
        let ExtensionOperation { spec, handler, note, rename_params } = added;
        let Self { types, compiler, .. } = self;
        let mut composites = Composites::default();
        let key = &settings.cursor_key;
        let parameters = parameters(&spec, types, compiler, (&mut composites, key), problems);
        let (envelope, mut info) = types.returns(spec.returns, spec.data_key, compiler);
        if spec.lifecycle.is_some() {
            info = returns_of_execution(&spec, &info, types, compiler, problems);
        }
        self.returns.push(info);
        RegisteredOperation {
            spec,
            name: Arc::from(spec.name),
            endpoint: Arc::from(endpoint),
            parameters,
            envelope,
            scope: None,
            gate_note: None,
            handler,
            note,
            rename_params,
            composites,
        }
    }

    /// Adds the queries of extensions to the table of `introspect`, and describes its result.
    pub(super) fn publish(&mut self, queries: &FurtherQueries) {
        if let Some(introspect) = self.entries.first_mut() {
            further_query::publish(&mut introspect.operation, queries);
        }
        returns_of_introspect(self.returns.first_mut(), queries);
    }

    /// Checks replacements and channels. These checks need all operations.
    pub(super) fn check(&self, settings: &Settings, problems: &mut Vec<String>) {
        check_replacements(&self.entries, problems);
        check_people(&self.entries, settings, problems);
    }

    /// Compiles the shapes of all types. Then checks policies, constraints, defaults and examples with these shapes.
    pub(super) fn describe(
        self,
        settings: &Settings,
        problems: &mut Vec<String>,
    ) -> DescribedOperations {
        let Self { mut entries, returns, mut types, mut compiler, .. } = self;
        let mut shapes = types.shapes(&mut compiler);
        let parameters = entries.iter_mut().flat_map(|entry| &mut entry.operation.parameters);
        compiler.overlay_resources(&mut shapes, parameters.map(|parameter| &mut parameter.shape));
        shapes.shrink_to_fit();
        problems.append(&mut compiler.problems);
        problems.extend(types.taken_inputs(&compiler));
        let endless = endless_types(&shapes);
        problems.extend(endless.iter().map(|name| {
            format!(
                "values of the type `{name}` would contain themselves without end: put the inner value into an \
                 object or a list"
            )
        }));
        let mut descriptions = Vec::new();
        // The following checks would not end, either.
        let checked = if endless.is_empty() { entries.as_slice() } else { &[] };
        settings.gate.check_policies(policy_targets(checked), &shapes, problems);
        for (entry, returns) in checked.iter().zip(returns) {
            check_constraints(&entry.operation, &shapes, problems);
            check_defaults(&entry.operation, &shapes, problems);
            check_map_keys(&entry.operation, &shapes, problems);
            gatekeeper::check_confirmation_message(&entry.operation, &shapes, problems);
            let (examples, sample) = examples(&entry.operation, &shapes, problems);
            descriptions.push(Description { returns, examples, sample });
        }
        let (types, clashes) = types.finish(&shapes);
        problems.extend(clashes);
        DescribedOperations { entries, shapes, descriptions, types }
    }
}

/// Wraps an operation without additions from an extension.
fn plain_operation((spec, handler): (OperationSpec, Handler)) -> ExtensionOperation {
    ExtensionOperation { spec, handler, note: None, rename_params: None }
}

/// Returns the endpoint family of an operation, as its index in the profile.
fn family_of(
    spec: &OperationSpec,
    handler: &Handler,
    parts: &Parts,
    profile: &EndpointProfile,
) -> Result<usize, String> {
    match handler {
        Handler::Introspect => profile.introspect_family(),
        Handler::Function(_) => profile.family_of(spec.category, spec.endpoint),
        // A custom profile may have no family for the category of the operations on executions. They then join the
        // family of the first operation with a lifecycle.
        Handler::Execution(_) => profile.family_of(spec.category, None).or_else(|problem| {
            let mut begun = parts.operations.iter().filter(|(it, _)| it.lifecycle.is_some());
            let (begun, _) = begun.next().ok_or(problem)?;
            profile.family_of(begun.category, begun.endpoint)
        }),
    }
}

/// Describes the result of an operation with a lifecycle. A call that starts an execution returns the execution's
/// state. The state contains the result of the author's function once the execution has completed.
fn returns_of_execution(
    spec: &OperationSpec,
    own: &Members,
    types: &mut TypeRegistry,
    compiler: &mut Compiler,
    problems: &mut Vec<String>,
) -> Members {
    if spec.category != SemanticCategory::Execute {
        problems.push(format!(
            "operation `{}` is {}, but has a `lifecycle`: only EXECUTE operations can run as executions",
            spec.name,
            spec.category.as_str()
        ));
    }
    let returns = ReturnsSpec::of::<ExecutionState, Plain>();
    let (_, mut state) = types.returns(returns, DataKey::Bare, compiler);
    let name = own.text("name").unwrap_or("any");
    state.put("description", format!("As data; once completed, its result holds the {name}."));
    state
}
