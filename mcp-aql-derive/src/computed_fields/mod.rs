//! Expands `#[computed_fields]` on an impl block: parses the options, models and checks the methods, and generates the
//! table.

mod attr;
mod check;
mod codegen;
mod model;

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::spanned::Spanned as _;
use syn::{Item, ItemImpl};

use crate::support::options::Options;
use crate::support::runtime::{RuntimePath, needs_query};
use crate::support::values::CratePath;
use crate::support::{attribute_of, fault, keyword};
use model::ComputedModel;

/// Returns the block as written, followed by the table of its computed fields.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let block = match syn::parse2::<ItemImpl>(item.clone()) {
        Ok(block) => block,
        Err(_) => return misplaced(item),
    };
    let cleaned = codegen::cleaned(&block);
    if let Some(error) = needs_query("#[computed_fields]", Span::call_site()) {
        let error = error.write_errors();
        return quote!(#cleaned #error);
    }
    if let Some((path, _)) = &block.trait_ {
        let error = fault(
            path.span(),
            "`#[computed_fields]` is for methods of a type: write them in an impl block without a trait",
        )
        .write_errors();
        return quote!(#cleaned #error);
    }
    let mut errors = darling::Error::accumulator();
    let mut read = Options::default();
    read.read(options, &attr::BLOCK, &mut errors);
    let path = read.take::<CratePath>("crate", &mut errors).map(|path| path.into_inner().0);
    let runtime = RuntimePath::new(path.as_ref());
    let fields = ComputedModel::all(&block, &mut errors);
    check::run(&block, &fields, &mut errors);
    let computed = match errors.finish() {
        Ok(()) => codegen::computed_fields(&block, &fields, &runtime),
        Err(error) => {
            let (errors, inert) = (error.write_errors(), codegen::inert(&block, &runtime));
            quote!(#inert #errors)
        }
    };
    quote!(#cleaned #computed)
}

/// Reports that the attribute belongs on an impl block.
fn misplaced(item: TokenStream) -> TokenStream {
    let error = match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Struct(item)) => fault(
            attribute_of(item.struct_token.span),
            "`#[computed_fields]` belongs on an impl block: write `#[derive(Resource)]` above the struct",
        ),
        Ok(other) => fault(
            attribute_of(keyword(&other)),
            "`#[computed_fields]` belongs on an impl block: move it to one",
        ),
        Err(error) => error.into(),
    };
    let error = error.write_errors();
    quote!(#item #error)
}

#[cfg(test)]
mod tests;
