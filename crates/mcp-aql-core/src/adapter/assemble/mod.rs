//! Builds an adapter from the parts and the settings of its builder.

mod checks;
mod examples;
mod foundation;
mod introspection;
mod operations;
mod parameters;

use std::collections::HashSet;
use std::sync::{Arc, Once, OnceLock};

use self::checks::{check_parts, chosen_profile};
use self::foundation::Foundation;
use self::introspection::{further_queries, render, views};
use self::operations::{DescribedOperations, OperationSet};
use http::Extensions;

use super::{Adapter, AdapterState, BuildError, Parts, Settings};
use crate::call::{CallSettings, Pipeline};
use crate::config::access::AccessRules;
use crate::execution::Executions;
use crate::execution::concurrency::ConcurrencyLimit;
use crate::extension::{ExtensionParts, RegisteredAdapter, StartedExtension};
use crate::gatekeeper::{CallTokens, Gatekeeper};
use crate::introspection::catalog::{Catalog, Views};
use crate::observe::recorder::RecorderSlot;
use crate::router::{EndpointProfile, Registry};
use crate::services::Services;

/// Builds the adapter.
///
/// # Errors
///
/// Returns all problems, each once. The checks continue after a problem, so that the author can correct everything
/// before the next build.
pub(super) fn assemble(
    parts: Arc<Parts>,
    mut settings: Settings,
    mut problems: Vec<String>,
) -> Result<Adapter, BuildError> {
    check_parts(&parts, &settings, &mut problems);
    let profile = chosen_profile(&parts, &settings, &mut problems);
    let recorder = RecorderSlot::default();
    let Foundation { services, extensions } =
        Foundation::new(&parts, &mut settings, &recorder, &mut problems);
    let access = settings.access.rules(&parts.name, &mut problems);
    let mut operations =
        OperationSet::register(&parts, (&settings, &access), &profile, &extensions, &mut problems);
    operations.check(&settings, &mut problems);
    let tokens = Arc::new(CallTokens::new(Arc::clone(&services), &settings.gate));
    let mut added = connect(extensions, &operations, &profile, &tokens, &mut problems);
    let mut queries = further_queries(&operations.entries, &parts, &settings, &mut problems);
    queries.append(&mut added.queries);
    operations.publish(&queries);
    let described = operations.describe(&settings, &mut problems);
    if !problems.is_empty() {
        return Err(build_error(problems));
    }

    let gatekeeper = gatekeeper(&services, &settings, tokens, &mut added);
    let DescribedOperations { mut entries, shapes, descriptions, types } = described;
    for entry in &mut entries {
        entry.operation.gates = gatekeeper.plan(&entry.operation);
    }
    let tool_names = tool_names(&profile, &settings);
    let registry = Registry::new(profile, entries.into_iter().map(Arc::new), tool_names);
    let capabilities = std::mem::take(&mut added.capabilities);
    let introspection = render(&registry, &settings, types, Arc::new(queries), &capabilities);
    let catalog = Arc::new(Catalog {
        registry,
        shapes: Arc::new(shapes),
        descriptions: descriptions.into_iter().map(Arc::new).collect(),
        introspection,
        mode: settings.mode,
        of_server: OnceLock::new(),
    });
    let catalogs = (Arc::clone(&catalog), views(&settings, capabilities));
    let mut pipeline =
        pipeline(&parts, &settings, catalogs, access, gatekeeper, services, &mut added);
    pipeline.observers.recorder = recorder;
    Ok(Adapter {
        catalog,
        extensions: Extensions::default(),
        settings: Arc::new(settings),
        inner: Arc::new(AdapterState {
            parts,
            pipeline,
            notices_logged: Once::new(),
            values: added.values,
            services: added.services,
        }),
    })
}

/// Creates the gatekeeper with the gates of the extensions.
fn gatekeeper(
    services: &Arc<Services>,
    settings: &Settings,
    tokens: Arc<CallTokens>,
    added: &mut ExtensionParts,
) -> Gatekeeper {
    let (approvals, gates) = (added.approvals.take(), std::mem::take(&mut added.gates));
    Gatekeeper::new(services, &settings.gate, tokens, approvals, gates)
}

/// Passes the registered operations to the extensions, and collects what the extensions add to the adapter.
fn connect(
    extensions: Vec<Box<dyn StartedExtension>>,
    operations: &OperationSet,
    profile: &EndpointProfile,
    tokens: &Arc<CallTokens>,
    problems: &mut Vec<String>,
) -> ExtensionParts {
    let adapter = RegisteredAdapter {
        entries: &operations.entries,
        built_ins: operations.built_ins,
        profile,
        tokens,
    };
    let mut parts = ExtensionParts::default();
    for extension in extensions {
        extension.connect(&adapter, &mut parts, problems);
    }
    parts
}

/// Creates the pipeline that handles calls.
fn pipeline(
    parts: &Parts,
    settings: &Settings,
    (catalog, views): (Arc<Catalog>, Views),
    access: AccessRules,
    gatekeeper: Gatekeeper,
    services: Arc<Services>,
    added: &mut ExtensionParts,
) -> Pipeline {
    let executions = settings.executions;
    Pipeline {
        settings: CallSettings {
            limits: settings.limits,
            batch: settings.batch,
            strict: settings.strict,
            camel_case_aliases: settings.camel_case_aliases,
            json_texts: settings.json_texts,
            session_id_in_errors: settings.session_id_in_errors,
            cursor_key: settings.cursor_key.clone(),
            access,
        },
        catalog,
        views,
        gatekeeper,
        executions: Executions::new(Arc::clone(&services), parts.name.clone(), executions),
        concurrency: Arc::new(concurrency_limit(settings)),
        states: Arc::clone(&parts.states),
        observers: parts.observers.clone(),
        services,
        usage: added.usage.take(),
        upstream: added.upstream.take(),
    }
}

/// Creates the error. Several checks can find the same problem, so duplicates are removed.
fn build_error(mut problems: Vec<String>) -> BuildError {
    let mut seen = HashSet::new();
    problems.retain(|problem| seen.insert(problem.clone()));
    BuildError { problems }
}

fn concurrency_limit(settings: &Settings) -> ConcurrencyLimit {
    ConcurrencyLimit::new(
        settings.concurrency,
        settings.max_concurrent_requests,
        settings.time_limit,
    )
}

/// Returns the name of each family's tool, followed by the name of the unified tool (REQ-MCP-03, REQ-MCP-20). With the
/// prefix `github_`:
///
/// ```text
/// github_mcp_aql_create, github_mcp_aql_read, …, github_mcp_aql
/// ```
fn tool_names(profile: &EndpointProfile, settings: &Settings) -> Vec<String> {
    let prefix = &settings.tool_prefix;
    let families =
        profile.families().iter().map(|family| format!("{prefix}mcp_aql_{}", family.name()));
    families.chain(std::iter::once(format!("{prefix}mcp_aql"))).collect()
}
