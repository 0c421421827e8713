use mcp_aql::prelude::*;
use mcp_aql_tests::register;

#[operation(category = "REED", name = "getTask", wrp = "task")]
fn get_task(
    number: u32,
    /// Its title.
    #[param(minimum = 1, default = 5, max_length = -1)]
    title: String,
) {
    let _ = (number, title);
}

fn main() {
    register(get_task {});
}
