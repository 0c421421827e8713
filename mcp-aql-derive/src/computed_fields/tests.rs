//! Unit tests of `#[computed_fields]`.

use quote::quote;

use super::expand;

fn pretty(tokens: proc_macro2::TokenStream) -> String {
    let file = syn::parse2(tokens).expect("the expansion is Rust");
    prettyplease::unparse(&file)
}

#[test]
fn the_expansion_is_a_table() {
    let item = quote! {
        impl Task {
            /// Whole days since it was created.
            #[computed(filter, sort)]
            fn age_days(&self) -> i64 {
                self.age().num_days()
            }

            /// How it went.
            #[computed(name = "outcome", group)]
            #[cfg(feature = "outcomes")]
            pub fn how_it_went(&self) -> Option<Outcome> {
                None
            }

            fn age(&self) -> TimeDelta {
                Utc::now() - self.created_at
            }
        }
    };
    insta::assert_snapshot!(pretty(expand(quote!(crate = ::mcp_aql), item)));
}

#[test]
fn a_faulty_block_still_implements_the_trait() {
    let item = quote! {
        impl Task {
            #[computed]
            fn age_days(&self, now: u8) {}
        }
    };
    insta::assert_snapshot!(pretty(expand(quote!(crate = ::mcp_aql), item)));
}
