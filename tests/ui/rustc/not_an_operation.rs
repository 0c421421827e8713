use mcp_aql_tests::register;

fn get_task() {}

fn main() {
    register(get_task);
}
