//! Generates the tables of an updatable resource. The runtime interprets them, so the expansion contains no merge
//! logic.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{DeriveInput, Generics, parse_quote};

use crate::input::{FieldRole, InputField, InputModel, mentions};
use crate::support::runtime_path::RuntimePath;
use crate::support::ty;

/// Generates the implementation for a resource without errors.
pub(super) fn update_input(resource: &InputModel<'_>, runtime: &RuntimePath) -> TokenStream {
    let ident = resource.ident;
    let fields = resource.settable().map(|it| field(it, runtime));
    let count = resource.settable().count();
    let identifiers = names(resource, FieldRole::Identifier, &quote!(identifiers));
    let read_only = names(resource, FieldRole::ReadOnly, &quote!(read_only));
    let defaults = defaults(resource, runtime);
    let inside = resource.settable().enumerate();
    let inside = inside.filter_map(|(index, it)| table_inside(index, it, resource, runtime));
    let generics = bounded_generics(resource, runtime);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let (_, type_generics, _) = resource.generics.split_for_impl();
    quote! {
        const _: () = {
            #[allow(unused_imports)]
            use #runtime::update::rule::Fallback as _;
            #[automatically_derived]
            impl #impl_generics #runtime::update::UpdateInput for #ident #type_generics
            #where_clause
            {
                const FIELDS: &'static [#runtime::update::UpdateField<Self>] = &[#(#fields),*];
                const INPUT: #runtime::update::InputSpec =
                    #runtime::update::InputSpec::of::<Self>(&#runtime::update::field_specs::<Self, #count>())
                        #identifiers #read_only;
            }
            #(#inside)*
            #defaults
        };
    }
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
        let private = quote!(#runtime::__private);
        quote! {
            impl<const FIELD: usize, __Rest> #private::InputAt<#private::FieldStep<FIELD, __Rest>>
                for #ident
            {
                const INPUT: #runtime::update::InputSpec =
                    <Self as #runtime::update::UpdateInput>::INPUT;
            }
        }
    });
    quote! {
        #[automatically_derived]
        impl #impl_generics #runtime::update::UpdateInput for #ident #type_generics
        where
            Self: #runtime::__private::schemars::JsonSchema + 'static,
            #predicates
        {
            const FIELDS: &'static [#runtime::update::UpdateField<Self>] = &[];
            const INPUT: #runtime::update::InputSpec = #runtime::update::InputSpec::of::<Self>(&[]);
        }
        #inside
    }
}

fn field(field: &InputField<'_>, runtime: &RuntimePath) -> TokenStream {
    let (ident, ty, parameter) = (field.ident, field.ty, &field.parameter);
    let name = &parameter.name.text;
    let description = &parameter.doc;
    let marks = parameter.marks(runtime);
    let whole = field.marks.replace.map(|_| quote!(.allow_replace()));
    // rustc reports errors about a field's type where the type is written.
    let span = ty.span();
    let runtime = runtime.at(span);
    let rule = field.rule.tokens(&quote_spanned!(span=> #runtime::update::rule), span);
    quote_spanned! {span=>
        #runtime::update::UpdateField::new(
            &#runtime::update::FieldAccessor::<_, #ty, #rule>::new(|__resource: &mut Self| {
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
    runtime: &RuntimePath,
) -> Option<TokenStream> {
    let inside = field.rule.single_type().filter(|ty| ty::Kind::of(ty) == ty::Kind::Unknown)?;
    let ident = resource.ident;
    let (_, type_generics, _) = resource.generics.split_for_impl();
    let mut generics = resource.generics.clone();
    generics.params.push(parse_quote!(__Rest));
    let private = quote!(#runtime::__private);
    let bound = parse_quote!(#inside: #private::InputAt<__Rest>);
    generics.make_where_clause().predicates.push(bound);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    Some(quote! {
        #[automatically_derived]
        impl #impl_generics #private::InputAt<#private::FieldStep<#index, __Rest>>
            for #ident #type_generics
        #where_clause
        {
            const INPUT: #runtime::update::InputSpec =
                <#inside as #private::InputAt<__Rest>>::INPUT;
        }
    })
}

fn names(resource: &InputModel<'_>, role: FieldRole, setter: &TokenStream) -> Option<TokenStream> {
    let names: Vec<_> = resource.names(role).collect();
    (!names.is_empty()).then(|| quote!(.#setter(&[#(#names),*])))
}

/// Generates the assertion that `CreateInput` is derived as well if a field has a default. A default only applies to
/// new resources.
fn defaults(resource: &InputModel<'_>, runtime: &RuntimePath) -> Option<TokenStream> {
    let mut ident = resource.ident.clone();
    let span = resource.settable().find_map(|field| field.parameter.key("default"))?;
    // rustc reports that the resource has no `CreateInput` where the default is written.
    ident.set_span(span);
    Some(quote_spanned! {span=>
        const _: fn() = || {
            fn default_of_a_new_resource<T: #runtime::resource::CreateInput>() {}
            default_of_a_new_resource::<#ident>();
        };
    })
}

/// Returns the generics of the resource. Each field type that depends on them gets a bound for its rule.
fn bounded_generics(resource: &InputModel<'_>, runtime: &RuntimePath) -> Generics {
    let mut generics = resource.generics.clone();
    if generics.params.is_empty() {
        return generics;
    }
    let parameters: Vec<_> = generics.type_params().map(|it| it.ident.clone()).collect();
    let predicates = &mut generics.make_where_clause().predicates;
    predicates.push(parse_quote!(Self: #runtime::__private::schemars::JsonSchema));
    predicates
        .extend(parameters.iter().map(|it| -> syn::WherePredicate { parse_quote!(#it: 'static) }));
    for field in resource.settable().filter(|it| mentions(it.ty, resource.generics)) {
        let ty = field.ty;
        let rule = field.rule.tokens(&quote!(#runtime::update::rule), ty.span());
        predicates.push(parse_quote!(#rule: #runtime::update::rule::Rule<#ty>));
    }
    generics
}
