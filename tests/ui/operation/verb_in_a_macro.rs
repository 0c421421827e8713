use mcp_aql::operation;

macro_rules! command {
    ($name:ident, $category:literal) => {
        /// Run a command.
        #[operation(category = $category)]
        fn $name() {}
    };
}

command!(delete_tasks, "READ");

fn main() {
    mcp_aql_tests::register(delete_tasks {}); // must not add a second error
}
