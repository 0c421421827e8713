//! Generates the table of an operation: `OperationSpec::new("name", Category, "Description.")` with its builder calls.

use mcp_aql_protocol::SemanticCategory;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::super::argument::Argument;
use super::super::attr::Wrap;
use super::super::lifecycle::Lifecycle;
use super::super::{OperationModel, example};
use super::form;
use crate::support::values::Deprecated;
use crate::support::variant_ident;

/// Generates the table.
pub(super) fn table(model: &OperationModel<'_>) -> TokenStream {
    let (name, description) = (name(model), description(model));
    let category = model.category.as_deref().copied().unwrap_or(SemanticCategory::Read);
    let category = variant_ident(category);
    let (mut states, mut claims) = (Vec::new(), Vec::new());
    let mut parameters = Vec::new();
    for argument in &model.arguments {
        let entry = quote!(__rt::ParameterEntry);
        match argument {
            Argument::State(ty) => states.push(quote!(__rt::StateSpec::of::<#ty>())),
            Argument::Claim(name, ty) => claims.push(quote!(__rt::ClaimSpec::of::<#ty>(#name))),
            Argument::Context | Argument::Execution(_) => {}
            Argument::Input(input) => {
                let ty = input.ty;
                parameters.push(quote!(#entry::Input(<#ty as __rt::UpdateInput>::INPUT)));
            }
            Argument::Query(query) => parameters.push(query.entry(&model.name)),
            Argument::Group(ty) | Argument::IfMatch(ty) => {
                parameters.push(quote!(#entry::Group(<#ty as __rt::ParamGroup>::PARAMETERS)));
            }
            Argument::One(parameter) => {
                let spec = parameter.spec();
                parameters.push(quote!(#entry::One(#spec)));
            }
        }
    }
    let parameters = (!parameters.is_empty()).then(|| quote!(.parameters(&[#(#parameters),*])));
    let states = (!states.is_empty()).then(|| quote!(.states(&[#(#states),*])));
    let claims = (!claims.is_empty()).then(|| quote!(.claims(&[#(#claims),*])));
    let returns = model.returns().map(|ty| {
        let form = form(ty);
        let method = quote_spanned!(ty.span()=> returns);
        quote!(.returns(#form.#method::<#ty>()))
    });
    let wrap = model.wrap.as_ref().map(|wrap| match &**wrap {
        Wrap::Named(key) => quote!(.data_key(__rt::DataKey::Named(#key))),
        Wrap::Bare => quote!(.data_key(__rt::DataKey::Bare)),
    });
    let endpoint = model.endpoint.as_ref().map(|it| &it.0).map(|it| quote!(.endpoint(#it)));
    let rationale = model.rationale.as_ref().map(|it| &it.0).map(|it| quote!(.rationale(#it)));
    let danger = model.danger.as_ref().map(|it| it.tokens(true));
    let lifecycle = model.lifecycle.as_ref().map(Lifecycle::tokens);
    let timeout = model.timeout_seconds.map(|it| quote!(.timeout_seconds(#it)));
    let scope = model.scope.as_ref().map(|it| &it.0).map(|it| quote!(.scope(#it)));
    let deprecated = model.deprecated.as_ref().map(Deprecated::tokens);
    let examples = example::tokens(&model.examples);
    quote! {
        __rt::OperationSpec::new(#name, __rt::SemanticCategory::#category, #description)
            #parameters #returns #wrap #states #claims #examples #endpoint #rationale
            #danger #lifecycle #timeout #scope #deprecated
    }
}

/// Generates the name: a string literal or the author's constant.
fn name(model: &OperationModel<'_>) -> TokenStream {
    let text = &model.name.text;
    model.name_constant.as_ref().map_or_else(|| quote!(#text), |constant| quote!(#constant))
}

/// Generates the description: a string literal or the author's constant.
fn description(model: &OperationModel<'_>) -> TokenStream {
    let doc = &model.doc;
    model.description.as_ref().map_or_else(|| quote!(#doc), |constant| quote!(#constant))
}
