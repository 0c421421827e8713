//! The model of a computed field: its method, name, description and column.

use darling::error::Accumulator;
use syn::ext::IdentExt as _;
use syn::{Attribute, ImplItem, ImplItemFn, ItemImpl};

use super::attr::ComputedAttr;
use crate::resource::columns::{ColumnModel, returned};
use crate::support::Name;
use crate::support::doc::Doc;
use crate::support::options::is_called;
use crate::support::ty;

/// A method with `#[computed]`.
pub(super) struct ComputedModel<'a> {
    pub(super) method: &'a ImplItemFn,
    pub(super) name: Name,
    pub(super) doc: Doc,
    /// The column. `None` if the method returns nothing, reported as an error.
    pub(super) column: Option<ColumnModel<'a>>,
}

impl<'a> ComputedModel<'a> {
    /// Builds the models of the computed fields in an impl block.
    pub(super) fn all(block: &'a ItemImpl, errors: &mut Accumulator) -> Vec<Self> {
        let methods = block.items.iter().filter_map(|item| match item {
            ImplItem::Fn(method) if method.attrs.iter().any(is_computed) => Some(method),
            _ => None,
        });
        methods.map(|method| Self::read(method, errors)).collect()
    }

    fn read(method: &'a ImplItemFn, errors: &mut Accumulator) -> Self {
        let ident = &method.sig.ident;
        let attr = ComputedAttr::of(&method.attrs, errors);
        let name = match attr.name {
            Some(name) => Name { span: name.span(), text: name.into_inner().0, set: true },
            None => Name { text: ident.unraw().to_string(), span: ident.span(), set: false },
        };
        let doc = Doc::of(&method.attrs);
        let column = returned(&method.sig.output).map(|ty| ColumnModel {
            name: name.clone(),
            description: doc.clone(),
            ty: ty::peel(ty),
            marks: attr.marks,
        });
        Self { method, name, doc, column }
    }
}

/// Returns `true` if the attribute marks a method as a computed field.
pub(super) fn is_computed(attribute: &Attribute) -> bool {
    is_called(attribute, "computed")
}
