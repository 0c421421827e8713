//! Expands `#[derive(UpdateInput)]`: parses the attributes, models and checks the resource, and generates its tables.

mod check;
mod codegen;

use darling::Error;
use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::input::{InputDerive, InputModel, container};
use crate::support::runtime::RuntimePath;

/// Expands the derive. If there are errors, an empty implementation is returned with them, so that they cause no
/// follow-up errors.
pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let mut errors = Error::accumulator();
    let runtime =
        RuntimePath::new(container(InputDerive::Update, &input.attrs, &mut errors).as_ref());
    let model = InputModel::read(&input, &mut errors);
    if let Some(model) = &model {
        check::run(model, &mut errors);
    }
    match (errors.finish(), model) {
        (Ok(()), Some(model)) => codegen::update_input(&model, &runtime),
        (Ok(()), None) => TokenStream::new(), // unreachable: a missing model has reported an error
        (Err(error), _) => {
            let (errors, inert) = (error.write_errors(), codegen::inert(&input, &runtime));
            quote!(#inert #errors)
        }
    }
}

#[cfg(test)]
mod tests;
