use mcp_aql::ParamGroup;

#[derive(ParamGroup)]
struct Paging {
    /// How many.
    #[param(default = 10)]
    first: Option<u32>,
}

fn main() {
    let _ = <Paging as ParamGroup>::PARAMETERS; // must not add a second error
}
