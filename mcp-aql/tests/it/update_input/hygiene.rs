//! Compiles only if the expansion needs no imports, shadows no names and causes no warnings.
#![no_implicit_prelude]
#![deny(warnings)]
#![allow(dead_code)]

// The other macros of this file need these imports.
use ::schemars;
use ::std::convert::Into as _;

mod core {}
mod std {}
mod serde_json {}
mod mcp_aql {}

type Value = ::std::string::String;
struct Option;
struct Leaf;

/// Field names that could clash with those of the expansion.
#[derive(::serde::Deserialize, ::schemars::JsonSchema, ::mcp_aql::UpdateInput)]
struct Hostile {
    #[resource(id)]
    id: Value,
    /// A field.
    #[serde(rename = "resource")]
    __resource: u8,
    /// Another.
    #[param(minimum = -1, deprecated)]
    r#fn: ::std::option::Option<i8>,
}

#[::std::prelude::v1::test]
fn it_compiles_and_works() {
    let mut hostile =
        Hostile { id: Value::new(), __resource: 1, r#fn: ::std::option::Option::Some(1) };
    let input = ::serde_json::json!({"fn": null});
    let input = ::mcp_aql::Update::from_json(input).expect("valid");
    ::mcp_aql::Update::merge_into(input, &mut hostile);
    ::std::assert!(hostile.r#fn.is_none());
}
