//! Generates assertions about names that only the expansion of another macro knows: the fields of groups and of
//! `input`.
//!
//! rustc evaluates the assertions as constants and reports their message at the span of the token.

use darling::util::SpannedValue;
use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::Type;

use super::super::OperationModel;
use crate::parameter::Parameter;
use crate::support::json::Value;
use crate::support::slots;
use crate::support::values::Text;

/// Returns the assertions of one operation.
pub(in crate::operation) fn of(operation: &OperationModel<'_>) -> Vec<TokenStream> {
    let mut assertions = identifiers(operation);
    if operation.has_groups() {
        assertions.extend(members_of_examples(operation));
        assertions.extend(groups_in_examples(operation));
        assertions.extend(slots_of_the_message(operation));
    }
    assertions.extend(fields_in_examples(operation));
    if let Some(input) = operation.inputs().next()
        && let Some(message) = operation.danger.as_ref().and_then(|danger| danger.message.as_ref())
    {
        assertions.extend(input_slots(message, input.ty));
    }
    assertions
}

/// Asserts that `input` cannot change an identifier of the operation (MCP-AQL §4.5.3).
fn identifiers(operation: &OperationModel<'_>) -> Vec<TokenStream> {
    let Some(input) = operation.inputs().next() else { return Vec::new() };
    let ty = input.ty;
    let check = |parameter: &Parameter<'_>| {
        let name = &parameter.name.text;
        let message = format!(
            "parameter `{name}` is also a field that `input` can change: mark the field with `#[resource(id)]` (MCP-AQL §4.5.3)"
        );
        // The type keeps its own span. If it does not implement the trait, this error is then identical to the error of
        // the table, and rustc reports equal errors once.
        let input = quote!(<#ty as __rt::UpdateInput>::INPUT);
        let span = parameter.name.span.resolved_at(Span::call_site());
        let function = respan(quote!(__rt::check_identifier), span);
        quote_spanned!(span=> #function(#name, &#input, #message))
    };
    operation.parameters().map(check).collect()
}

/// Asserts that each member of an example is a parameter of the operation or of one of its groups.
fn members_of_examples(operation: &OperationModel<'_>) -> Vec<TokenStream> {
    let known = operation.known_parameters();
    let members = operation.examples.iter().flat_map(|example| example.json.members());
    let unknown = members.filter(|(key, _)| !known.contains(&&*key.value()));
    let check = |(key, _): &(syn::LitStr, _)| {
        let name = key.value();
        let message = format!(
            "the example has `{name}`, which is not a parameter of the operation or of its groups: write the name of one"
        );
        respan(known_in_groups(&name, &message, operation), key.span())
    };
    unknown.map(check).collect()
}

/// Asserts that an example has every required parameter of each group.
fn groups_in_examples(operation: &OperationModel<'_>) -> Vec<TokenStream> {
    let mut checks = Vec::new();
    for example in &operation.examples {
        let names: Vec<_> = example.json.members().iter().map(|(key, _)| key.value()).collect();
        for group in operation.groups() {
            let message = format!(
                "the example lacks a required parameter of the group `{}`: write it, `\"…\": …`",
                crate::support::ty::text(group)
                    .unwrap_or_else(|| group.to_token_stream().to_string())
            );
            let check = quote! {
                __rt::check_given(
                    <#group as __rt::ParamGroup>::PARAMETERS,
                    &[#(#names),*],
                    #message,
                )
            };
            checks.push(respan(check, example.json.span));
        }
    }
    checks
}

/// Asserts that each slot of the confirmation message, such as `{title}`, is a parameter of the operation or of one of
/// its groups.
fn slots_of_the_message(operation: &OperationModel<'_>) -> Vec<TokenStream> {
    let Some(message) = operation.danger.as_ref().and_then(|danger| danger.message.as_ref()) else {
        return Vec::new();
    };
    let known = operation.known_parameters();
    let slots = slots::names(&message.0).unwrap_or_default();
    let slots = slots.into_iter().map(slots::parameter);
    let unknown = slots.filter(|slot| !known.contains(slot));
    let check = |slot: &str| {
        let text = format!(
            "`{{{slot}}}` is not a parameter of the operation or of its groups: write the name of one"
        );
        respan(known_in_groups(slot, &text, operation), message.span())
    };
    unknown.map(check).collect()
}

/// Asserts that each slot inside of `input`, such as `{input.address.city}`, is a field without secrets. `ty` is the
/// type that the update changes.
pub(crate) fn input_slots(message: &SpannedValue<Text>, ty: &Type) -> Vec<TokenStream> {
    let slots = slots::names(&message.0).unwrap_or_default();
    let inside = slots.into_iter().filter(|slot| slot.starts_with("input."));
    inside.map(|path| input_slot(path, message.span(), ty)).collect()
}

/// Generates the constants that find the index of each field of a path.
///
/// The indexes of the outer fields lead to the table of the inner ones, so each constant depends on those before it.
fn input_slot(path: &str, span: Span, ty: &Type) -> TokenStream {
    let mut object = "input".to_owned();
    let mut indexes: Vec<Ident> = Vec::new();
    let mut constants = Vec::new();
    let mut fields = path.split('.').skip(1).peekable();
    while let Some(field) = fields.next() {
        let goes_on = fields.peek().is_some();
        let steps = indexes
            .iter()
            .rev()
            .fold(quote!(()), |rest, index| quote!(__rt::FieldStep<#index, #rest>));
        // As in `identifiers`, the type keeps its own span.
        let input = match indexes.is_empty() {
            true => quote!(<#ty as __rt::UpdateInput>::INPUT),
            false => quote!(<#ty as __rt::InputAt<#steps>>::INPUT),
        };
        let slot = quote! {
            __rt::InputSlot { path: #path, object: #object, field: #field, goes_on: #goes_on }
        };
        let function = respan(quote!(__rt::shown_field), span);
        let span = span.resolved_at(Span::call_site());
        let find = quote_spanned!(span=> #function(#slot, &#input));
        if !goes_on && indexes.is_empty() {
            // Unlike a constant, an expression may name the type parameters of a block.
            return quote!({ let _ = #find; });
        }
        let index = format_ident!("__FIELD_{}", indexes.len(), span = span);
        constants.push(quote_spanned!(span=> const #index: usize = #find;));
        indexes.push(index);
        object = format!("{object}.{field}");
    }
    quote!({ #(#constants)* })
}

/// Asserts that each member of an example's `input` is an updatable field.
fn fields_in_examples(operation: &OperationModel<'_>) -> Vec<TokenStream> {
    let Some(input) = operation.inputs().next() else { return Vec::new() };
    let ty = input.ty;
    let mut checks = Vec::new();
    for (key, value) in operation.examples.iter().flat_map(|example| example.json.members()) {
        let Value::Object(fields) = &value.value else { continue };
        if key.value() != "input" {
            continue;
        }
        for (field, _) in fields {
            let name = field.value();
            let message = format!(
                "the example changes `{name}`, which is not a field that `input` can change: write the name of one"
            );
            // As in `identifiers`, the type keeps its own span.
            let input = quote!(<#ty as __rt::UpdateInput>::INPUT);
            let span = field.span().resolved_at(Span::call_site());
            let function = respan(quote!(__rt::check_field), span);
            checks.push(quote_spanned!(span=> #function(#name, &#input, #message)));
        }
    }
    checks
}

fn known_in_groups(name: &str, message: &str, operation: &OperationModel<'_>) -> TokenStream {
    let groups = operation.groups();
    quote! {
        __rt::check_known(
            #name,
            &[#(<#groups as __rt::ParamGroup>::PARAMETERS),*],
            #message,
        )
    }
}

/// Moves the tokens to `span`, so that rustc reports errors about them there.
fn respan(tokens: TokenStream, span: Span) -> TokenStream {
    at(tokens, span.resolved_at(Span::call_site()))
}

fn at(tokens: TokenStream, span: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Group(group) => {
                let inner = at(group.stream(), span);
                let mut group = Group::new(group.delimiter(), inner);
                group.set_span(span);
                group.into()
            }
            mut token => {
                token.set_span(span);
                token
            }
        })
        .collect()
}
