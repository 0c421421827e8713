use mcp_aql::resource::CreateInput;

#[derive(CreateInput)]
struct Country {
    /// Code of the country.
    #[resource(id)]
    #[create_input(chosen, value = String::new())]
    code: String,
    /// Name of the country.
    #[create_input(chosen)]
    name: String,
    /// Number of people.
    #[resource(read_only)]
    #[create_input(chosen)]
    people: u64,
}

fn main() {}
