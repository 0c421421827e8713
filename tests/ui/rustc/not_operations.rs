struct Tasks;

impl Tasks {}

fn main() {
    mcp_aql_tests::register_all(Tasks);
}
