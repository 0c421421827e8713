//! Generates the table of a resource's fields. The runtime interprets it.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Ident, Type, parse_quote};

use super::columns;
use super::lists::FieldPath;
use super::model::{FieldModel, ResourceModel};
use super::operations::{ReadyKind, ReadyOperation};
use super::record;
use crate::operation::input_slots;
use crate::support::runtime::RuntimePath;
use crate::support::ty::{Kind, inside};

/// Generates the implementations for a resource without errors.
pub(super) fn resource(resource: &ResourceModel<'_>, runtime: &RuntimePath) -> TokenStream {
    let ident = resource.ident;
    let item = quote!(#ident);
    let mut accesses = Vec::new();
    let mut specs = Vec::new();
    let mut assertions = Vec::new();
    for (number, field) in resource.on_the_wire().enumerate() {
        let access = columns::access(number);
        let name = field.ident;
        let value = quote!(&__row.#name);
        accesses.push(columns::access_impl(&field.column, &access, &item, &value, &[]));
        accesses.extend(nested_access(field, &access, &item));
        specs.push(spec(field, &access));
        assertions.extend(columns::assertions(&field.column, &access, &item));
    }
    assertions.extend(update_message(resource));
    let presets = presets(resource);
    let default_sort = default_sort(resource);
    let relationships = relationships(resource);
    let identified = resource
        .on_the_wire()
        .any(|field| field.column.marks.id.is_some())
        .then(|| identified(ident));
    let record = record::record(resource);
    let items = runtime.block(&quote! {
        #[allow(unused_imports)]
        use __rt::column::{Fallback as _, NoComputed as _, NoDocument as _, NoOrder as _};
        #(#accesses)*
        #[automatically_derived]
        impl __rt::Resource for #ident {
            const RESOURCE: __rt::ResourceSpec<Self> = __rt::ResourceSpec::new(&[#(#specs),*])
                .computed(__rt::column::ComputedProbe::<#ident>::FIELDS)
                #presets #default_sort #relationships;
            fn model() -> &'static __rt::Model<Self> {
                static MODEL: ::std::sync::LazyLock<__rt::Model<#ident>> =
                    ::std::sync::LazyLock::new(__rt::Model::new);
                &MODEL
            }
        }
        #identified
        #record
        #(const _: () = #assertions;)*
    });
    quote! {
        #[allow(deprecated)]
        #items
    }
}

/// Asserts that the confirmation message of the generated update only shows fields that an update can change.
fn update_message(resource: &ResourceModel<'_>) -> Vec<TokenStream> {
    let update = resource.operations.as_ref().and_then(|ready| ready.find(ReadyKind::Update));
    let Some(message) = update.and_then(ReadyOperation::question) else { return Vec::new() };
    let ident = resource.ident;
    input_slots(message, &parse_quote!(#ident))
}

/// Generates an empty table, so that a resource with errors causes no follow-up errors where it is used.
pub(super) fn inert(resource: &ResourceModel<'_>, runtime: &RuntimePath) -> TokenStream {
    if !resource.generics.params.is_empty() {
        return TokenStream::new(); // a generic type cannot be used as a resource
    }
    let ident = resource.ident;
    let (identified, record) = (identified(ident), record::inert(resource));
    runtime.block(&quote! {
        #[automatically_derived]
        impl __rt::Resource for #ident {
            const RESOURCE: __rt::ResourceSpec<Self> = __rt::ResourceSpec::new(&[]);
            fn model() -> &'static __rt::Model<Self> {
                ::core::unreachable!("an invalid resource")
            }
        }
        #identified
        #record
    })
}

fn identified(ident: &Ident) -> TokenStream {
    quote! {
        #[automatically_derived]
        impl __rt::IdentifiedResource for #ident {}
    }
}

fn spec(field: &FieldModel<'_>, access: &Ident) -> TokenStream {
    let spec = columns::spec(&field.column, access);
    let omitted = field.serde.omitted.then(|| quote!(.may_be_omitted()));
    let nested = field.column.marks.nested.map(|_| quote!(.nested::<#access>()));
    let reference = field.references.as_ref().map(|_| quote!(.reference()));
    let document = document(field, access);
    quote!(#spec #reference #omitted #nested #document)
}

/// Generates the reader of documents, for a field that a table may store as JSON.
fn document(field: &FieldModel<'_>, access: &Ident) -> Option<TokenStream> {
    let ty = field.column.ty;
    let may_be_json = matches!(field.column.kind(), Kind::List(_) | Kind::Object | Kind::Unknown);
    // A type that borrows, such as `&'static str`, cannot be read, and rustc would not choose the fallback for it.
    let borrows = quote!(#ty).to_string().contains(['&', '\'']);
    // A field that is read in another form than its type has no reader.
    let has_reader = may_be_json && !borrows && field.serde.own_form.is_none();
    has_reader.then(|| quote!(.document(__rt::column::DocumentProbe::<#access>::READER)))
}

/// Generates the access to a nested resource.
fn nested_access(
    field: &FieldModel<'_>,
    access: &Ident,
    item: &TokenStream,
) -> Option<TokenStream> {
    field.column.marks.nested?;
    let ident = field.ident;
    let inner = field.inner();
    let inner_value = borrow_inner(field.column.ty, quote!(&__row.#ident));
    Some(quote! {
        #[automatically_derived]
        impl __rt::column::NestedAccess for #access {
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

fn presets(resource: &ResourceModel<'_>) -> Option<TokenStream> {
    let presets = resource.presets.0.iter().map(|preset| {
        let name = unraw(&preset.name);
        let paths = preset.paths.iter().map(FieldPath::to_string);
        quote!(__rt::FieldPreset::new(#name, &[#(#paths),*]))
    });
    (!resource.presets.0.is_empty()).then(|| quote!(.presets(&[#(#presets),*])))
}

fn default_sort(resource: &ResourceModel<'_>) -> Option<TokenStream> {
    let keys = resource.default_sort.0.iter().map(|key| {
        let path = key.path.to_string();
        let direction =
            format_ident!("{}", if key.descending { "descending" } else { "ascending" });
        quote!(__rt::DefaultSort::#direction(#path))
    });
    (!resource.default_sort.0.is_empty()).then(|| quote!(.default_sort(&[#(#keys),*])))
}

fn relationships(resource: &ResourceModel<'_>) -> Option<TokenStream> {
    let types = resource.relationships.0.iter().map(|it| {
        let (name, description) = (unraw(&it.name), &it.description);
        quote!(__rt::RelationshipType::new(#name, #description))
    });
    (!resource.relationships.0.is_empty()).then(|| quote!(.relationships(&[#(#types),*])))
}

fn unraw(ident: &Ident) -> String {
    syn::ext::IdentExt::unraw(ident).to_string()
}
