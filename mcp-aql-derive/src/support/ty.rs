//! Derives the JSON form of a type from its tokens.
//!
//! The macros know types by their names only. A type that is not certainly from the standard library is `Unknown`, and
//! no rule applies to it.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{GenericArgument, Path, PathArguments, PathSegment, Type};

/// The JSON form of a type, derived from its name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Integer(Integer),
    Float,
    Bool,
    Text,
    List(Box<Kind>),
    Object,
    Unknown,
}

/// A Rust integer type and its range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Integer {
    pub(crate) name: &'static str,
    pub(crate) min: i128,
    pub(crate) max: i128,
}

const INTEGERS: [Integer; 12] = [
    Integer { name: "u8", min: 0, max: u8::MAX as i128 },
    Integer { name: "u16", min: 0, max: u16::MAX as i128 },
    Integer { name: "u32", min: 0, max: u32::MAX as i128 },
    Integer { name: "u64", min: 0, max: u64::MAX as i128 },
    Integer { name: "u128", min: 0, max: i128::MAX },
    Integer { name: "usize", min: 0, max: u64::MAX as i128 },
    Integer { name: "i8", min: i8::MIN as i128, max: i8::MAX as i128 },
    Integer { name: "i16", min: i16::MIN as i128, max: i16::MAX as i128 },
    Integer { name: "i32", min: i32::MIN as i128, max: i32::MAX as i128 },
    Integer { name: "i64", min: i64::MIN as i128, max: i64::MAX as i128 },
    Integer { name: "i128", min: i128::MIN, max: i128::MAX },
    Integer { name: "isize", min: i64::MIN as i128, max: i64::MAX as i128 },
];

impl Kind {
    /// Returns the noun for values of this kind. `Unknown` has none.
    pub(crate) fn noun(&self) -> Option<&'static str> {
        Some(match self {
            Self::Integer(_) => "a whole number",
            Self::Float => "a number",
            Self::Bool => "a boolean",
            Self::Text => "a string",
            Self::List(_) => "a list",
            Self::Object => "an object",
            Self::Unknown => return None,
        })
    }

    /// Returns a description of the values to write, for messages.
    pub(crate) fn form(&self) -> &'static str {
        match self {
            Self::Bool => "`true` or `false`",
            other => other.noun().unwrap_or("another value"),
        }
    }

    pub(crate) fn of(ty: &Type) -> Self {
        match peel(ty) {
            Type::Array(array) => Self::List(Box::new(Self::of(&array.elem))),
            Type::Path(path) if path.qself.is_none() => Self::of_path(&path.path),
            _ => Self::Unknown,
        }
    }

    fn of_path(path: &Path) -> Self {
        let Some(segment) = path.segments.last() else { return Self::Unknown };
        // A longer path is ambiguous unless it starts with a crate of the standard library.
        let standard = path.segments.len() == 1
            || path.segments.first().is_some_and(|first| {
                first.ident == "std" || first.ident == "core" || first.ident == "alloc"
            });
        if !standard {
            return Self::Unknown;
        }
        let name = segment.ident.to_string();
        let argument = |index| nth_type(segment, index).map_or(Self::Unknown, Self::of);
        if let Some(integer) = INTEGERS.into_iter().find(|integer| integer.name == name) {
            return Self::Integer(integer);
        }
        match name.as_str() {
            "f32" | "f64" => Self::Float,
            "bool" => Self::Bool,
            "String" | "str" | "char" => Self::Text,
            "Vec" | "VecDeque" | "HashSet" | "BTreeSet" if has_arguments(segment) => {
                Self::List(Box::new(argument(0)))
            }
            "HashMap" | "BTreeMap" if has_arguments(segment) => Self::Object,
            "Box" | "Arc" | "Rc" | "Cow" => argument(0),
            _ => Self::Unknown,
        }
    }
}

/// Formats a type as a developer would write it. Returns `None` for types that need more than joined tokens.
pub(crate) fn text(ty: &Type) -> Option<String> {
    match peel(ty) {
        ty @ Type::Path(_) => {
            let tokens = ty.to_token_stream().to_string();
            let plain = !tokens.contains(['\'', '&', '[', '(', '{'])
                && !tokens.split(' ').any(|word| ["dyn", "impl", "as", "for"].contains(&word));
            plain.then(|| tokens.replace(' ', "").replace(',', ", "))
        }
        _ => None,
    }
}

