use mcp_aql::prelude::*;

type Names = State<&'static str>;

/// Find a name.
#[operation(category = "READ")]
fn find_name(
    #[argument(state)] first: Names,
    #[argument(Names)] second: Names,
    #[argument] third: Names,
    #[argument(Context)]
    #[argument(parameter)]
    fourth: Context,
) {
}

fn main() {}
