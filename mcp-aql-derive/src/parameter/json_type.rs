//! Checks that JSON can carry every value of a parameter's type, as far as the type's name tells.

use darling::error::Accumulator;
use syn::spanned::Spanned as _;
use syn::{GenericArgument, PathArguments, Type};

use super::model::Parameter;
use crate::support::fault;
use crate::support::ty::{self, Kind};

/// Requires a type whose values JSON can carry.
pub(super) fn check(parameter: &Parameter<'_>, errors: &mut Accumulator) {
    null_has_one_meaning(parameter, errors);
    bytes_are_text(parameter, errors);
    numbers_are_exact(parameter.ty, errors);
}

/// Rejects an `Option` inside an `Option`: `null` and an omitted parameter are the same.
fn null_has_one_meaning(parameter: &Parameter<'_>, errors: &mut Accumulator) {
    let Some(inner) = ty::inside(parameter.ty, "Option").filter(|_| parameter.optional) else {
        return;
    };
    let Some(segment) = ty::last_segment(parameter.ty) else { return };
    let plain = ty::text(inner).unwrap_or_else(|| "…".to_owned());
    errors.push(fault(
        segment.ident.span(),
        format_args!(
            "`null` counts as omitted, so `Some(None)` never arrives: write `Option<{plain}>`, and another parameter if a caller has to say `none`"
        ),
    ));
}

/// Rejects lists of `u8`, which callers would have to send as numbers.
fn bytes_are_text(parameter: &Parameter<'_>, errors: &mut Accumulator) {
    let Some(item) = ty::inside(parameter.ty, "Vec") else { return };
    if matches!(Kind::of(item), Kind::Integer(integer) if integer.name == "u8") {
        errors.push(fault(
            item.span(),
            "a `Vec<u8>` is a list of numbers in JSON: write `mcp_aql::encoding::Base64` for bytes, or another type of numbers, such as `Vec<u16>`",
        ));
    }
}

/// Rejects integers of 128 bits, also in lists, maps and tuples.
pub(crate) fn numbers_are_exact(ty: &Type, errors: &mut Accumulator) {
    match ty::peel(ty::inside(ty, "Option").unwrap_or(ty)) {
        Type::Array(array) => numbers_are_exact(&array.elem, errors),
        Type::Tuple(tuple) => tuple.elems.iter().for_each(|ty| numbers_are_exact(ty, errors)),
        ty => match Kind::of(ty) {
            Kind::Integer(integer) if integer.name.ends_with("128") => {
                let name = integer.name;
                errors.push(fault(
                    ty.span(),
                    format_args!(
                        "a number of JSON loses digits of `{name}`: write `mcp_aql::encoding::BigInteger<{name}>`, which is text"
                    ),
                ));
            }
            Kind::List(_) | Kind::Object => {
                let Some(segment) = ty::last_segment(ty) else { return };
                let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return };
                // The keys of a map are text.
                let keys = usize::from(Kind::of(ty) == Kind::Object);
                for argument in arguments.args.iter().skip(keys) {
                    if let GenericArgument::Type(ty) = argument {
                        numbers_are_exact(ty, errors);
                    }
                }
            }
            _ => {}
        },
    }
}
