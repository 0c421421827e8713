#![deny(warnings)]

use mcp_aql::prelude::*;

struct Tasks;

#[operations]
impl Tasks {
    /// Close tasks, even if they are assigned.
    #[operation(category = "EXECUTE")]
    fn force_close(&self) {}

    /// Say it oneself.
    #[operation(category = "EXECUTE", danger(level = "dangerous"))]
    fn force_open(&self) {}
}

fn main() {
    mcp_aql_tests::register_all(Tasks);
}
