//! Expands `#[derive(CreateInput)]`, which turns the fields of a resource into the parameters of its CREATE operation.

mod check;
mod codegen;
mod model;

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::input::{InputDerive, InputModel, container};
use crate::support::runtime::RuntimePath;
use model::CreateModel;

/// Expands the derive. If there are errors, an empty implementation is returned with them, so that they cause no
/// follow-up errors.
pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let mut errors = darling::Error::accumulator();
    let runtime =
        RuntimePath::new(container(InputDerive::Create, &input.attrs, &mut errors).as_ref());
    let resource = InputModel::read(&input, &mut errors);
    let model = resource.as_ref().map(|resource| CreateModel::of(resource, &mut errors));
    if let Some(model) = &model {
        check::run(model, &mut errors);
    }
    match (errors.finish(), &model) {
        (Ok(()), Some(model)) => codegen::create_input(model, &runtime),
        (Ok(()), None) => TokenStream::new(), // unreachable: a missing model has reported an error
        (Err(error), model) => {
            let inert = model.as_ref().map(|model| codegen::inert(model, &runtime));
            let errors = error.write_errors();
            quote!(#inert #errors)
        }
    }
}

#[cfg(test)]
mod tests;
