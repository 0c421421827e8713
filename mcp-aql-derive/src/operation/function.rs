//! Expands `#[operation(…)]` on a free function.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Item, ItemFn, TraitItemFn};

use super::attr::OperationAttr;
use super::{OperationModel, Site, argument, belongs_to_impl, check, clean, codegen};
use crate::support::runtime::RuntimePath;
use crate::support::{attribute_of, fault, keyword};

/// Returns the function as written, followed by the generated operation.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let function = match syn::parse2::<ItemFn>(item.clone()) {
        Ok(function) => function,
        Err(_) => return misplaced(item),
    };
    let cleaned = clean::function(&function);
    if belongs_to_impl(&function.sig) {
        let error = fault(
            attribute_of(function.sig.ident.span()),
            "a method is not an operation by itself: write `#[operations]` above the impl block",
        )
        .write_errors();
        return quote!(#cleaned #error);
    }
    let mut errors = darling::Error::accumulator();
    let (others, span) = (&function.attrs, function.sig.ident.span());
    let attr = OperationAttr::read(options, others, span, &mut errors);
    let runtime = RuntimePath::new(attr.runtime.as_ref());
    let mut described = function.sig.clone();
    argument::resolve(&mut described, &mut errors);
    let model = OperationModel::new(attr, &function.attrs, &described, Site::Free, &mut errors);
    check::run(&model, &mut errors);
    let operation = match errors.finish() {
        Ok(()) => codegen::operation(&model, &function, &runtime),
        Err(error) => {
            let errors = error.write_errors();
            let inert = codegen::inert(&function, &runtime);
            quote!(#inert #errors)
        }
    };
    quote!(#cleaned #operation)
}

/// Reports that the attribute belongs on a function.
fn misplaced(item: TokenStream) -> TokenStream {
    let error = match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Impl(block)) => fault(
            attribute_of(block.impl_token.span),
            "`#[operation]` belongs on a function: write `#[operations]` above an impl block",
        ),
        _ if syn::parse2::<TraitItemFn>(item.clone()).is_ok() => fault(
            Span::call_site(),
            "a function of a trait is not an operation: write it in an impl block of a type, with `#[operations]` above the block",
        ),
        Ok(other) => fault(
            attribute_of(keyword(&other)),
            "`#[operation]` belongs on a function: move it to one",
        ),
        // The tokens are not an item at all, so rustc's own error is more precise.
        Err(error) => error.into(),
    };
    let error = error.write_errors();
    quote!(#item #error)
}
