//! Unit tests of `#[derive(Resource)]`.

use quote::quote;

use super::expand;

fn pretty(tokens: proc_macro2::TokenStream) -> String {
    let file = syn::parse2(tokens).expect("the expansion is Rust");
    prettyplease::unparse(&file)
}

#[test]
fn the_expansion_is_a_table() {
    let expansion = expand(quote! {
        #[resource(
            crate = ::mcp_aql,
            presets(minimal = [task_id, title], full = [metadata.owner, "_computed.age_days"]),
            default_sort(status, title desc),
            relationships(references = "Mentions another task.")
        )]
        struct Task {
            /// Identifier.
            #[resource(id)]
            task_id: String,
            /// Short title.
            #[resource(search, filter, sort)]
            title: String,
            /// Status of the work.
            #[resource(filter, sort, group)]
            status: Status,
            /// The task that this one is a part of.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[resource(read_only)]
            parent: Option<Box<Self>>,
            /// Who made it.
            #[resource(nested)]
            metadata: Option<Box<Metadata>>,
            #[serde(skip)]
            cache: Cache,
        }
    });
    insta::assert_snapshot!(pretty(expansion));
}

#[test]
fn a_faulty_resource_still_implements_the_traits() {
    let expansion = expand(quote! {
        #[resource(crate = ::mcp_aql)]
        struct Task(String);
    });
    insta::assert_snapshot!(pretty(expansion));
}
