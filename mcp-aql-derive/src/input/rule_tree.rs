//! Derives the merge rule of a field from its written type.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::{Generics, Type};

use crate::support::runtime::alias_at;
use crate::support::ty;

/// The part of a field's merge rule that its written type determines.
#[derive(Debug)]
pub(crate) enum RuleTree<'a> {
    /// A type whose rule the runtime determines, by the traits that the type implements.
    Leaf(&'a Type),
    /// A type whose values are always replaced as a whole.
    Whole,
    Opt(Box<RuleTree<'a>>),
    Boxed(Box<RuleTree<'a>>),
    Keys(Box<RuleTree<'a>>),
}

impl<'a> RuleTree<'a> {
    /// Returns the rule of `ty`. A type that depends on the resource's generics is replaced as a whole, because the
    /// macro cannot determine its rule.
    ///
    /// ```text
    /// Option<Box<Address>>   → Opt(Boxed(Leaf(Address)))
    /// BTreeMap<String, u32>  → Keys(Leaf(u32))
    /// ```
    pub(crate) fn of(ty: &'a Type, generics: &Generics, replace: bool) -> Self {
        let inner = |ty| Box::new(Self::of(ty, generics, replace));
        if let Some(ty) = ty::inside(ty, "Option") {
            Self::Opt(inner(ty))
        } else if let Some(ty) = ty::inside(ty, "Box") {
            Self::Boxed(inner(ty))
        } else if let Some(ty) = values_of_map(ty).filter(|_| !replace) {
            Self::Keys(inner(ty))
        } else if replace || mentions(ty, generics) {
            Self::Whole
        } else {
            Self::Leaf(ty)
        }
    }

    /// Returns the type inside `Option` and `Box` if the runtime determines its rule.
    pub(crate) fn single_type(&self) -> Option<&'a Type> {
        match self {
            Self::Leaf(ty) => Some(ty),
            Self::Opt(inner) | Self::Boxed(inner) => inner.single_type(),
            Self::Whole | Self::Keys(_) => None,
        }
    }

    /// Generates the rule as a type. All tokens have the span `span`.
    pub(crate) fn tokens(&self, span: Span) -> TokenStream {
        let rt = alias_at(span);
        let rule = quote_spanned!(span=> #rt::rule);
        match self {
            Self::Leaf(ty) => quote_spanned!(span=> #rule::Leaf<{ #rule::Probe::<#ty>::RULE }>),
            Self::Whole => quote_spanned!(span=> #rule::Replace),
            Self::Opt(inner) => {
                let inner = inner.tokens(span);
                quote_spanned!(span=> #rule::Opt<#inner>)
            }
            Self::Boxed(inner) => {
                let inner = inner.tokens(span);
                quote_spanned!(span=> #rule::Boxed<#inner>)
            }
            Self::Keys(inner) => {
                let inner = inner.tokens(span);
                quote_spanned!(span=> #rule::Keys<#inner>)
            }
        }
    }
}

/// Returns `V` of a map from keys to `V`.
fn values_of_map(ty: &Type) -> Option<&Type> {
    let map = ty::last_segment(ty)?;
    let known = map.ident == "BTreeMap" || map.ident == "HashMap";
    ty::nth_type(map, 1).filter(|_| known)
}

/// Returns `true` if a type names one of the generics.
pub(crate) fn mentions(ty: &Type, generics: &Generics) -> bool {
    fn any(tokens: TokenStream, found: &dyn Fn(&proc_macro2::Ident) -> bool) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => found(&ident),
            TokenTree::Group(group) => any(group.stream(), found),
            _ => false,
        })
    }
    let names: Vec<_> = generics
        .type_params()
        .map(|it| &it.ident)
        .chain(generics.const_params().map(|it| &it.ident))
        .collect();
    !names.is_empty() && any(ty.to_token_stream(), &|ident| names.contains(&ident))
}