/// Returns the owned counterpart of a borrowed type, formatted as a developer would write it.
pub(crate) fn owned(ty: &Type) -> Option<String> {
    match peel(ty) {
        Type::Reference(reference) => owned(&reference.elem),
        Type::Slice(slice) => Some(format!("Vec<{}>", owned(&slice.elem)?)),
        Type::Path(path) if path.path.is_ident("str") => Some("String".to_owned()),
        other => text(other),
    }
}

/// Returns `true` if the type contains a reference or a lifetime other than `'static`.
pub(crate) fn borrows(ty: &Type) -> bool {
    fn any(tokens: TokenStream) -> bool {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Group(group) if any(group.stream()) => return true,
                TokenTree::Punct(punct) if punct.as_char() == '&' => return true,
                TokenTree::Punct(punct) if punct.as_char() == '\'' => {
                    let of = |token: &TokenTree| token.to_string() == "static";
                    if !tokens.peek().is_some_and(of) {
                        return true;
                    }
                }
                _ => {}
            }
        }
        false
    }
    any(ty.to_token_stream())
}

/// Returns the type inside parentheses and the invisible groups that `macro_rules!` adds.
pub(crate) fn peel(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => peel(&group.elem),
        Type::Paren(paren) => peel(&paren.elem),
        other => other,
    }
}

/// Returns the last segment of a path type: `State<T>` in `mcp_aql::State<T>`.
pub(crate) fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match peel(ty) {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last(),
        _ => None,
    }
}

/// Returns `T` of `Name<T>` if the last segment of the type is `name`.
pub(crate) fn inside<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    last_segment(ty).filter(|segment| segment.ident == name).and_then(|it| nth_type(it, 0))
}

fn has_arguments(segment: &PathSegment) -> bool {
    matches!(segment.arguments, PathArguments::AngleBracketed(_))
}

/// Returns the type argument with this index.
pub(crate) fn nth_type(segment: &PathSegment, index: usize) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    arguments
        .args
        .iter()
        .filter_map(|argument| match argument {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        })
        .nth(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn names_of_the_standard_library_are_known() {
        let list = |kind| Kind::List(Box::new(kind));
        let cases: [(Type, Kind); 9] = [
            (parse_quote!(String), Kind::Text),
            (parse_quote!(std::string::String), Kind::Text),
            (parse_quote!(other::String), Kind::Unknown),
            (parse_quote!(Vec<bool>), list(Kind::Bool)),
            (parse_quote!([f64; 3]), list(Kind::Float)),
            (parse_quote!(Box<str>), Kind::Text),
            (parse_quote!(BTreeMap<String, u8>), Kind::Object),
            (parse_quote!(Task), Kind::Unknown),
            (parse_quote!((u8, u8)), Kind::Unknown),
        ];
        for (ty, kind) in cases {
            assert_eq!(Kind::of(&ty), kind);
        }
    }

    #[test]
    fn types_are_formatted_as_written_by_developers() {
        let cases: [(Type, Option<&str>); 6] = [
            (parse_quote!(&'a str), Some("String")),
            (parse_quote!(&[&str]), Some("Vec<String>")),
            (parse_quote!(&[HashMap<String, u8>]), Some("Vec<HashMap<String, u8>>")),
            (parse_quote!(&std::path::Path), Some("std::path::Path")),
            (parse_quote!(Cow<'a, str>), None),
            (parse_quote!(&[Box<dyn Debug>]), None),
        ];
        for (ty, expected) in cases {
            assert_eq!(owned(&ty).as_deref(), expected);
        }
    }

    #[test]
    fn wrappers_are_known_by_their_last_segment() {
        let ty: Type = parse_quote!(std::option::Option<u8>);
        assert_eq!(inside(&ty, "Option"), Some(&parse_quote!(u8)));
        assert_eq!(inside(&ty, "State"), None);
    }
}
