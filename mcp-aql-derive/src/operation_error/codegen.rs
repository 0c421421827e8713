//! Generates the conversion of an error type: one `match` that turns variants into errors of the protocol.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{DeriveInput, Generics, Ident, Member};

use super::attr::{Code, Detail};
use super::model::{ErrorModel, Variant};
use crate::support::json::{Json, Value};
use crate::support::runtime::{RuntimePath, alias_at};
use crate::support::variant_ident;

/// Generates `impl From<X> for OperationError`, and the same for the `Error` type that the `main` of an adapter
/// returns.
pub(crate) fn conversion(model: &ErrorModel<'_>, runtime: &RuntimePath) -> TokenStream {
    let arms = model.variants.iter().map(|variant| arm(model, variant));
    let ident = model.ident;
    let (_, arguments, _) = model.generics.split_for_impl();
    // Method resolution picks one of two traits: if the error implements `std::error::Error`, it is kept as the cause.
    let traits = model.variants.iter().any(|variant| variant.code().is_some()).then(|| {
        quote! {
            #[allow(unused_imports)]
            use __rt::{
                DropCause as _, KeepCause as _, SlotOfDetail as _, SlotOfDisplay as _,
            };
        }
    });
    conversions(
        (model.ident, model.generics),
        &quote!(__error),
        &quote! {
            #traits
            match __error {
                #(#arms)*
            }
        },
        &quote! {
            #[allow(unused_imports)]
            use __rt::{ExitAsIs as _, ExitMapped as _};
            __rt::Exit::<#ident #arguments>::NEW.with(__error)
        },
        runtime,
    )
}

/// Generates conversions for an error type with errors, so that the operations that return it cause no follow-up
/// errors.
pub(crate) fn inert(item: &DeriveInput, runtime: &RuntimePath) -> TokenStream {
    conversions(
        (&item.ident, &item.generics),
        &quote!(_),
        &quote!(Self::internal("an invalid error type")),
        &quote!(Self::other("an invalid error type")),
        runtime,
    )
}

/// Generates both implementations of `From`, with the pattern of their argument and their bodies.
fn conversions(
    (ident, generics): (&Ident, &Generics),
    error: &TokenStream,
    operation_error: &TokenStream,
    main_error: &TokenStream,
    runtime: &RuntimePath,
) -> TokenStream {
    let (generics, arguments, where_clause) = generics.split_for_impl();
    runtime.block(&quote! {
        #[automatically_derived]
        impl #generics ::core::convert::From<#ident #arguments> for __rt::OperationError
        #where_clause
        {
            fn from(#error: #ident #arguments) -> Self {
                #operation_error
            }
        }
        #[automatically_derived]
        impl #generics ::core::convert::From<#ident #arguments> for __rt::Error
        #where_clause
        {
            fn from(#error: #ident #arguments) -> Self {
                #main_error
            }
        }
    })
}

