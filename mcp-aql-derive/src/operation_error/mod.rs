//! Expands `#[derive(OperationError)]`, which turns the variants of an error type into error codes of the protocol.

mod attr;
mod check;
mod codegen;
mod model;

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::support::runtime::RuntimePath;
use model::ErrorModel;

pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let item = match syn::parse2::<DeriveInput>(item) {
        Ok(item) => item,
        Err(error) => return error.into_compile_error(),
    };
    let mut errors = darling::Error::accumulator();
    let model = ErrorModel::read(&item, &mut errors);
    let runtime = RuntimePath::new(model.runtime.as_ref());
    check::run(&model, &mut errors);
    match errors.finish() {
        Ok(()) => codegen::conversion(&model, &runtime),
        Err(error) => {
            let errors = error.write_errors();
            let inert = codegen::inert(&item, &runtime);
            quote!(#inert #errors)
        }
    }
}
