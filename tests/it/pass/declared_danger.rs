//! Tests that a declared danger level silences the warning about a name.

#![deny(warnings)]

use mcp_aql::prelude::*;
use mcp_aql_tests::{register, register_all};

#[derive(ParamGroup)]
struct Place {
    /// On which shelf.
    shelf: String,
}

/// Empty the cache.
#[operation(
    category = "DELETE",
    danger(
        level = "dangerous",
        reasons = ["All of it is gone", "Nobody has a copy"],
        confirmation_message = "Empty '{name}' of {{all}} on '{shelf}'?",
        cooldown_seconds = 86_400,
        requires_reauth,
    )
)]
fn purge_cache(
    /// Its name.
    name: String,
    #[param(group)] place: Place,
) {
    let _ = (name, place.shelf);
}

/// Set a password anew.
#[operation(category = "EXECUTE", danger(level = "reversible"))]
fn reset_password() {}

/// A name that is not in the list.
#[operation(category = "DELETE", danger(requires_reauth))]
fn delete_task() {}

/// Looks only.
#[operation(category = "READ", danger(level = "reversible", confirmation_message = "Look?"))]
fn get_task() {}

#[cfg(any())]
/// This one is not compiled.
#[operation(category = "EXECUTE")]
fn force_out() {}

/// Cannot report progress.
#[operation(category = "EXECUTE", lifecycle())]
async fn start_one() {}

/// Nor has this one.
#[operation(category = "EXECUTE", lifecycle)]
async fn start_another(execution: mcp_aql::ExecutionContext, context: Context) {
    let _ = (execution, context);
}

struct Tasks;

#[operations]
impl Tasks {
    /// Close tasks, even if they are assigned.
    #[operation(category = "EXECUTE", danger(level = "destructive"), lifecycle(cancel, retry))]
    async fn force_close(&self) {}

    /// This one is not compiled.
    #[cfg(any())]
    #[operation(category = "EXECUTE")]
    fn force_open(&self) {}
}

#[test]
fn declared_levels_silence_names() {
    register(purge_cache {});
    register(reset_password {});
    register(delete_task {});
    register(get_task {});
    register(start_one {});
    register(start_another {});
    register_all(Tasks);
}
