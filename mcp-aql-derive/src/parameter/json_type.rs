//! Rejects parameter types whose values JSON cannot carry exactly, for example `u128`.
//!
//! Macros see only the name of a type, so an alias or a type of the author is accepted here.

use darling::error::Accumulator;
use syn::spanned::Spanned as _;
use syn::{GenericArgument, PathArguments, Type};

use super::model::Parameter;
use crate::support::fault;
use crate::support::ty::{self, Kind};

/// Checks every rule of this module.
pub(super) fn check(parameter: &Parameter<'_>, errors: &mut Accumulator) {
    null_has_one_meaning(parameter, errors);
    bytes_are_text(parameter, errors);
    numbers_are_exact(parameter.ty, errors);
}

/// Rejects an `Option` inside an `Option`: JSON cannot distinguish the outer `None` from the inner one.
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

/// Rejects lists of `u8`. Callers would have to send bytes as a list of numbers.
fn bytes_are_text(parameter: &Parameter<'_>, errors: &mut Accumulator) {
    let Some(item) = ty::inside(parameter.ty, "Vec") else { return };
    if matches!(Kind::of(item), Kind::Integer(integer) if integer.name == "u8") {
        errors.push(fault(
            item.span(),
            "a `Vec<u8>` is a list of numbers in JSON: write `mcp_aql::encoding::Base64` for bytes, or another type of numbers, such as `Vec<u16>`",
        ));
    }
}

/// Rejects integers of 128 bits, including those in lists, maps and tuples. JSON parsers round such numbers.
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
                        "a JSON number loses digits of `{name}`: write `mcp_aql::encoding::BigInteger<{name}>`, which is a string"
                    ),
                ));
            }
            Kind::List(_) | Kind::Object => {
                let Some(segment) = ty::last_segment(ty) else { return };
                let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return };
                // The keys of a map are strings in JSON, so their type does not matter.
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
