//! The attribute `#[argument(…)]`, for arguments whose type has another name, such as an alias of `State<Pool>`.
//!
//! ```text
//! #[argument(State<Pool>)] db: Db
//! ```

use darling::error::Accumulator;
use syn::spanned::Spanned as _;
use syn::{Attribute, FnArg, Path, Signature, Type, parse_quote};

use crate::support::options::is_called;
use crate::support::ty::last_segment;
use crate::support::{fault, names};

/// The names of the types with a role of their own: they are no single parameter.
const KNOWN: [&str; 9] = [
    "State",
    "Context",
    "ExecutionContext",
    "Create",
    "Update",
    "IfMatch",
    "CollectionQuery",
    "Fields",
    "RelationshipQuery",
];

/// Replaces the type of each argument with `#[argument(State<Pool>)]` or the like by the type in the attribute.
pub(in crate::operation) fn resolve(signature: &mut Signature, errors: &mut Accumulator) {
    for argument in &mut signature.inputs {
        let FnArg::Typed(argument) = argument else { continue };
        let mut attributes = argument.attrs.iter().filter(|it| is_called(it, "argument"));
        let Some(attribute) = attributes.next() else { continue };
        if let Some(second) = attributes.next() {
            errors.push(fault(second.path().span(), "an argument has one role: leave this out"));
        }
        match attribute.parse_args::<Type>() {
            Ok(ty) if is_word(&ty, "parameter") => {}
            Ok(ty)
                if last_segment(&ty)
                    .is_some_and(|it| KNOWN.iter().any(|name| it.ident == name)) =>
            {
                *argument.ty = ty;
            }
            _ => {
                errors.push(fault(
                    attribute.path().span(),
                    format_args!(
                        "`#[argument(…)]` takes `parameter`, or the type that an alias stands for, such as \
                         `State<Pool>`: write {}",
                        names::one_of(["parameter"].into_iter().chain(KNOWN))
                    ),
                ));
                // As a parameter without a description, the argument would cause a second error.
                *argument.ty = parse_quote!(Context);
            }
        }
    }
}

/// Returns `true` if `#[argument(parameter)]` makes the argument a parameter, regardless of the name of its type.
pub(super) fn is_parameter(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| is_called(attribute, "argument")).any(|attribute| {
        attribute.parse_args::<Path>().is_ok_and(|path| path.is_ident("parameter"))
    })
}

fn is_word(ty: &Type, word: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident(word))
}
