//! Builds an adapter from the parts and the settings of its builder.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Once, OnceLock};

use mcp_aql_protocol::{RESERVED_OPERATIONS, SemanticCategory, is_public_name, nearest_name};
use serde_json::{Map, Value};

use super::descriptions::Shown;
use super::{Adapter, Inner, Parts, Settings};
#[cfg(feature = "safety")]
use crate::audit::AuditSink;
use crate::audit::{Audit, AuditFile, AuditStore};
use crate::concurrency::ConcurrencyLimit;
use crate::execution::{self, ExecutionState, Executions};
use crate::file_access::{ForbiddenAccess, exposures};
use crate::further_query::FurtherQueries;
use crate::gatekeeper::{self, GatePlan, Gatekeeper, Trust};
use crate::introspection::{
    self, Introspection, ListedOperation, ListedType, ProtocolFacts, TypeRegistry, protocol_head,
    protocol_of_part, repeats_the_table, sample_params,
};
use crate::operation::{
    CompositeTable, Composites, Handler, Parameter, Plain, RegisteredOperation,
};
use crate::operation::{DataKey, OperationSpec, ParameterEntry, summary};
use crate::paging::CursorKey;
use crate::router::{EndpointProfile, Entry, Family, Registry};
#[cfg(feature = "safety")]
use crate::safety_loop::{self, LoopMode, RecentAudit, SafetyCore, SafetyLoop};
use crate::services::Services;
use crate::shape::{Compiler, Faults, Kind, Members, Path, Shapes};
use crate::spec::{DefaultSpec, ParameterSpec, ReturnsSpec};
use crate::spec::{InputSpec, Merge};
use crate::store::Ready;
#[cfg(feature = "safety")]
use crate::store::SqliteStore;
use crate::store::{MemoryStore, Store};
use crate::validate::{Rules, validate};
use crate::vocab::ReplyLimits;

/// Returned if an adapter cannot be built. It lists all problems.
///
/// `Display` and `Debug` show the list, so that `?` in `main` prints it in a readable form.
#[derive(Clone, PartialEq, Eq)]
pub struct BuildError {
    problems: Vec<String>,
}

