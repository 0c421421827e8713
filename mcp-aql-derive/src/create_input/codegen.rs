//! Generates the parameters of a new resource, and the code that builds the resource from them.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::Ident;
use syn::spanned::Spanned as _;

use super::model::{CreateField, CreateModel, Source};
use crate::support::runtime::{RuntimePath, alias_at};
use crate::support::ty::Kind;

/// Generates the implementation for a resource without errors.
pub(super) fn create_input(model: &CreateModel<'_>, runtime: &RuntimePath) -> TokenStream {
    let specs = model.parameters().map(spec);
    let names = model.parameters().map(CreateField::ident);
    let values = model.parameters().map(|it| it.field.parameter.take());
    let call = if model.parameters().next().is_none() { quote!(_) } else { quote!(__call) };
    let fields = fields_type(model);
    let decode = quote!(::core::result::Result::Ok(#fields { #(#names: #values),* }));
    implementation(model, &quote!(&[#(#specs),*]), (&call, &decode), runtime)
}

/// Generates an implementation without parameters, so that a resource with errors causes no follow-up errors.
pub(super) fn inert(model: &CreateModel<'_>, runtime: &RuntimePath) -> TokenStream {
    if !model.resource.generics.params.is_empty() {
        return TokenStream::new();
    }
    let decode = quote! {
        ::core::result::Result::Err(__rt::OperationError::internal("an invalid resource"))
    };
    implementation(model, &quote!(&[]), (&quote!(_), &decode), runtime)
}

fn fields_type(model: &CreateModel<'_>) -> Ident {
    let ident = model.resource.ident;
    format_ident!("__{ident}Fields", span = ident.span())
}

fn implementation(
    model: &CreateModel<'_>,
    parameters: &TokenStream,
    (call, decode): (&TokenStream, &TokenStream),
    runtime: &RuntimePath,
) -> TokenStream {
    let ident = model.resource.ident;
    let fields = fields_type(model);
    let names: Vec<_> = model.parameters().map(CreateField::ident).collect();
    let types = model.parameters().map(|it| it.field.ty);
    let (rest, pattern) = rest(model);
    let input = if names.is_empty() { quote!(_) } else { quote!(__fields) };
    let sources = model.fields.iter().map(|field| {
        let name = field.ident();
        match &field.source {
            Source::Parameter(_) => quote!(#name: __fields.#name),
            Source::Value(value, _) => quote!(#name: #value),
            Source::Rest => quote!(#name),
        }
    });
    runtime.block(&quote! {
        #[allow(unused_imports)]
        use __rt::rule::Fallback as _;
        #[doc(hidden)]
        #[allow(missing_docs, missing_debug_implementations, unreachable_pub)]
        pub struct #fields { #(pub #names: #types),* }
        #[automatically_derived]
        impl __rt::CreateInput for #ident {
            type Fields = #fields;
            type Rest = #rest;
            const PARAMETERS: &'static [__rt::ParameterSpec] = #parameters;
            fn decode(#call: &mut __rt::Call) -> ::core::result::Result<#fields, __rt::OperationError> {
                #decode
            }
            fn complete(#input: #fields, #pattern: #rest) -> Self {
                Self { #(#sources),* }
            }
        }
    })
}

/// Generates the table entry of a parameter.
fn spec(field: &CreateField<'_>) -> TokenStream {
    let parameter = &field.field.parameter;
    let spec = match &field.source {
        Source::Parameter(Some(default)) => parameter.spec_with(Some(default)),
        _ => parameter.spec(),
    };
    let inner = field.innermost();
    let resource = (Kind::of(inner) == Kind::Unknown).then(|| {
        let rt = alias_at(inner.span());
        quote_spanned!(inner.span()=> .resource(#rt::rule::Probe::<#inner>::INPUT))
    });
    quote!(#spec #resource)
}

/// Generates the type of the fields that callers do not set, and the pattern that destructures it.
fn rest(model: &CreateModel<'_>) -> (TokenStream, TokenStream) {
    let types: Vec<_> = model.rest().map(|field| field.ty).collect();
    let names: Vec<_> = model.rest().map(|field| field.ident).collect();
    match (types.as_slice(), names.as_slice()) {
        ([ty], [name]) => (quote!(#ty), quote!(#name)),
        _ => (quote!((#(#types),*)), quote!((#(#names),*))),
    }
}
