use mcp_aql::prelude::*;

#[derive(ParamGroup)]
struct Place {
    /// The tenant.
    #[param(from_claim = "tenant")]
    tenant: String,
}

fn main() {}