impl BuildError {
    /// The problems, one sentence each.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the adapter cannot start:")?;
        for problem in &self.problems {
            write!(formatter, "\n  - {problem}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for BuildError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl std::error::Error for BuildError {}

/// Builds the adapter, or lists all problems.
pub(super) fn assemble(
    parts: Arc<Parts>,
    mut settings: Settings,
    mut problems: Vec<String>,
) -> Result<Adapter, BuildError> {
    check_parts(&parts, &settings, &mut problems);
    let profile = chosen_profile(&parts, &settings, &mut problems);
    problems.extend(profile.problems());
    if parts.profiles.iter().filter(|profile| profile.is_crude()).count() > 1 {
        problems.push("profile name `crude` is the standard one's: choose another".to_owned());
    }

    #[cfg(feature = "safety")]
    let (recent, rules) = match &settings.safety {
        Some(safety) => (Some(RecentAudit::default()), Some(safety.compile(&mut problems))),
        None => (None, None),
    };
    let store = store(&parts, &settings, &mut problems);
    let ready = Arc::default();
    #[cfg_attr(not(feature = "safety"), expect(unused_mut))]
    let mut audit = audit(&parts, &mut settings, (&store, &ready), &mut problems);
    #[cfg(feature = "safety")]
    audit.sinks.extend(recent.clone().map(|recent| Arc::new(recent) as Arc<dyn AuditSink>));
    let services = Arc::new(Services::new(store, settings.time.clone(), audit).sharing(ready));
    #[cfg(feature = "safety")]
    let safety = match (&settings.safety, rules, recent) {
        (Some(safety), Some(rules), Some(recent)) => {
            Some(Arc::new(SafetyCore::new(safety, rules, recent, Arc::clone(&services))))
        }
        _ => None,
    };
    #[cfg(feature = "safety")]
    let reserved = safety.as_ref().map(safety_loop::operations).unwrap_or_default();
    #[cfg(not(feature = "safety"))]
    let reserved = Vec::new();

    let mut types = TypeRegistry::new();
    let mut compiler = Compiler::default();
    let mut entries = Vec::new();
    let mut returns = Vec::new();
    let mut names: HashMap<&str, ()> = HashMap::new();
    let introspect = std::iter::once((introspection::SPEC, Handler::Introspect));
    let steering = execution::built_in(&parts.operations);
    // A profile may lack a family for the category of these operations. They then belong to the family of the
    // first operation with a lifecycle.
    let begun_in = parts.operations.iter().map(|(spec, _)| spec).find(|it| it.lifecycle.is_some());
    let built_ins = 1 + reserved.len();
    let all = introspect.chain(reserved).chain(parts.operations.iter().cloned()).chain(steering);
    for (place, (spec, handler)) in all.enumerate() {
        check_name(&spec, place < built_ins, &mut names, &mut problems);
        let family = match &handler {
            Handler::Introspect => profile.introspect_family(),
            Handler::Execution(_) => {
                profile.family_of(spec.category, None).or_else(|problem| match begun_in {
                    Some(begun) => profile.family_of(begun.category, begun.endpoint),
                    None => Err(problem),
                })
            }
            Handler::Function(_) => profile.family_of(spec.category, spec.endpoint),
        }
        .unwrap_or_else(|problem| {
            problems.push(format!("operation `{}`: {problem}", spec.name));
            0
        });
        for state in spec.states {
            if let Some(problem) = parts.states.problem_of(state) {
                problems.push(format!("operation `{}` {problem}", spec.name));
            }
        }
        let mut composites = Composites::default();
        let parameters = parameters(
            &spec,
            &mut types,
            &mut compiler,
            (&mut composites, &settings.cursor_key),
            &mut problems,
        );
        let (envelope, mut info) =
            types.returns(spec.returns.schema(), spec.data_key, &mut compiler);
        if spec.lifecycle.is_some() {
            info = returns_of_execution(&spec, &info, &mut types, &mut compiler, &mut problems);
        }
        if let DataKey::Named(key) = spec.data_key
            && !is_public_name(key)
        {
            problems.push(format!("operation `{}`: key `{key}` is not snake_case", spec.name));
        }
        let gate = if place < built_ins {
            GatePlan::open()
        } else {
            GatePlan::new(&spec, &parameters, &settings.gate, &mut problems)
        };
        let name = Arc::from(spec.name);
        let operation = RegisteredOperation {
            spec,
            name,
            endpoint: Arc::from(profile.families.get(family).map_or("", Family::name)),
            parameters,
            envelope,
            gate_note: gatekeeper::gate_note(&handler, &gate),
            handler,
            note: None,
            composites,
        };
        #[cfg(feature = "safety")]
        let operation = RegisteredOperation {
            note: settings
                .safety
                .as_ref()
                .filter(|_| spec.name == "record_execution_step")
                .map(SafetyLoop::summary),
            ..operation
        };
        entries.push(Entry { operation, family, gate });
        returns.push(info);
    }
    check_replacements(&entries, &mut problems);
    settings.gate.check_policies(policy_targets(&entries), &mut problems);
    check_people(&entries, &settings, &mut problems);
    #[cfg_attr(not(feature = "limits"), expect(unused_mut, reason = "limits add a query"))]
    let mut further = further_queries(&entries, &parts, &settings, &mut problems);
    #[cfg(feature = "limits")]
    let limiter = limiter(&entries, &profile, &settings, &services, &mut problems);
    #[cfg(feature = "limits")]
    further.extend(limiter.clone().map(|limiter| -> Box<dyn crate::further_query::FurtherQuery> {
        Box::new(crate::limits::QuotaStatus(limiter))
    }));
    if let Some(introspect) = entries.first_mut() {
        introspection::publish(&mut introspect.operation, &further);
    }
    returns_of_introspect(returns.first_mut(), &further);

    let mut shapes = types.shapes(&mut compiler);
    let taken = entries.iter_mut().flat_map(|entry| &mut entry.operation.parameters);
    compiler.overlay_resources(&mut shapes, taken.map(|parameter| &mut parameter.shape));
    shapes.shrink_to_fit();
    problems.append(&mut compiler.problems);
    problems.extend(types.taken_inputs(&compiler));
    let mut shown = Vec::new();
    for (entry, returns) in entries.iter().zip(returns) {
        check_defaults(&entry.operation, &shapes, &mut problems);
        let (examples, sample) = examples(&entry.operation, &shapes, &mut problems);
        shown.push(Shown { returns, examples, sample });
    }
    let (all_types, clashes) = types.finish(&shapes);
    problems.extend(clashes);
    if !problems.is_empty() {
        let mut seen = std::collections::HashSet::new();
        problems.retain(|problem| seen.insert(problem.clone()));
        return Err(BuildError { problems });
    }

    let tool_names = tool_names(&profile, &settings);
    let registry = Registry::new(profile, entries, tool_names);
    let introspection = render(&registry, &settings, all_types, further);
    let concurrency = Arc::new(ConcurrencyLimit::new(
        settings.concurrency,
        settings.max_concurrent_requests,
        settings.time_limit,
    ));
    #[cfg(feature = "safety")]
    if let Some(safety) = &safety {
        let own = registry.entries.iter().skip(built_ins);
        let levels = own.map(|own| (own.operation.spec.name.to_owned(), own.gate.danger));
        safety.set_operations(levels.collect());
    }
    let gatekeeper = Gatekeeper::new(
        Arc::clone(&services),
        &settings.gate,
        #[cfg(feature = "safety")]
        safety.clone(),
    );
    #[cfg(feature = "limits")]
    let upstream: Arc<dyn crate::operation::UpstreamMemory> = match &limiter {
        Some(limiter) => limiter.clone(),
        None => Arc::new(crate::limits::NoUpstreamMemory(settings.time.clone())),
    };
    #[cfg(feature = "limits")]
    let gatekeeper = gatekeeper.with_limits(limiter.clone());
    let executions =
        Executions::new(Arc::clone(&services), parts.name.clone(), settings.executions);
    let inner = Inner {
        parts,
        settings,
        registry,
        shapes,
        shown,
        introspection,
        concurrency,
        services,
        gatekeeper,
        executions,
        notices_logged: Once::new(),
        #[cfg(feature = "safety")]
        safety,
        #[cfg(feature = "limits")]
        limiter,
        #[cfg(feature = "limits")]
        upstream,
    };
    Ok(Adapter { inner: Arc::new(inner) })
}

/// Checks that the replacements of deprecated operations and parameters exist.
fn check_replacements(entries: &[Entry], problems: &mut Vec<String>) {
    let operations = || entries.iter().map(|entry| entry.operation.spec.name);
    for Entry { operation, .. } in entries {
        let spec = &operation.spec;
        if let Some(name) = spec.deprecated.and_then(|it| it.replacement)
            && (name == spec.name || !operations().any(|other| other == name))
        {
            let others = operations().filter(|other| *other != spec.name);
            problems.push(format!(
                "operation `{}` is deprecated: its replacement `{name}` is not another operation of this adapter{}",
                spec.name,
                did_you_mean(name, others)
            ));
        }
        // The replacement of a parameter of a deprecated operation may be a parameter of the other
        // operation.
        if spec.deprecated.is_some() {
            continue;
        }
        let parameters: Vec<_> = operation.parameters.iter().map(|it| &*it.name).collect();
        for parameter in &operation.parameters {
            check_replacement(spec, &parameter.spec, &parameters, problems);
        }
    }
}

/// Checks that the replacement of a deprecated parameter is another parameter of its operation.
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
            "operation `{}`: parameter `{}` is deprecated, and its replacement `{name}` is not another parameter{}",
            operation.name,
            parameter.name,
            did_you_mean(name, others())
        ));
    }
}

