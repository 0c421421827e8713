use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Find a task.
#[operation(category = "READ", example = { "nummber": 1, "title": 2, "done": "yes" })]
fn get_task(
    /// Its number.
    number: u32,
    /// Its title.
    title: String,
    /// Whether it is done.
    done: bool,
) {
    let _ = (number, title, done);
}

fn main() {
    register(get_task {});
}
