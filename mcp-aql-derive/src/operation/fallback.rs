//! A faulty operation still exists, so that its registration adds no error to its own.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{ItemFn, ItemImpl, Visibility};

use super::codegen::{self, Place};
use crate::support::runtime_path::RuntimePath;

/// The type of a faulty free function.
pub(crate) fn operation(function: &ItemFn, runtime: &RuntimePath) -> TokenStream {
    let ident = &function.sig.ident;
    let conditions = codegen::conditions(&function.attrs);
    let marker = marker(&function.vis, ident, &conditions);
    quote! {
        #marker
        #(#conditions)*
        const _: () = {
            #[automatically_derived]
            impl #runtime::Operation for #ident {
                const OPERATION: #runtime::Method<()> = #runtime::Method::new(
                    #runtime::OperationSpec::new("", #runtime::SemanticCategory::Read, ""),
                    |(), __call| ::std::boxed::Box::pin(async move { __call.reply(()) }),
                );
            }
        };
    }
}

/// The type that stands for the function: a braced struct lives beside a function of its name.
pub(crate) fn marker(
    visibility: &Visibility,
    ident: &Ident,
    conditions: &[&syn::Attribute],
) -> TokenStream {
    quote! {
        #(#conditions)*
        #[doc(hidden)]
        #[allow(non_camel_case_types, missing_debug_implementations, unreachable_pub)]
        #visibility struct #ident {}
    }
}

/// The operations of a faulty block: those that are in order.
pub(crate) fn operations(
    block: &ItemImpl,
    place: &Place,
    methods: &[TokenStream],
    runtime: &RuntimePath,
) -> TokenStream {
    codegen::operations(block, place, methods, &[], runtime)
}