/// The end of a sentence about an unknown name.
fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest_name(name, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// Checks that there is a channel to a person if operations require confirmation by a person.
fn check_people(entries: &[Entry], settings: &Settings, problems: &mut Vec<String>) {
    #[cfg(feature = "safety")]
    if settings.safety.as_ref().is_some_and(SafetyLoop::reaches_people) {
        return;
    }
    let how = if cfg!(feature = "safety") {
        "add `.safety_loop(…)` with a `.channel(…)`"
    } else {
        "switch on the cargo feature `safety`"
    };
    for entry in entries {
        let spec = &entry.operation.spec;
        if spec.danger.requires_reauth {
            problems.push(format!(
                "operation `{}`: `requires_reauth` has a person confirm, and none can be reached: {how}",
                spec.name
            ));
        }
    }
    for operation in settings.gate.operator_confirmed_operations() {
        problems.push(format!(
            "the policy for `{operation}` has a person confirm, and none can be reached: {how}"
        ));
    }
}

/// The further queries of `introspect`, besides operations and types (choice C-35).
fn further_queries(
    entries: &[Entry],
    parts: &Parts,
    settings: &Settings,
    problems: &mut Vec<String>,
) -> FurtherQueries {
    let operations = entries.iter().map(|entry| (&entry.operation, &entry.gate));
    let mut queries: FurtherQueries = vec![Box::new(gatekeeper::DangerQuery::of(operations))];
    if let Some(trust) = &settings.gate.trust {
        match gatekeeper::AdapterInfo::new(&parts.name, &parts.version, trust) {
            Ok(info) => queries.push(Box::new(info)),
            Err(error) => problems.push(format!("the trust block cannot be shown: {error}")),
        }
    }
    queries
}

/// The counter of calls, if limits are set. It does not count `introspect`.
#[cfg(feature = "limits")]
fn limiter(
    entries: &[Entry],
    profile: &EndpointProfile,
    settings: &Settings,
    services: &Arc<Services>,
    problems: &mut Vec<String>,
) -> Option<Arc<crate::limits::Limiter>> {
    let declared = settings.rate_limits.as_ref()?;
    problems.extend(declared.problems(profile.families().iter().map(Family::name)));
    let operations = entries.iter().map(|Entry { operation, .. }| {
        (operation.spec.name, &*operation.endpoint, operation.spec.category)
    });
    Some(Arc::new(crate::limits::Limiter::new(declared, operations, Arc::clone(services))))
}

/// The operations that policies may name.
fn policy_targets(
    entries: &[Entry],
) -> impl Iterator<Item = (&OperationSpec, &[Parameter])> + Clone {
    entries
        .iter()
        .filter(|entry| !RESERVED_OPERATIONS.contains(&entry.operation.spec.name))
        .map(|entry| (&entry.operation.spec, entry.operation.parameters.as_slice()))
}

/// The store for the state of gates, executions and the safety loop.
fn store(parts: &Parts, settings: &Settings, problems: &mut Vec<String>) -> Arc<dyn Store> {
    if let Some(store) = &parts.store {
        return Arc::clone(store);
    }
    #[cfg(feature = "safety")]
    if settings.safety.as_ref().is_some_and(|safety| safety.current_mode() != LoopMode::Disabled) {
        match SqliteStore::in_user_state(&parts.name) {
            Ok(store) => return Arc::new(store),
            Err(error) => problems.push(format!(
                "the safety loop has no place for its state: {error}; add a `.store(…)`"
            )),
        }
    }
    #[cfg(not(feature = "safety"))]
    let _ = (settings, problems);
    Arc::new(MemoryStore::default())
}

fn audit(
    parts: &Parts,
    settings: &mut Settings,
    (store, ready): (&Arc<dyn Store>, &Arc<Ready>),
    problems: &mut Vec<String>,
) -> Audit {
    let mut sinks = parts.audit_sinks.clone();
    if let Some(path) = &settings.audit_log {
        match AuditFile::open(path) {
            Ok(file) => {
                sinks.push(Arc::new(file));
                let found = exposures(path, ForbiddenAccess::Write).into_iter();
                settings.notices.extend(
                    found.map(|it| format!("the audit log is not safe from other users: {it}")),
                );
            }
            Err(error) => problems
                .push(format!("the audit log `{}` cannot be opened: {error}", path.display())),
        }
    }
    let time = settings.time.clone();
    if settings.audit_in_store {
        let (store, ready) = (Arc::clone(store), Arc::clone(ready));
        sinks.push(Arc::new(AuditStore::new(store, ready, time.clone(), settings.audit_keep)));
    } else if settings.audit_keep.is_some() {
        problems.push(
            "`audit_keep` is about the audit log in the store, and there is none: add \
             `.audit_in_store(true)`"
                .to_owned(),
        );
    }
    let trust = settings.gate.trust.as_ref().map(Trust::level).unwrap_or_default();
    Audit { adapter: parts.name.clone(), trust, time, sinks }
}

fn check_parts(parts: &Parts, settings: &Settings, problems: &mut Vec<String>) {
    if parts.name.trim().is_empty() {
        problems.push("the adapter has no name: write `Adapter::builder(\"…\")`".to_owned());
    }
    for state in &parts.doubled_states {
        problems.push(format!("two states of type `{state}`: wrap one in a type of its own"));
    }
    if let Err(faults) = settings.limits.check() {
        problems.extend(faults.iter().map(ToString::to_string));
    }
    problems.extend(settings.executions.problems());
    settings.gate.check(problems);
    if settings.max_concurrent_requests == Some(0) {
        problems.push("`max_concurrent_requests` is 0: nothing could ever run".to_owned());
    }
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
            "tool prefix `{prefix}` must have lower-case letters, digits and underscores and end in \
             an underscore, as in `github_`"
        ));
    }
}

