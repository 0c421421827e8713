//! Removes the attributes that only the macros understand, so that the author's item can be emitted as written.

use proc_macro2::Span;
use syn::{Attribute, Block, FnArg, ImplItem, ItemFn, ItemImpl, Signature, parse_quote};

use super::query;
use crate::support::options::is_called;
use crate::support::runtime::needs_query;
use crate::support::ty;

/// Returns the function without the helper attributes of its arguments.
pub(crate) fn function(function: &ItemFn) -> ItemFn {
    let mut function = function.clone();
    function.attrs.retain(|attribute| !is_operation(attribute) && !is_of_an_argument(attribute));
    allow_many_arguments(&mut function.attrs, &function.sig);
    arguments(&mut function.sig);
    inert_without_query(&mut function.attrs, &mut function.sig, &mut function.block);
    function
}

/// Returns the block without `#[operation]` on its methods, and without the helper attributes of their arguments.
pub(crate) fn block(block: &ItemImpl) -> ItemImpl {
    let mut block = block.clone();
    for item in &mut block.items {
        if let ImplItem::Fn(method) = item
            && method.attrs.iter().any(is_operation)
        {
            method.attrs.retain(|it| !is_operation(it) && !is_of_an_argument(it));
            allow_many_arguments(&mut method.attrs, &method.sig);
            arguments(&mut method.sig);
            inert_without_query(&mut method.attrs, &mut method.sig, &mut method.block);
        }
    }
    block
}

/// Replaces the body of a function with a query argument if the feature `query` is off. The body could only add errors
/// to the one that names the missing feature.
fn inert_without_query(
    attributes: &mut Vec<Attribute>,
    signature: &mut Signature,
    body: &mut Block,
) {
    for argument in &mut signature.inputs {
        if let FnArg::Typed(argument) = argument
            && query::is_one(ty::peel(&argument.ty))
            && needs_query("", Span::call_site()).is_some()
        {
            argument.ty = parse_quote!(());
            *body = parse_quote!({ ::core::unreachable!() });
            attributes.push(parse_quote!(#[allow(unused_variables, unused_mut)]));
        }
    }
}

/// Allows `clippy::too_many_arguments`. The lint is about calls by position, but callers of an operation name each
/// parameter.
fn allow_many_arguments(attributes: &mut Vec<Attribute>, signature: &Signature) {
    const BOUND: usize = 7;
    if signature.inputs.len() > BOUND {
        attributes.push(parse_quote!(#[allow(clippy::too_many_arguments)]));
    }
}

/// Returns `true` if the attribute marks a method as an operation.
pub(crate) fn is_operation(attribute: &Attribute) -> bool {
    is_called(attribute, "operation")
}

/// Returns `true` if the attribute belongs on an argument.
pub(crate) fn is_of_an_argument(attribute: &Attribute) -> bool {
    ["param", "query", "argument"].iter().any(|name| is_called(attribute, name))
}

/// Removes helper attributes and doc comments from arguments, because rustc rejects them there.
fn arguments(signature: &mut Signature) {
    for argument in &mut signature.inputs {
        if let FnArg::Typed(argument) = argument {
            argument.attrs.retain(|attribute| {
                !is_of_an_argument(attribute) && !attribute.path().is_ident("doc")
            });
        }
    }
}
