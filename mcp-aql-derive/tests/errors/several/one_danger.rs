use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Export the tasks.
#[operation(
    category = "EXECUTE",
    danger(level = "safe", confirmation_message = "Export {project} to {target}?"),
    lifecycle(progress)
)]
fn export_tasks(
    /// Where to.
    #[param(sensitive)]
    target: String,
) {
    drop(target);
}

/// Find a task.
#[operation(
    category = "READ",
    danger(levle = "dangerous", reasons = [], cooldown_seconds = 0, requires_reauth = false),
    lifecycle(cancel = 1, restart)
)]
fn get_task() {}

fn main() {
    register(export_tasks {});
    register(get_task {});
}
