//! Generates the names, the identifier and the version of a resource with ready operations.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::model::ResourceModel;
use super::operations::{ReadyKind, ReadyOperation, ReadyOperations};
use crate::operation::example;
use crate::support::runtime::alias_at;

/// Generates the implementations of `Record` and `ReadyOperations`.
pub(super) fn record(resource: &ResourceModel<'_>) -> Option<TokenStream> {
    let ready = resource.operations.as_ref()?;
    implementation(resource, ready, &ready.of(resource.is_searchable()).collect::<Vec<_>>())
}

/// Generates the implementations without operations, so that a resource with errors causes no follow-up errors where it
/// is used.
pub(super) fn inert(resource: &ResourceModel<'_>) -> Option<TokenStream> {
    implementation(resource, resource.operations.as_ref()?, &[])
}

fn implementation(
    resource: &ResourceModel<'_>,
    ready: &ReadyOperations,
    operations: &[&ReadyOperation],
) -> Option<TokenStream> {
    let id = resource.identifier()?;
    let ident = resource.ident;
    let (id_ident, id_type, id_name) = (id.ident, id.column.ty, &id.column.name.text);
    let description = &id.column.description;
    let function = quote_spanned!(id_type.span()=> fn(#id_type));
    let names = names(ready, id_name);
    let (if_match, check, advance) = version(resource);
    let references = references(resource);
    let described_by = described_by(resource);
    let write_only = write_only(resource);
    let version_name = resource.version().map(|version| {
        let name = &version.column.name.text;
        quote! {
            const VERSION: ::core::option::Option<&'static str> = ::core::option::Option::Some(#name);
        }
    });
    let is_chosen = id.is_chosen;
    let operations = operations.iter().map(|operation| entry(ident, operation, is_chosen));
    let chosen = is_chosen.then(|| {
        quote!(
            const CHOSEN_ID: bool = true;
        )
    });
    Some(quote! {
        #[automatically_derived]
        impl __rt::Record for #ident {
            type Id = #id_type;
            type IfMatch = #if_match;
            const NAMES: __rt::RecordNames = #names;
            const ID: __rt::ParameterSpec =
                __rt::required::<#id_type, #function>(#id_name, #description);
            #chosen
            #described_by
            #version_name
            #write_only
            #references
            fn id(&self) -> &#id_type {
                &self.#id_ident
            }
            #check
            #advance
        }
        #[automatically_derived]
        impl<__Store: __rt::ResourceStore<Resource = #ident>> __rt::ReadyOperations<__Store>
            for #ident
        {
            const OPERATIONS: &'static [
                __rt::OperationEntry<__rt::Ready<__Store>>
            ] = &[#(#operations),*];
        }
    })
}

/// Generates the code of one operation with its options.
fn entry(ident: &Ident, operation: &ReadyOperation, is_chosen: bool) -> TokenStream {
    let danger = operation.danger.as_ref().map(|danger| {
        // A deletion's question is in `NAMES`, because its slots are fields of the record and not parameters.
        danger.tokens(operation.kind != ReadyKind::Delete)
    });
    let examples = example::tokens(&operation.examples);
    // With this span, rustc reports a missing trait of the resource where the operation is chosen.
    let rt = alias_at(operation.span);
    let function = match operation.kind {
        ReadyKind::Create if is_chosen => "create_chosen",
        kind => kind.verb(),
    };
    let function = format_ident!("{function}", span = operation.span);
    let mut ident = ident.clone();
    ident.set_span(operation.span);
    quote_spanned! {operation.span=>
        #rt::ready::#function::<#ident, __Store>() #danger #examples
    }
}

/// Generates the name of the field that describes a record to a person.
fn described_by(resource: &ResourceModel<'_>) -> Option<TokenStream> {
    let mut fields = resource.on_the_wire();
    let field = fields.find(|field| field.column.marks.search.is_some() && !field.is_sensitive)?;
    let name = &field.column.name.text;
    Some(quote! {
        const DESCRIBED_BY: ::core::option::Option<&'static str> =
            ::core::option::Option::Some(#name);
    })
}

/// Generates the names of the fields that never appear in a result.
fn write_only(resource: &ResourceModel<'_>) -> Option<TokenStream> {
    let fields = resource.fields.iter().filter(|field| field.hidden && !field.serde.skip);
    let names: Vec<_> = fields.map(|field| &field.column.name.text).collect();
    (!names.is_empty()).then(|| quote!(const WRITE_ONLY: &'static [&'static str] = &[#(#names),*];))
}

/// Generates the fields that contain identifiers of other resources.
fn references(resource: &ResourceModel<'_>) -> Option<TokenStream> {
    let references = resource.references().map(|(field, target)| {
        let (name, kind, target) = (&field.column.name.text, field.relationship(), &target.0);
        let description = &field.column.description;
        quote! {
            __rt::Reference::new(
                #name,
                __rt::RelationshipType::new(#kind, #description),
                #target,
            )
        }
    });
    let references: Vec<_> = references.collect();
    (!references.is_empty()).then(|| {
        quote! {
            const REFERENCES: &'static [__rt::Reference] = &[#(#references),*];
        }
    })
}

fn names(ready: &ReadyOperations, id: &str) -> TokenStream {
    let (singular, plural) = (&*ready.singular, &*ready.plural);
    let question = ready.delete_question(id);
    let own = ready.find(ReadyKind::Delete).and_then(ReadyOperation::question);
    let own = match own {
        Some(own) => {
            let own = &own.0;
            quote!(::core::option::Option::Some(#own))
        }
        None => quote!(::core::option::Option::None),
    };
    let operations = ReadyKind::ALL.map(|kind| {
        let field = format_ident!("{}", kind.verb());
        let (name, description) = ready.texts(kind);
        quote!(#field: __rt::OperationName::new(#name, #description))
    });
    quote! {
        __rt::RecordNames {
            singular: #singular,
            plural: #plural,
            #(#operations,)*
            delete_question: #question,
            own_delete_question: #own,
        }
    }
}

/// Generates the type of `if_match`, and the functions that compare and set the version.
fn version(resource: &ResourceModel<'_>) -> (TokenStream, TokenStream, TokenStream) {
    let result = quote!(::core::result::Result<(), __rt::OperationError>);
    let Some(version) = resource.version() else {
        return (
            quote!(__rt::NoVersion),
            quote! {
                fn check_version(&self, _: &__rt::NoVersion) -> #result {
                    ::core::result::Result::Ok(())
                }
            },
            quote!(
                fn advance_version(&mut self) {}
            ),
        );
    };
    let (ident, ty) = (version.ident, version.column.ty);
    let rt = alias_at(ty.span());
    (
        quote!(__rt::IfMatch<#ty>),
        quote! {
            fn check_version(&self, __expected: &__rt::IfMatch<#ty>) -> #result {
                __expected.check(&self.#ident)
            }
        },
        quote! {
            fn advance_version(&mut self) {
                <#ty as #rt::Version>::advance(&mut self.#ident);
            }
        },
    )
}
