//! Unit tests of `#[derive(CreateInput)]`.

use quote::quote;

use super::expand;

#[test]
fn the_expansion_has_the_parameters_and_the_rest() {
    let expansion = expand(quote! {
        #[create_input(crate = ::mcp_aql)]
        struct Task {
            #[resource(id)]
            task_id: String,
            /// Short title.
            #[param(min_length = 1, max_length = 200)]
            title: String,
            /// 1 is most urgent.
            #[param(minimum = 1, maximum = 5, default = 3)]
            priority: u8,
            /// The places.
            #[serde(default)]
            places: Vec<Place>,
            /// The text.
            text: Option<String>,
            #[serde(skip)]
            pin: Option<String>,
            #[resource(read_only)]
            #[create_input(value = Utc::now())]
            created_at: DateTime<Utc>,
        }
    });
    let file = syn::parse2(expansion).expect("the expansion is Rust");
    insta::assert_snapshot!(prettyplease::unparse(&file));
}

#[test]
fn a_faulty_resource_still_implements_the_trait() {
    let expansion = expand(quote! {
        #[create_input(crate = ::mcp_aql)]
        struct Task {
            /// Title.
            #[param(name = "heading")]
            title: String,
        }
    });
    let file = syn::parse2(expansion).expect("the expansion is Rust");
    insta::assert_snapshot!(prettyplease::unparse(&file));
}
