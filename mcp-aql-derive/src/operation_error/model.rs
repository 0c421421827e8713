//! The model of an error type: each variant with its options.

use darling::error::Accumulator;
use syn::spanned::Spanned as _;
use syn::{Data, DeriveInput, Fields, Generics, Ident, Member, Path};

use super::attr::{Code, Detail, ErrorAttr};
use crate::support::fault;

/// An error type. A struct is modeled as an enum with a single variant.
pub(crate) struct ErrorModel<'a> {
    pub(crate) runtime: Option<Path>,
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) variants: Vec<Variant<'a>>,
}

/// A variant and its mapping.
pub(crate) struct Variant<'a> {
    /// The name of the variant. `None` for a struct.
    pub(crate) ident: Option<&'a Ident>,
    pub(crate) fields: &'a Fields,
    pub(crate) attr: ErrorAttr,
    pub(crate) details: Vec<(Ident, Detail)>,
}

impl<'a> ErrorModel<'a> {
    pub(crate) fn read(item: &'a DeriveInput, errors: &mut Accumulator) -> Self {
        let mut attr = ErrorAttr::read(&item.attrs, errors);
        let runtime = attr.runtime.take();
        let mut variants = Vec::new();
        match &item.data {
            Data::Struct(data) => variants.push(Variant::new(None, &data.fields, attr)),
            Data::Enum(data) => {
                for key in attr.keys.iter().filter(|key| *key != "crate") {
                    errors.push(fault(
                        key.span(),
                        format_args!("`{key}` belongs on a variant: write it above one"),
                    ));
                }
                for variant in &data.variants {
                    let attr = ErrorAttr::read(&variant.attrs, errors);
                    if let Some(key) = attr.keys.iter().find(|key| *key == "crate") {
                        errors.push(fault(
                            key.span(),
                            "`crate` belongs on the enum: write `#[operation_error(crate = …)]` above it",
                        ));
                    }
                    variants.push(Variant::new(Some(&variant.ident), &variant.fields, attr));
                }
            }
            Data::Union(data) => errors
                .push(fault(data.union_token.span(), "a union cannot be an error: write an enum")),
        }
        Self { runtime, ident: &item.ident, generics: &item.generics, variants }
    }
}

impl<'a> Variant<'a> {
    fn new(ident: Option<&'a Ident>, fields: &'a Fields, mut attr: ErrorAttr) -> Self {
        let tuple = matches!(fields, Fields::Unnamed(_));
        let details = attr.details.take().map_or_else(Vec::new, |details| {
            let details = details.into_inner().0;
            details.into_iter().map(|(key, value)| (key, value.resolve(tuple))).collect()
        });
        Self { ident, fields, attr, details }
    }

    /// Returns the code of the variant, if it has one.
    pub(crate) fn code(&self) -> Option<Code> {
        self.attr.code.as_deref().copied()
    }

    /// Returns `true` if the field exists.
    pub(crate) fn has(&self, member: &Member) -> bool {
        self.fields.members().any(|known| known == *member)
    }

    /// Returns the detail with this key.
    pub(crate) fn detail(&self, name: &str) -> Option<&Detail> {
        self.details.iter().find(|(key, _)| key == name).map(|(_, detail)| detail)
    }
}