fn chosen_profile(
    parts: &Parts,
    settings: &Settings,
    problems: &mut Vec<String>,
) -> EndpointProfile {
    let found = parts.profiles.iter().find(|profile| profile.name() == settings.profile);
    found.cloned().unwrap_or_else(|| {
        let known: Vec<_> = parts.profiles.iter().map(EndpointProfile::name).collect();
        problems.push(format!(
            "endpoint profile `{}` is not known: write one of {}",
            settings.profile,
            known.join(", ")
        ));
        EndpointProfile::crude()
    })
}

/// Checks a name. The macros check names too, but tables may be written by hand (REQ-CLS-06, REQ-CLS-10).
fn check_name<'a>(
    spec: &OperationSpec,
    built_in: bool,
    names: &mut HashMap<&'a str, ()>,
    problems: &mut Vec<String>,
) where
    OperationSpec: 'a,
{
    let name: &'static str = spec.name;
    if !is_public_name(name) {
        problems.push(format!("operation name `{name}` is not snake_case"));
    }
    if !built_in && RESERVED_OPERATIONS.contains(&name) {
        problems.push(format!("operation name `{name}` is reserved by the protocol"));
    } else if names.insert(name, ()).is_some() {
        problems.push(format!("two operations are called `{name}`: rename one"));
    }
    if spec.description.trim().is_empty() {
        problems.push(format!("operation `{name}` has no description"));
    }
}

