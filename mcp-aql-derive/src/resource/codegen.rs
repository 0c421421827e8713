//! Generates the table of a resource's fields. The runtime interprets it.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{DeriveInput, Ident, Type, parse_quote};

use super::columns;
use super::lists::FieldPath;
use super::model::{FieldModel, ResourceModel};
use super::operations::{ReadyKind, ReadyOperation};
use super::record;
use crate::operation::input_slots;
use crate::support::runtime_path::RuntimePath;
use crate::support::ty::inside;

/// Generates the implementations for a resource without errors.
pub(super) fn resource(resource: &ResourceModel<'_>, runtime: &RuntimePath) -> TokenStream {
    let ident = resource.ident;
    let query = quote!(#runtime::query);
    let item = quote!(#ident);
    let mut accesses = Vec::new();
    let mut specs = Vec::new();
    let mut assertions = Vec::new();
    for (number, field) in resource.on_the_wire().enumerate() {
        let access = columns::access(number);
        let name = field.ident;
        let value = quote!(&__row.#name);
        accesses.push(columns::access_impl(&field.column, &access, &item, &value, &[], runtime));
        accesses.extend(nested_access(field, &access, &item, runtime));
        specs.push(spec(field, &access, runtime));
        assertions.extend(columns::assertions(&field.column, &access, &item, runtime));
    }
    assertions.extend(update_message(resource, runtime));
    let presets = presets(resource, &query);
    let default_sort = default_sort(resource, &query);
    let relationships = relationships(resource, &query);
    let identified = resource
        .on_the_wire()
        .any(|field| field.column.marks.id.is_some())
        .then(|| identified(ident, runtime));
    let record = record::record(resource, runtime);
    quote! {
        #[allow(deprecated)]
        const _: () = {
            #[allow(unused_imports)]
            use #runtime::__private::column::{Fallback as _, NoComputed as _, NoOrder as _};
            #(#accesses)*
            #[automatically_derived]
            impl #query::Resource for #ident {
                const RESOURCE: #query::ResourceSpec<Self> = #query::ResourceSpec::new(&[#(#specs),*])
                    .computed(#runtime::__private::column::ComputedProbe::<#ident>::FIELDS)
                    #presets #default_sort #relationships;
                fn model() -> &'static #query::Model<Self> {
                    static MODEL: ::std::sync::LazyLock<#query::Model<#ident>> =
                        ::std::sync::LazyLock::new(#query::Model::new);
                    &MODEL
                }
            }
            #identified
            #record
            #(const _: () = #assertions;)*
        };
    }
}

/// Asserts that the confirmation message of the generated update only shows fields that an update can change.
fn update_message(resource: &ResourceModel<'_>, runtime: &RuntimePath) -> Vec<TokenStream> {
    let update = resource.operations.as_ref().and_then(|ready| ready.find(ReadyKind::Update));
    let Some(message) = update.and_then(ReadyOperation::question) else { return Vec::new() };
    let ident = resource.ident;
    input_slots(message, &parse_quote!(#ident), runtime)
}

/// Generates an empty table, so that a resource with errors causes no follow-up errors where it is used.
pub(super) fn inert(input: &DeriveInput, runtime: &RuntimePath) -> TokenStream {
    if !input.generics.params.is_empty() {
        return TokenStream::new(); // a generic type cannot be used as a resource
    }
    let ident = &input.ident;
    let identified = identified(ident, runtime);
    quote! {
        #[automatically_derived]
        impl #runtime::query::Resource for #ident {
            const RESOURCE: #runtime::query::ResourceSpec<Self> = #runtime::query::ResourceSpec::new(&[]);
            fn model() -> &'static #runtime::query::Model<Self> {
                ::core::unreachable!("a faulty resource")
            }
        }
        #identified
    }
}

fn identified(ident: &Ident, runtime: &RuntimePath) -> TokenStream {
    quote! {
        #[automatically_derived]
        impl #runtime::query::IdentifiedResource for #ident {}
    }
}

fn spec(field: &FieldModel<'_>, access: &Ident, runtime: &RuntimePath) -> TokenStream {
    let spec = columns::spec(&field.column, access, runtime);
    let omitted = field.serde.omitted.then(|| quote!(.may_be_omitted()));
    let nested = field.column.marks.nested.map(|_| quote!(.nested::<#access>()));
    quote!(#spec #omitted #nested)
}

/// Generates the access to a nested resource.
fn nested_access(
    field: &FieldModel<'_>,
    access: &Ident,
    item: &TokenStream,
    runtime: &RuntimePath,
) -> Option<TokenStream> {
    field.column.marks.nested?;
    let ident = field.ident;
    let inner = field.inner();
    let inner_value = borrow_inner(field.column.ty, quote!(&__row.#ident));
    Some(quote! {
        #[automatically_derived]
        impl #runtime::__private::column::NestedAccess for #access {
            type Row = #item;
            type Inner = #inner;
            fn get(__row: &#item) -> ::core::option::Option<&#inner> {
                #inner_value
            }
        }
    })
}

/// Generates an expression that borrows the value inside `Option` and `Box`. `value` borrows the outer value.
fn borrow_inner(ty: &Type, value: TokenStream) -> TokenStream {
    if let Some(ty) = inside(ty, "Option") {
        let inner = borrow_inner(ty, quote!(__inner));
        quote! {
            match #value {
                ::core::option::Option::Some(__inner) => #inner,
                ::core::option::Option::None => ::core::option::Option::None,
            }
        }
    } else if let Some(ty) = inside(ty, "Box") {
        borrow_inner(ty, quote!(&**#value))
    } else {
        quote!(::core::option::Option::Some(#value))
    }
}

fn presets(resource: &ResourceModel<'_>, query: &TokenStream) -> Option<TokenStream> {
    let presets = resource.presets.0.iter().map(|preset| {
        let name = unraw(&preset.name);
        let paths = preset.paths.iter().map(FieldPath::to_string);
        quote!(#query::FieldPreset::new(#name, &[#(#paths),*]))
    });
    (!resource.presets.0.is_empty()).then(|| quote!(.presets(&[#(#presets),*])))
}

fn default_sort(resource: &ResourceModel<'_>, query: &TokenStream) -> Option<TokenStream> {
    let keys = resource.default_sort.0.iter().map(|key| {
        let path = key.path.to_string();
        let direction =
            format_ident!("{}", if key.descending { "descending" } else { "ascending" });
        quote!(#query::DefaultSort::#direction(#path))
    });
    (!resource.default_sort.0.is_empty()).then(|| quote!(.default_sort(&[#(#keys),*])))
}

fn relationships(resource: &ResourceModel<'_>, query: &TokenStream) -> Option<TokenStream> {
    let types = resource.relationships.0.iter().map(|it| {
        let (name, description) = (unraw(&it.name), &it.description);
        quote!(#query::RelationshipType::new(#name, #description))
    });
    (!resource.relationships.0.is_empty()).then(|| quote!(.relationships(&[#(#types),*])))
}

fn unraw(ident: &Ident) -> String {
    syn::ext::IdentExt::unraw(ident).to_string()
}
