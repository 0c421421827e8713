//! The registered operations of an adapter, with the types that they refer to.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use mcp_aql_protocol::SemanticCategory;

use super::checks::{
    check_data_key, check_defaults, check_name, check_people, check_replacements, check_state,
    policy_targets,
};
use super::examples::examples;
use super::parameters::parameters;
use crate::adapter::descriptions::Shown;
use crate::adapter::{Parts, Settings, safety};
use crate::execution::{self, ExecutionState};
use crate::gatekeeper::{self, GatePlan};
use crate::introspection::{self, TypeRegistry};
use crate::operation::{Composites, DataKey, Handler, OperationSpec, Plain, RegisteredOperation};
use crate::router::{EndpointProfile, Entry, Family};
use crate::shape::{Compiler, Members, Shapes};
use crate::spec::ReturnsSpec;

/// The operations of an adapter while it is built.
pub(super) struct Operations {
    pub(super) entries: Vec<Entry>,
    /// The descriptions of their results, in the same order.
    pub(super) returns: Vec<Members>,
    /// The number of operations that come before those of the author.
    pub(super) built_ins: usize,
    types: TypeRegistry,
    compiler: Compiler,
}

/// The operations with their compiled shapes and their descriptions.
pub(super) struct DescribedOperations {
    pub(super) entries: Vec<Entry>,
    pub(super) shapes: Shapes,
    pub(super) shown: Vec<Shown>,
    /// The full entries of all types, by name.
    pub(super) types: BTreeMap<String, Members>,
}

impl Operations {
    /// Registers `introspect`, the reserved operations, those of the author, and those on executions.
    pub(super) fn register(
        parts: &Parts,
        settings: &Settings,
        profile: &EndpointProfile,
        reserved: Vec<(OperationSpec, Handler)>,
        problems: &mut Vec<String>,
    ) -> Self {
        let mut registered = Self {
            entries: Vec::new(),
            returns: Vec::new(),
            built_ins: 1 + reserved.len(),
            types: TypeRegistry::new(),
            compiler: Compiler::default(),
        };
        let mut names = HashSet::new();
        let introspect = std::iter::once((introspection::SPEC, Handler::Introspect));
        let on_executions = execution::built_in(&parts.operations);
        let own = parts.operations.iter().cloned();
        for (place, (spec, handler)) in
            introspect.chain(reserved).chain(own).chain(on_executions).enumerate()
        {
            let is_built_in = place < registered.built_ins;
            check_name(&spec, is_built_in, &mut names, problems);
            let family = family_of(&spec, &handler, parts, profile).unwrap_or_else(|problem| {
                problems.push(format!("operation `{}`: {problem}", spec.name));
                0
            });
            check_state(&spec, parts, problems);
            let endpoint = profile.families().get(family).map_or("", Family::name);
            let operation = registered.operation(spec, handler, endpoint, settings, problems);
            check_data_key(&spec, problems);
            let gate = if is_built_in {
                GatePlan::open()
            } else {
                GatePlan::new(&spec, &operation.parameters, &settings.gate, problems)
            };
            let gate_note = gatekeeper::gate_note(&operation.handler, &gate);
            let operation = RegisteredOperation { gate_note, ..operation };
            registered.entries.push(Entry { operation, family, gate });
        }
        registered
    }

    /// Prepares an operation for validation, and adds the description of its result.
    fn operation(
        &mut self,
        spec: OperationSpec,
        handler: Handler,
        endpoint: &str,
        settings: &Settings,
        problems: &mut Vec<String>,
    ) -> RegisteredOperation {
        let Self { types, compiler, .. } = self;
        let mut composites = Composites::default();
        let key = &settings.cursor_key;
        let parameters = parameters(&spec, types, compiler, (&mut composites, key), problems);
        let (envelope, mut info) = types.returns(spec.returns.schema(), spec.data_key, compiler);
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
            gate_note: None,
            handler,
            note: safety::note(&spec, settings),
            composites,
        }
    }

    /// Checks the relations between operations, policies and channels.
    pub(super) fn check(&self, settings: &mut Settings, problems: &mut Vec<String>) {
        check_replacements(&self.entries, problems);
        settings.gate.check_policies(policy_targets(&self.entries), problems);
        check_people(&self.entries, settings, problems);
    }

    /// Compiles the shapes of all types, and checks defaults and examples with them.
    pub(super) fn describe(self, problems: &mut Vec<String>) -> DescribedOperations {
        let Self { mut entries, returns, mut types, mut compiler, .. } = self;
        let mut shapes = types.shapes(&mut compiler);
        let parameters = entries.iter_mut().flat_map(|entry| &mut entry.operation.parameters);
        compiler.overlay_resources(&mut shapes, parameters.map(|parameter| &mut parameter.shape));
        shapes.shrink_to_fit();
        problems.append(&mut compiler.problems);
        problems.extend(types.taken_inputs(&compiler));
        let mut shown = Vec::new();
        for (entry, returns) in entries.iter().zip(returns) {
            check_defaults(&entry.operation, &shapes, problems);
            let (examples, sample) = examples(&entry.operation, &shapes, problems);
            shown.push(Shown { returns, examples, sample });
        }
        let (types, clashes) = types.finish(&shapes);
        problems.extend(clashes);
        DescribedOperations { entries, shapes, shown, types }
    }
}

/// The endpoint family of an operation, by its index in the profile.
fn family_of(
    spec: &OperationSpec,
    handler: &Handler,
    parts: &Parts,
    profile: &EndpointProfile,
) -> Result<usize, String> {
    match handler {
        Handler::Introspect => profile.introspect_family(),
        Handler::Function(_) => profile.family_of(spec.category, spec.endpoint),
        // A profile may lack a family for the category of these operations. They then belong to the family of the
        // first operation with a lifecycle.
        Handler::Execution(_) => profile.family_of(spec.category, None).or_else(|problem| {
            let mut begun = parts.operations.iter().filter(|(it, _)| it.lifecycle.is_some());
            let (begun, _) = begun.next().ok_or(problem)?;
            profile.family_of(begun.category, begun.endpoint)
        }),
    }
}

/// The reply to a call that begins an execution is the execution's state, which contains the function's
/// result.
fn returns_of_execution(
    spec: &OperationSpec,
    own: &Members,
    types: &mut TypeRegistry,
    compiler: &mut Compiler,
    problems: &mut Vec<String>,
) -> Members {
    if spec.category != SemanticCategory::Execute {
        problems.push(format!(
            "operation `{}` has a lifecycle and is {}: only EXECUTE operations run as executions",
            spec.name,
            spec.category.as_str()
        ));
    }
    let schema = ReturnsSpec::of::<ExecutionState, Plain>().schema();
    let (_, mut state) = types.returns(schema, DataKey::Bare, compiler);
    let name = own.text("name").unwrap_or("any");
    state.put("description", format!("As data; once completed, its result holds the {name}."));
    state
}