/// The parameters of an operation, with expanded groups (REQ-INT-26).
fn parameters(
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
        for parameter in specs {
            let schema = types.input(parameter.schema);
            let mut shape = compiler.schema(&schema);
            compiler.constrain(&mut shape, parameter.constraints);
            shape.sensitive = parameter.sensitive;
            parameters.push(Parameter {
                name: Arc::from(parameter.name),
                spec: *parameter,
                shape,
                default: default_of(spec.name, parameter, problems),
                input: None,
                description: None,
                type_name: None,
            });
        }
    }
    if has_input != (spec.category == SemanticCategory::Update) {
        problems.push(if has_input {
            format!("operation `{}` takes `Update<…>` and is not UPDATE", spec.name)
        } else {
            format!("operation `{}` is UPDATE and takes no `input: Update<…>`", spec.name)
        });
    }
    for (index, parameter) in parameters.iter().enumerate() {
        let name = &parameter.name;
        let operation = spec.name;
        let earlier = parameters.get(..index).unwrap_or_default();
        if earlier.iter().any(|other| other.name == *name) {
            problems.push(format!("operation `{operation}` has two parameters called `{name}`"));
        }
        if !is_public_name(name) || matches!(&**name, "operation" | "operations" | "params") {
            problems
                .push(format!("operation `{operation}`: parameter name `{name}` is not allowed"));
        }
    }
    parameters
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