fn arm(model: &ErrorModel<'_>, variant: &Variant<'_>) -> TokenStream {
    let ident = model.ident;
    let path = match variant.ident {
        Some(variant) => quote!(#ident::#variant),
        None => ident.to_token_stream(),
    };
    if let Some(span) = variant.attr.transparent {
        let member = variant.fields.members().next().unwrap_or(Member::Unnamed(0.into()));
        let into = quote_spanned!(span=> ::core::convert::Into::into(__inner));
        return quote!(#path { #member: __inner } => #into,);
    }
    let Some(code) = variant.code() else {
        // rustc reports at this span that the type does not implement `Error`.
        let span = variant.ident.unwrap_or(ident).span();
        let internal = quote_spanned! {Span::call_site().located_at(span)=>
            __rt::internal(__error)
        };
        return quote!(#path { .. } => #internal,);
    };
    let mut used: Vec<&Member> = Vec::new();
    for (_, detail) in &variant.details {
        if let Detail::Field(member) = detail
            && !used.contains(&member)
        {
            used.push(member);
        }
    }
    let bindings = used.iter().map(|member| {
        let binding = binding(member);
        quote!(#member: ref #binding,)
    });
    let mapped = mapped(variant, code);
    quote! {
        #path { #(#bindings)* .. } => {
            let __mapped = #mapped;
            __rt::Cause(__error).of(__mapped)
        }
    }
}

fn binding(member: &Member) -> proc_macro2::Ident {
    let name = match member {
        Member::Named(ident) => ident.to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    };
    format_ident!("__{}", name.trim_start_matches("r#"), span = member.span())
}

/// Generates the protocol's error with its message and details.
fn mapped(variant: &Variant<'_>, code: Code) -> TokenStream {
    let error = quote!(__rt::OperationError);
    let (constructed, covered) = constructor(variant, code).unwrap_or_else(|| {
        let code = variant_ident(code.0);
        let message = match &variant.attr.message {
            Some(message) => message.0.to_token_stream(),
            None => quote!(::std::string::ToString::to_string(&__error)),
        };
        (quote!(#error::new(__rt::ErrorCode::#code, #message)), &[][..])
    });
    let details = variant.details.iter().map(|(key, detail)| (key.to_string(), detail));
    let details =
        details.filter(|(key, _)| !covered.contains(&key.as_str())).map(|(key, detail)| {
            let value = match detail {
                Detail::Field(member) if ECHOED.contains(&key.as_str()) => {
                    let (binding, rt) = (binding(member), alias_at(member.span()));
                    quote_spanned!(member.span()=> #rt::echoed(#binding))
                }
                Detail::Field(member) => {
                    let (binding, rt) = (binding(member), alias_at(member.span()));
                    quote_spanned!(member.span()=> #rt::detail(#binding))
                }
                Detail::Literal(json) => literal(json),
            };
            quote!(.with_detail(#key, #value))
        });
    quote!(#constructed #(#details)*)
}

/// The details that repeat a value of the caller. The runtime truncates them, because the value may have any length.
const ECHOED: [&str; 4] = ["resource_type", "resource_id", "expected_version", "actual_version"];

/// Generates a call of the runtime's constructor that fills in the message template of the code, if the details
/// suffice. Also returns the keys of the details that the constructor sets.
fn constructor(
    variant: &Variant<'_>,
    code: Code,
) -> Option<(TokenStream, &'static [&'static str])> {
    if variant.attr.message.is_some() {
        return None;
    }
    let (constructor, keys): (_, &[&str]) = match code.0.as_str() {
        "NOT_FOUND_RESOURCE" => ("not_found", &["resource_type", "resource_id"]),
        "CONFLICT_ALREADY_EXISTS" => ("already_exists", &["resource_type", "resource_id"]),
        "CONFLICT_VERSION_MISMATCH" => {
            ("version_mismatch", &["expected_version", "actual_version"])
        }
        "PERMISSION_DENIED" => ("permission_denied", &["reason"]),
        "VALIDATION_INVALID_TYPE" => {
            ("invalid_type", &["param_name", "expected_type", "actual_type"])
        }
        _ => return None,
    };
    let slots = keys.iter().map(|key| Some(slot(variant.detail(key)?)));
    let slots: Vec<_> = slots.collect::<Option<_>>()?;
    let constructor = format_ident!("{constructor}");
    Some((quote!(__rt::OperationError::#constructor(#(#slots),*)), keys))
}

/// Generates the value of a template's slot from a detail.
fn slot(detail: &Detail) -> TokenStream {
    match detail {
        Detail::Field(member) => {
            let (binding, rt) = (binding(member), alias_at(member.span()));
            quote_spanned!(member.span()=> &#rt::Slot(#binding).text())
        }
        Detail::Literal(json) => match &json.value {
            Value::Text(text) => text.to_token_stream(),
            _ => json.to_string().to_token_stream(),
        },
    }
}

fn literal(json: &Json) -> TokenStream {
    match &json.value {
        Value::Text(text) => text.to_token_stream(),
        Value::Bool(flag) => flag.to_token_stream(),
        _ => {
            let text = json.to_string();
            quote!(__rt::literal(#text))
        }
    }
}
