//! Generates the tables of an updatable resource. The runtime interprets them, so the expansion contains no merge
//! logic.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{DeriveInput, Generics, parse_quote};

use crate::input::{FieldRole, InputField, InputModel, mentions};
use crate::support::runtime::{RuntimePath, alias_at};
use crate::support::ty;

/// Generates the implementation for a resource without errors.
pub(super) fn update_input(resource: &InputModel<'_>, runtime: &RuntimePath) -> TokenStream {
    let ident = resource.ident;
    let fields = resource.settable().map(field);
    let count = resource.settable().count();
    let identifiers = names(resource, FieldRole::Identifier, &quote!(identifiers));
    let read_only = names(resource, FieldRole::ReadOnly, &quote!(read_only));
    let defaults = defaults(resource);
    let inside = resource.settable().enumerate();
    let inside = inside.filter_map(|(index, it)| table_inside(index, it, resource));
    let generics = bounded_generics(resource);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let (_, type_generics, _) = resource.generics.split_for_impl();
    runtime.block(&quote! {
        #[allow(unused_imports)]
        use __rt::rule::Fallback as _;
        #[automatically_derived]
        impl #impl_generics __rt::UpdateInput for #ident #type_generics
        #where_clause
        {
            const FIELDS: &'static [__rt::UpdateField<Self>] = &[#(#fields),*];
            const INPUT: __rt::InputSpec =
                __rt::InputSpec::of::<Self>(&__rt::field_specs::<Self, #count>()) #identifiers #read_only;
        }
        #(#inside)*
        #defaults
    })
}

/// Generates empty tables, so that a resource with errors causes no follow-up errors where it is used.
pub(super) fn inert(input: &DeriveInput, runtime: &RuntimePath) -> TokenStream {
    if input.generics.lifetimes().next().is_some() {
        return TokenStream::new(); // it cannot be `'static`, which would be another error
    }
    let ident = &input.ident;
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let predicates = where_clause.map(|clause| &clause.predicates);
    let inside = input.generics.params.is_empty().then(|| {
        quote! {
            impl<const FIELD: usize, __Rest> __rt::InputAt<__rt::FieldStep<FIELD, __Rest>> for #ident {
                const INPUT: __rt::InputSpec = <Self as __rt::UpdateInput>::INPUT;
            }
        }
    });
    runtime.block(&quote! {
        #[automatically_derived]
        impl #impl_generics __rt::UpdateInput for #ident #type_generics
        where
            Self: __rt::schemars::JsonSchema + 'static,
            #predicates
        {
            const FIELDS: &'static [__rt::UpdateField<Self>] = &[];
            const INPUT: __rt::InputSpec = __rt::InputSpec::of::<Self>(&[]);
        }
        #inside
    })
}

fn field(field: &InputField<'_>) -> TokenStream {
    let (ident, ty, parameter) = (field.ident, field.ty, &field.parameter);
    let name = &parameter.name.text;
    let description = &parameter.doc;
    let marks = parameter.marks();
    let whole = field.marks.replace.map(|_| quote!(.allow_replace()));
    // rustc reports errors about a field's type where the type is written.
    let span = ty.span();
    let rt = alias_at(span);
    let rule = field.rule.tokens(span);
    quote_spanned! {span=>
        #rt::UpdateField::new(
            &#rt::FieldAccessor::<_, #ty, #rule>::new(|__resource: &mut Self| {
                &mut __resource.#ident
            }),
            #name,
            #description,
        ) #marks #whole
    }
}

/// Generates the table of a nested struct, for paths that lead into the field, such as `address.city`.
fn table_inside(
    index: usize,
    field: &InputField<'_>,
    resource: &InputModel<'_>,
) -> Option<TokenStream> {
    let inside = field.rule.single_type().filter(|ty| ty::Kind::of(ty) == ty::Kind::Unknown)?;
    let ident = resource.ident;
    let (_, type_generics, _) = resource.generics.split_for_impl();
    let mut generics = resource.generics.clone();
    generics.params.push(parse_quote!(__Rest));
    let bound = parse_quote!(#inside: __rt::InputAt<__Rest>);
    generics.make_where_clause().predicates.push(bound);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    Some(quote! {
        #[automatically_derived]
        impl #impl_generics __rt::InputAt<__rt::FieldStep<#index, __Rest>>
            for #ident #type_generics
        #where_clause
        {
            const INPUT: __rt::InputSpec =
                <#inside as __rt::InputAt<__Rest>>::INPUT;
        }
    })
}

fn names(resource: &InputModel<'_>, role: FieldRole, setter: &TokenStream) -> Option<TokenStream> {
    let names: Vec<_> = resource.names(role).collect();
    (!names.is_empty()).then(|| quote!(.#setter(&[#(#names),*])))
}

/// Generates the assertion that `CreateInput` is derived as well if a field has a default. A default only applies to
/// new resources.
fn defaults(resource: &InputModel<'_>) -> Option<TokenStream> {
    let mut ident = resource.ident.clone();
    let span = resource.settable().find_map(|field| field.parameter.key("default"))?;
    // rustc reports that the resource has no `CreateInput` where the default is written.
    ident.set_span(span);
    Some(quote_spanned! {span=>
        const _: fn() = || {
            fn default_of_a_new_resource<T: __rt::CreateInput>() {}
            default_of_a_new_resource::<#ident>();
        };
    })
}

/// Returns the generics of the resource. Each field type that depends on them gets a bound for its rule.
fn bounded_generics(resource: &InputModel<'_>) -> Generics {
    let mut generics = resource.generics.clone();
    if generics.params.is_empty() {
        return generics;
    }
    let parameters: Vec<_> = generics.type_params().map(|it| it.ident.clone()).collect();
    let predicates = &mut generics.make_where_clause().predicates;
    predicates.push(parse_quote!(Self: __rt::schemars::JsonSchema));
    predicates
        .extend(parameters.iter().map(|it| -> syn::WherePredicate { parse_quote!(#it: 'static) }));
    for field in resource.settable().filter(|it| mentions(it.ty, resource.generics)) {
        let ty = field.ty;
        let rule = field.rule.tokens(ty.span());
        predicates.push(parse_quote!(#rule: __rt::rule::Rule<#ty>));
    }
    generics
}