/// Reports an object inside the resource that an update would replace, although objects merge (REQ-UPD-08).
/// Unions are exempt, because a value of another variant cannot be merged.
fn check_replaced(
    operation: &str,
    input: &InputSpec,
    types: &mut TypeRegistry,
    compiler: &mut Compiler,
    problems: &mut Vec<String>,
    seen: &mut Vec<String>,
) {
    let name = crate::shape::input_name(&types.input(input.schema));
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
            Merge::Replace if !field.replaced_whole => {
                let schema = types.input(schema);
                let shape = compiler.schema(&schema);
                let shapes = types.forms_in(&shape, compiler);
                if matches!(shape.resolve(shapes).kind, Kind::Object(_)) {
                    problems.push(format!(
                        "operation `{operation}`: field `{}` is an object, and objects merge: derive \
                         `UpdateInput` on its type, make it a `BTreeMap` or `HashMap`, or say \
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
    let value = match parameter.default? {
        DefaultSpec::Json(text) => serde_json::from_str(text),
        DefaultSpec::Expr(make) => make(),
    };
    value
        .map_err(|_| {
            problems.push(format!(
                "operation `{operation}`: the default of `{}` is not JSON",
                parameter.name
            ));
        })
        .ok()
}

/// The description of the parameter `input` (REQ-UPD-12).
fn input_description(input: &InputSpec, types: &mut TypeRegistry) -> String {
    let name = crate::shape::input_name(&types.input(input.schema));
    let fields: Vec<_> = input.names().collect();
    format!("Fields to change ({name}): {}. Null removes an optional one.", fields.join(", "))
}

fn check_defaults(operation: &RegisteredOperation, shapes: &Shapes, problems: &mut Vec<String>) {
    for parameter in &operation.parameters {
        let Some(default) = &parameter.default else { continue };
        let mut faults = Faults::new();
        parameter.shape.check(default, Path::Root(&parameter.name), shapes, &mut faults);
        if !faults.is_empty() || !parameter.accepts(default) {
            problems.push(format!(
                "operation `{}`: the default of `{}` breaks the parameter's own type or constraints",
                operation.name, parameter.name
            ));
        }
    }
}

/// The examples of an operation and a sample call. The sample is the author's first example, or is
/// generated from the table; a generated one is also shown as an example if it contains more. All of them
/// are validated like a client's call, and by the author's types.
fn examples(
    operation: &RegisteredOperation,
    shapes: &Shapes,
    problems: &mut Vec<String>,
) -> (Vec<(String, String)>, Option<String>) {
    let rules = Rules { strict: true, camel_case_aliases: false, whole: false };
    let check = |params: &str| match serde_json::from_str(params) {
        Ok(params) => match validate(operation, params, shapes, rules) {
            Ok(valid) => valid.accepted_by_types(operation),
            Err(error) => Err(error.message().to_owned()),
        },
        Err(_) => Err("it is not a JSON object".to_owned()),
    };
    let mut shown = Vec::new();
    for example in operation.spec.examples {
        match check(example.params) {
            Ok(()) => {
                shown.push((example.description.to_owned(), example.params.to_owned()));
            }
            Err(message) => problems.push(format!(
                "operation `{}`: an example is not a valid call: {message}",
                operation.name
            )),
        }
    }
    if !operation.spec.examples.is_empty() {
        let sample = shown.first().map(|(_, params)| params.clone());
        return (shown, sample);
    }
    let sample = sample_params(&operation.parameters, shapes);
    let queried =
        operation.composites.description.example.as_deref().map(|query| joined(&sample, query));
    if let Some(sample) = queried.filter(|sample| check(sample).is_ok()) {
        shown.push((String::new(), sample.clone()));
        return (shown, Some(sample));
    }
    if check(&sample).is_err() {
        tracing::warn!(
            operation = &*operation.name,
            "no example can be made from the parameters' types and constraints: write one with `example = {{…}}`"
        );
        return (shown, None);
    }
    if !repeats_the_table(&operation.parameters, shapes) {
        shown.push((String::new(), sample.clone()));
    }
    (shown, Some(sample))
}

/// The members of two objects.
fn joined(one: &str, other: &str) -> String {
    let members = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
    let (mut all, more) = (members(one), members(other));
    if all.keys().all(|name| more.contains_key(name)) {
        return other.to_owned();
    }
    all.extend(more);
    Value::Object(all).to_string()
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

/// The protocol defines the result of `introspect`, so its description does not come from a Rust type.
fn returns_of_introspect(returns: Option<&mut Members>, further: &FurtherQueries) {
    if let Some(returns) = returns {
        returns.put("name", "OperationResult");
        returns.put("kind", "union");
        let further: Vec<_> = further.iter().map(|query| query.query()).collect();
        let text = match further.as_slice() {
            [] => String::from("data.operations, data.operation, data.types or data.type."),
            some => format!(
                "data.operations, data.operation, data.types or data.type. With query {}: all of data.",
                some.join(" or ")
            ),
        };
        returns.put("description", text);
    }
}

/// The tool names by family, followed by the name of the unified tool (REQ-MCP-03, REQ-MCP-20).
fn tool_names(profile: &EndpointProfile, settings: &Settings) -> Vec<String> {
    let prefix = &settings.tool_prefix;
    let families =
        profile.families().iter().map(|family| format!("{prefix}mcp_aql_{}", family.name()));
    families.chain(std::iter::once(format!("{prefix}mcp_aql"))).collect()
}

/// The capabilities of queries and of the safety loop (REQ-LOOP-02, REQ-LOOP-03).
#[cfg_attr(not(feature = "safety"), expect(unused_variables, reason = "the loop is a setting"))]
fn further_capabilities(registry: &Registry, settings: &Settings) -> Map<String, Value> {
    let composites = registry.entries.iter().map(|entry| &entry.operation.composites);
    let names = composites.flat_map(|it| it.description.capabilities.iter().copied());
    let further = names.map(|name| (name.to_owned(), true.into()));
    #[cfg(feature = "safety")]
    let further =
        further.chain(settings.safety.as_ref().map(|safety| {
            ("execution_safety_loop".to_owned(), safety.current_mode().as_str().into())
        }));
    further.collect()
}

fn render(
    registry: &Registry,
    settings: &Settings,
    all_types: BTreeMap<String, Members>,
    further: FurtherQueries,
) -> Introspection {
    let has_parameter = |name: &str| {
        registry.entries.iter().skip(1).any(|entry| {
            entry.operation.parameters.iter().any(|parameter| &*parameter.name == name)
        })
    };
    let protocol = protocol_head(&ProtocolFacts {
        mode: settings.mode,
        profile: &registry.profile,
        limits: &settings.limits,
        concurrency: settings.concurrency,
        max_concurrent_requests: settings.max_concurrent_requests,
        batch: settings.batch,
        pagination: has_parameter("first"),
        etags: has_parameter("if_match"),
        further: further_capabilities(registry, settings),
    });
    let listed = |entry: &Entry| {
        let spec = &entry.operation.spec;
        ListedOperation {
            name: Arc::clone(&entry.operation.name),
            category: spec.category,
            entry: introspection::list_entry(spec, registry.family_name(entry.family)),
            in_brief: OnceLock::new(),
            in_full: OnceLock::new(),
        }
    };
    let operations: Vec<_> = registry.entries.iter().map(listed).collect();
    let all_operations =
        operations.iter().map(|listed| listed.entry.as_str()).collect::<Vec<_>>().join(",");
    let listed = |(name, details): (String, Members)| {
        let mut entry = Members::new();
        entry.put("name", name.as_str());
        entry.put_some("kind", details.text("kind"));
        entry.put_some("description", details.text("description").map(summary));
        let entry = entry.to_json();
        (name, ListedType { entry, details, in_full: OnceLock::new() })
    };
    let types: BTreeMap<_, _> = all_types.into_iter().map(listed).collect();
    let entries: Vec<_> = types.values().map(|listed| listed.entry.as_str()).collect();
    let all_types = format!(r#"{{"types":[{}]}}"#, entries.join(","));
    Introspection {
        protocol,
        protocol_of_part: protocol_of_part(),
        limits: ReplyLimits::new(&settings.limits),
        operations,
        all_operations,
        all_types,
        types,
        further,
        cursor_key: settings.cursor_key.clone(),
    }
}
