//! The item as it was written, without what only the macros understand.

use syn::{Attribute, FnArg, ImplItem, ItemFn, ItemImpl, Signature, parse_quote};

use crate::support::options::is_called;

/// The function without the helper attributes of its arguments.
pub(crate) fn function(function: &ItemFn) -> ItemFn {
    let mut function = function.clone();
    allow_many_arguments(&mut function.attrs, &function.sig);
    arguments(&mut function.sig);
    function
}

/// The block without `#[operation]` on its methods and without the helper attributes of arguments.
pub(crate) fn block(block: &ItemImpl) -> ItemImpl {
    let mut block = block.clone();
    for item in &mut block.items {
        if let ImplItem::Fn(method) = item
            && method.attrs.iter().any(is_operation)
        {
            method.attrs.retain(|attribute| !is_operation(attribute));
            allow_many_arguments(&mut method.attrs, &method.sig);
            arguments(&mut method.sig);
        }
    }
    block
}

/// An argument is a parameter of the operation, and callers name each of them: clippy's bound is for
/// calls by position.
fn allow_many_arguments(attributes: &mut Vec<Attribute>, signature: &Signature) {
    const BOUND: usize = 7;
    if signature.inputs.len() > BOUND {
        attributes.push(parse_quote!(#[allow(clippy::too_many_arguments)]));
    }
}

/// Whether this attribute makes an operation of a method.
pub(crate) fn is_operation(attribute: &Attribute) -> bool {
    is_called(attribute, "operation")
}

/// rustc takes neither unknown attributes nor doc comments on arguments.
fn arguments(signature: &mut Signature) {
    for argument in &mut signature.inputs {
        if let FnArg::Typed(argument) = argument {
            argument.attrs.retain(|attribute| {
                !is_called(attribute, "param")
                    && !is_called(attribute, "query")
                    && !attribute.path().is_ident("doc")
            });
        }
    }
}
