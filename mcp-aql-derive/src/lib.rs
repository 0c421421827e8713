//! The procedural macros of `mcp-aql`.
//!
//! Use them through the crate `mcp-aql`. Its re-exports carry the documentation of each macro.

#![allow(
    clippy::large_enum_variant,
    reason = "with `span-locations`, for the tests, spans are larger"
)]

mod computed_fields;
mod create_input;
mod input;
mod operation;
mod operation_error;
mod param_group;
mod parameter;
mod resource;
mod support;
mod update_input;

use proc_macro::TokenStream;

#[allow(missing_docs)]
#[proc_macro_attribute]
pub fn operation(options: TokenStream, item: TokenStream) -> TokenStream {
    operation::expand(options.into(), item.into()).into()
}

#[allow(missing_docs)]
#[proc_macro_attribute]
pub fn operations(options: TokenStream, item: TokenStream) -> TokenStream {
    operation::expand_block(options.into(), item.into()).into()
}

#[allow(missing_docs)]
#[proc_macro_derive(ParamGroup, attributes(param, param_group))]
pub fn param_group(item: TokenStream) -> TokenStream {
    param_group::expand(item.into()).into()
}

#[allow(missing_docs)]
#[proc_macro_derive(OperationError, attributes(operation_error))]
pub fn operation_error(item: TokenStream) -> TokenStream {
    operation_error::expand(item.into()).into()
}

#[allow(missing_docs)]
#[proc_macro_derive(UpdateInput, attributes(update_input, resource, param))]
pub fn derive_update_input(item: TokenStream) -> TokenStream {
    update_input::expand(item.into()).into()
}

#[allow(missing_docs)]
#[proc_macro_derive(CreateInput, attributes(create_input, update_input, resource, param))]
pub fn derive_create_input(item: TokenStream) -> TokenStream {
    create_input::expand(item.into()).into()
}

#[allow(missing_docs)]
#[proc_macro_derive(Resource, attributes(resource))]
pub fn derive_resource(item: TokenStream) -> TokenStream {
    resource::expand(item.into()).into()
}

#[allow(missing_docs)]
#[proc_macro_attribute]
pub fn computed_fields(options: TokenStream, item: TokenStream) -> TokenStream {
    computed_fields::expand(options.into(), item.into()).into()
}

#[cfg(test)]
mod error_cases;
