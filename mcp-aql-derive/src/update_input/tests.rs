//! Unit tests of `#[derive(UpdateInput)]`.

use quote::quote;

use super::expand;

#[test]
fn the_expansion_is_a_table() {
    let expansion = expand(quote! {
        #[update_input(crate = ::mcp_aql)]
        struct Task {
            #[resource(id)]
            task_id: String,
            /// Short title.
            #[param(min_length = 1, max_length = 200)]
            title: String,
            /// 1 is most urgent.
            #[param(minimum = 1, maximum = 5)]
            priority: u8,
            /// Numbers by name.
            counts: Option<BTreeMap<String, u32>>,
            /// The venue.
            #[param(deprecated(replacement = "room"))]
            #[update_input(replace)]
            place: Place,
            #[resource(read_only)]
            created_at: String,
        }
    });
    let file = syn::parse2(expansion).expect("the expansion is Rust");
    insta::assert_snapshot!(prettyplease::unparse(&file));
}

#[test]
fn a_faulty_resource_still_implements_the_trait() {
    let expansion = expand(quote! {
        #[update_input(crate = ::mcp_aql)]
        struct Task(String);
    });
    let file = syn::parse2(expansion).expect("the expansion is Rust");
    insta::assert_snapshot!(prettyplease::unparse(&file));
}
