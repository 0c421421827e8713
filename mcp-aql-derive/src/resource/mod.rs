//! Expands `#[derive(Resource)]`: parses the attributes, models and checks the resource, and generates its table.

pub(crate) mod attr;
pub(crate) mod check;
mod codegen;
pub(crate) mod columns;
mod lists;
mod model;
mod operations;
mod operations_check;
mod record;
mod references_check;

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::DeriveInput;

use crate::support::runtime::{RuntimePath, needs_query};
use model::ResourceModel;

/// Expands the derive. If there are errors, empty implementations are returned with them, so that they cause no
/// follow-up errors.
pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    if let Some(error) = needs_query("derive(Resource)", Span::call_site()) {
        return error.write_errors();
    }
    let mut errors = darling::Error::accumulator();
    let model = ResourceModel::read(&input, &mut errors);
    let runtime = RuntimePath::new(model.runtime.as_ref());
    check::run(&model, &mut errors);
    match errors.finish() {
        Ok(()) => codegen::resource(&model, &runtime),
        Err(error) => {
            let (errors, inert) = (error.write_errors(), codegen::inert(&model, &runtime));
            quote!(#inert #errors)
        }
    }
}

#[cfg(test)]
mod tests;
