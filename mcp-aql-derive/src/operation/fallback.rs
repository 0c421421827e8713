//! Generates stand-ins for operations with errors, so that their registration causes no follow-up errors.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{ItemFn, ItemImpl};

use super::codegen::{self, BlockRole};
use crate::support::runtime_path::RuntimePath;

/// Generates the stand-in of a free function.
pub(crate) fn operation(function: &ItemFn, runtime: &RuntimePath) -> TokenStream {
    let ident = &function.sig.ident;
    let conditions = codegen::conditions(&function.attrs);
    let marker = codegen::marker(&function.vis, ident, &conditions);
    quote! {
        #marker
        #(#conditions)*
        const _: () = {
            #[automatically_derived]
            impl #runtime::table::Operation for #ident {
                const OPERATION: #runtime::table::OperationEntry<()> = #runtime::table::OperationEntry::new(
                    #runtime::table::OperationSpec::new("", #runtime::SemanticCategory::Read, ""),
                    |(), __call| ::std::boxed::Box::pin(async move { __call.reply(()) }),
                );
            }
        };
    }
}

/// Generates the operations of a block with errors: only those without errors of their own.
pub(crate) fn operations(
    block: &ItemImpl,
    role: &BlockRole,
    methods: &[TokenStream],
    runtime: &RuntimePath,
) -> TokenStream {
    codegen::operations(block, role, methods, &[], runtime)
}
