use mcp_aql::operation;

macro_rules! counter {
    ($name:ident, $example:literal) => {
        /// Count.
        #[operation(category = "READ", example = { "limit": $example })]
        fn $name(
            /// The largest number.
            #[param(maximum = 5)]
            limit: u8,
        ) -> u8 {
            limit
        }
    };
}

counter!(get_count, 9);

fn main() {
    mcp_aql_tests::register(get_count {}); // must not add a second error
}
