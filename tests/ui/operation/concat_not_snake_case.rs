use mcp_aql::operation;

macro_rules! getter {
    ($name:ident, $noun:literal) => {
        /// Get something.
        #[operation(category = "READ", name = concat!("get", $noun))]
        fn $name() {}
    };
}

getter!(get_task, "Task");

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
