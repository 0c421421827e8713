//! Generates the table of the computed fields. The runtime interprets it.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{ImplItem, ItemImpl};

use super::model::{ComputedModel, is_computed};
use crate::operation::conditions;
use crate::resource::columns;
use crate::support::runtime::RuntimePath;

/// Returns the block without the `#[computed]` attributes, because rustc does not know them.
pub(super) fn cleaned(block: &ItemImpl) -> ItemImpl {
    let mut block = block.clone();
    for item in &mut block.items {
        if let ImplItem::Fn(method) = item {
            method.attrs.retain(|attribute| !is_computed(attribute));
        }
    }
    block
}

/// Generates the implementation for a block without errors.
pub(super) fn computed_fields(
    block: &ItemImpl,
    fields: &[ComputedModel<'_>],
    runtime: &RuntimePath,
) -> TokenStream {
    let ty = &block.self_ty;
    let item = quote!(#ty);
    let mut accesses = Vec::new();
    let mut specs = Vec::new();
    let mut assertions = Vec::new();
    for (number, field) in fields.iter().enumerate() {
        let Some(column) = &field.column else { continue };
        let conditions = conditions(&field.method.attrs);
        let access = columns::access(number);
        let ident = &field.method.sig.ident;
        let value = quote!(&<#ty>::#ident(__row));
        let spec = columns::spec(column, &access);
        let shadows = shadows(field, &item);
        let checks = columns::assertions(column, &access, &item);
        accesses.push(columns::access_impl(column, &access, &item, &value, &conditions));
        specs.push(quote!(#(#conditions)* #spec));
        for check in checks.into_iter().chain([shadows]) {
            assertions.push(quote!(#(#conditions)* const _: () = #check;));
        }
    }
    wrap(block, runtime, &quote!(#(#accesses)*), &specs, &assertions)
}

/// Generates an empty table, so that a block with errors causes no follow-up errors.
pub(super) fn inert(block: &ItemImpl, runtime: &RuntimePath) -> TokenStream {
    if block.generics.params.is_empty() {
        wrap(block, runtime, &TokenStream::new(), &[], &[])
    } else {
        TokenStream::new()
    }
}

fn wrap(
    block: &ItemImpl,
    runtime: &RuntimePath,
    accesses: &TokenStream,
    specs: &[TokenStream],
    assertions: &[TokenStream],
) -> TokenStream {
    let ty = &block.self_ty;
    let conditions = conditions(&block.attrs);
    let items = runtime.block(&quote! {
        #[allow(unused_imports)]
        use __rt::column::{Fallback as _, NoOrder as _};
        #accesses
        #[automatically_derived]
        impl __rt::ComputedFields for #ty {
            const COMPUTED: &'static [__rt::FieldSpec<Self>] = &[#(#specs),*];
        }
        #(#assertions)*
    });
    quote! {
        #(#conditions)*
        #[allow(deprecated)]
        #items
    }
}

/// Asserts that no stored field has the name of the computed field. Only the resource's own table lists the stored
/// names.
fn shadows(field: &ComputedModel<'_>, item: &TokenStream) -> TokenStream {
    let name = &field.name.text;
    let message = format!(
        "computed field `{name}` has the name of a stored field: write another name, `#[computed(name = \"…\")]`"
    );
    let span = Span::call_site().located_at(field.name.span);
    let check = quote_spanned! {span=>
        __rt::check_computed::<#item>(#name, #message)
    };
    columns::at(check, span)
}
