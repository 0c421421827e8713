//! Expands `#[derive(ParamGroup)]`, which turns the fields of a struct into parameters.

mod model;

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::parameter::{self, Parameter};
use crate::support::runtime::RuntimePath;
use model::GroupModel;

pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let item = match syn::parse2::<DeriveInput>(item) {
        Ok(item) => item,
        Err(error) => return error.into_compile_error(),
    };
    let mut errors = darling::Error::accumulator();
    let model = GroupModel::read(&item, &mut errors);
    let runtime = RuntimePath::new(model.runtime.as_ref());
    for parameter in &model.parameters {
        parameter::check(parameter, &mut errors);
    }
    model.names_differ(&mut errors);
    match errors.finish() {
        Ok(()) => implementation(&item, &model, &runtime),
        Err(error) => {
            let errors = error.write_errors();
            let inert = inert(&item, &runtime);
            quote!(#inert #errors)
        }
    }
}

fn implementation(
    item: &DeriveInput,
    model: &GroupModel<'_>,
    runtime: &RuntimePath,
) -> TokenStream {
    let specs = model.parameters.iter().map(|parameter| parameter.spec());
    let fields = &model.fields;
    let values = model.parameters.iter().map(Parameter::take);
    let call = if fields.is_empty() { quote!(_) } else { quote!(__call) };
    wrap(
        item,
        runtime,
        quote!(&[#(#specs),*]),
        call,
        quote!(::core::result::Result::Ok(Self { #(#fields: #values),* })),
    )
}

/// Generates an empty group for a group with errors, so that operations with this group cause no follow-up errors.
fn inert(item: &DeriveInput, runtime: &RuntimePath) -> TokenStream {
    wrap(
        item,
        runtime,
        quote!(&[]),
        quote!(_),
        quote!(::core::result::Result::Err(__rt::OperationError::internal(
            "an invalid parameter group"
        ))),
    )
}

fn wrap(
    item: &DeriveInput,
    runtime: &RuntimePath,
    parameters: TokenStream,
    call: TokenStream,
    body: TokenStream,
) -> TokenStream {
    let ident = &item.ident;
    let (generics, arguments, where_clause) = item.generics.split_for_impl();
    runtime.block(&quote! {
        #[automatically_derived]
        impl #generics __rt::ParamGroup for #ident #arguments #where_clause {
            const PARAMETERS: &'static [__rt::ParameterSpec] = #parameters;
            fn decode(
                #call: &mut __rt::Call,
            ) -> ::core::result::Result<Self, __rt::OperationError> {
                #body
            }
        }
    })
}
