//! Generates the names, the identifier and the version of a resource with ready operations.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::model::ResourceModel;
use super::operations::{ReadyKind, ReadyOperation, ReadyOperations};
use crate::operation::example;
use crate::support::runtime_path::RuntimePath;

/// Generates the implementations of `Record` and `ReadyOperations`.
pub(super) fn record(resource: &ResourceModel<'_>, runtime: &RuntimePath) -> Option<TokenStream> {
    let ready = resource.operations.as_ref()?;
    implementation(
        resource,
        ready,
        &ready.of(resource.is_searchable()).collect::<Vec<_>>(),
        runtime,
    )
}

/// Generates the implementations without operations, so that a resource with errors causes no follow-up errors where it
/// is used.
pub(super) fn inert(resource: &ResourceModel<'_>, runtime: &RuntimePath) -> Option<TokenStream> {
    let is_generic = !resource.generics.params.is_empty();
    let ready = resource.operations.as_ref().filter(|_| !is_generic)?;
    implementation(resource, ready, &[], runtime)
}

fn implementation(
    resource: &ResourceModel<'_>,
    ready: &ReadyOperations,
    operations: &[&ReadyOperation],
    runtime: &RuntimePath,
) -> Option<TokenStream> {
    let id = resource.identifier()?;
    let ident = resource.ident;
    let records = quote!(#runtime::query::records);
    let (id_ident, id_type, id_name) = (id.ident, id.column.ty, &id.column.name.text);
    let description = &id.column.description;
    let function = quote_spanned!(id_type.span()=> fn(#id_type));
    let names = names(ready, id_name, &records);
    let (if_match, check, advance) = version(resource, runtime, &records);
    let references = references(resource, runtime, &records);
    let described_by = described_by(resource);
    let write_only = write_only(resource);
    let version_name = resource.version().map(|version| {
        let name = &version.column.name.text;
        quote! {
            const VERSION: ::core::option::Option<&'static str> = ::core::option::Option::Some(#name);
        }
    });
    let is_chosen = id.is_chosen;
    let operations = operations.iter().map(|operation| entry(ident, operation, is_chosen, runtime));
    let chosen = is_chosen.then(|| {
        quote!(
            const CHOSEN_ID: bool = true;
        )
    });
    Some(quote! {
        #[automatically_derived]
        impl #records::Record for #ident {
            type Id = #id_type;
            type IfMatch = #if_match;
            const NAMES: #records::RecordNames = #names;
            const ID: #runtime::table::ParameterSpec =
                #runtime::__private::required::<#id_type, #function>(#id_name, #description);
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
        impl<__Store: #records::ResourceStore<Resource = #ident>> #records::ReadyOperations<__Store>
            for #ident
        {
            const OPERATIONS: &'static [
                #runtime::table::OperationEntry<#records::Ready<__Store>>
            ] = &[#(#operations),*];
        }
    })
}

/// Generates the code of one operation with its options.
fn entry(
    ident: &Ident,
    operation: &ReadyOperation,
    is_chosen: bool,
    runtime: &RuntimePath,
) -> TokenStream {
    let danger = operation.danger.as_ref().map(|danger| {
        // A deletion's question is in `NAMES`, because its slots are fields of the record and not parameters.
        danger.tokens(runtime, operation.kind != ReadyKind::Delete)
    });
    let examples = example::tokens(&operation.examples, runtime);
    // With this span, rustc reports a missing trait of the resource where the operation is chosen.
    let runtime = runtime.at(operation.span);
    let function = match operation.kind {
        ReadyKind::Create if is_chosen => "create_chosen",
        kind => kind.verb(),
    };
    let function = format_ident!("{function}", span = operation.span);
    let mut ident = ident.clone();
    ident.set_span(operation.span);
    quote_spanned! {operation.span=>
        #runtime::query::records::ready::#function::<#ident, __Store>() #danger #examples
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
fn references(
    resource: &ResourceModel<'_>,
    runtime: &RuntimePath,
    records: &TokenStream,
) -> Option<TokenStream> {
    let references = resource.references().map(|(field, target)| {
        let (name, kind, target) = (&field.column.name.text, field.relationship(), &target.0);
        let description = &field.column.description;
        quote! {
            #records::Reference::new(
                #name,
                #runtime::query::RelationshipType::new(#kind, #description),
                #target,
            )
        }
    });
    let references: Vec<_> = references.collect();
    (!references.is_empty()).then(|| {
        quote! {
            const REFERENCES: &'static [#records::Reference] = &[#(#references),*];
        }
    })
}

fn names(ready: &ReadyOperations, id: &str, records: &TokenStream) -> TokenStream {
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
        quote!(#field: #records::OperationName::new(#name, #description))
    });
    quote! {
        #records::RecordNames {
            singular: #singular,
            plural: #plural,
            #(#operations,)*
            delete_question: #question,
            own_delete_question: #own,
        }
    }
}

/// Generates the type of `if_match`, and the functions that compare and set the version.
fn version(
    resource: &ResourceModel<'_>,
    runtime: &RuntimePath,
    records: &TokenStream,
) -> (TokenStream, TokenStream, TokenStream) {
    let result = quote!(::core::result::Result<(), #runtime::OperationError>);
    let Some(version) = resource.version() else {
        return (
            quote!(#records::NoVersion),
            quote! {
                fn check_version(&self, _: &#records::NoVersion) -> #result {
                    ::core::result::Result::Ok(())
                }
            },
            quote!(
                fn advance_version(&mut self) {}
            ),
        );
    };
    let (ident, ty) = (version.ident, version.column.ty);
    let records = quote_spanned!(ty.span()=> #records);
    (
        quote!(#runtime::IfMatch<#ty>),
        quote! {
            fn check_version(&self, __expected: &#runtime::IfMatch<#ty>) -> #result {
                __expected.check(&self.#ident)
            }
        },
        quote! {
            fn advance_version(&mut self) {
                <#ty as #records::Version>::advance(&mut self.#ident);
            }
        },
    )
}
