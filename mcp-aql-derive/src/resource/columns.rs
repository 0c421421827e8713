//! A column of a row, stored or computed: the rules of its marks, the assertions about its type, and its table entry.

use darling::error::Accumulator;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Attribute, ReturnType, Type};

use super::attr::Marks;
use crate::support::doc::Doc;
use crate::support::runtime::alias_at;
use crate::support::ty::{self, Kind};
use crate::support::{Name, fault};

/// A stored or computed value of a row.
pub(crate) struct ColumnModel<'a> {
    pub(crate) name: Name,
    pub(crate) description: Doc,
    /// The type as written.
    pub(crate) ty: &'a Type,
    pub(crate) marks: Marks,
}

impl<'a> ColumnModel<'a> {
    /// Returns the type without an `Option` around it.
    pub(crate) fn bare(&self) -> &'a Type {
        ty::inside(self.ty, "Option").unwrap_or(self.ty)
    }

    pub(crate) fn is_optional(&self) -> bool {
        ty::inside(self.ty, "Option").is_some()
    }

    pub(crate) fn kind(&self) -> Kind {
        Kind::of(self.bare())
    }

    fn refuse(
        &self,
        mark: &str,
        span: Option<Span>,
        wants: &str,
        remedy: &str,
        errors: &mut Accumulator,
    ) {
        if let Some(span) = span {
            let kind = self.kind();
            let is = kind.noun().unwrap_or("another");
            errors.push(fault(
                span,
                format_args!("`{mark}` {wants} and `{}` is {is}: {remedy}", self.name.text),
            ));
        }
    }
}

/// Checks the rules of marks that need only the written type.
pub(crate) fn check(column: &ColumnModel<'_>, errors: &mut Accumulator) {
    identifies(column, errors);
    has_words(column, errors);
    compares(column, errors);
    is_ordered(column, errors);
    groups(column, errors);
    adds(column, errors);
}

/// Requires that an identifier is a single value and always present (MCP-AQL pagination §4).
fn identifies(column: &ColumnModel<'_>, errors: &mut Accumulator) {
    let Some(span) = column.marks.id else { return };
    let name = &column.name.text;
    if column.is_optional() {
        let bare = ty::text(column.bare()).unwrap_or_else(|| "its type".to_owned());
        errors.push(fault(
            span,
            format_args!(
                "`{name}` is an identifier and cannot be optional: write `{bare}` without `Option`"
            ),
        ));
        return;
    }
    if matches!(column.kind(), Kind::List(_) | Kind::Object | Kind::Bool | Kind::Float) {
        let remedy = "mark a field that holds a string or a whole number";
        column.refuse("id", Some(span), "is for a unique value", remedy, errors);
    }
}

/// Requires strings for `search`.
fn has_words(column: &ColumnModel<'_>, errors: &mut Accumulator) {
    let kind = match column.kind() {
        Kind::List(inner) => *inner,
        other => other,
    };
    if !matches!(kind, Kind::Text | Kind::Unknown) {
        let span = column.marks.search;
        column.refuse("search", span, "is for strings", "leave it out, or write `filter`", errors);
    }
}

/// Requires single values or lists of single values for `filter`.
fn compares(column: &ColumnModel<'_>, errors: &mut Accumulator) {
    if matches!(column.kind(), Kind::Object) {
        let remedy = "leave it out, or write a struct that derives `Resource`, and `nested`";
        column.refuse(
            "filter",
            column.marks.filter,
            "is for values that can be compared",
            remedy,
            errors,
        );
    }
}

/// Requires values with an order for `sort`.
fn is_ordered(column: &ColumnModel<'_>, errors: &mut Accumulator) {
    if matches!(column.kind(), Kind::List(_) | Kind::Object | Kind::Bool) {
        let span = column.marks.sort;
        column.refuse("sort", span, "is for values that have an order", "leave it out", errors);
    }
}

/// Requires values for `group` that can be equal. Floats, lists and objects are rejected.
fn groups(column: &ColumnModel<'_>, errors: &mut Accumulator) {
    if matches!(column.kind(), Kind::List(_) | Kind::Object | Kind::Float) {
        let span = column.marks.group;
        column.refuse("group", span, "is for values that can be equal", "leave it out", errors);
    }
}

/// Requires numbers for `numeric`.
fn adds(column: &ColumnModel<'_>, errors: &mut Accumulator) {
    if !matches!(column.kind(), Kind::Integer(_) | Kind::Float | Kind::Unknown) {
        let span = column.marks.numeric;
        column.refuse("numeric", span, "is for numbers", "leave it out", errors);
    }
}

/// Returns the name of the generated type that accesses the column with this index.
pub(crate) fn access(number: usize) -> Ident {
    format_ident!("__Column{number}")
}

/// Generates the table entry: `FieldSpec::of::<__Column0>("name", "Description.", …)` with its marks.
pub(crate) fn spec(column: &ColumnModel<'_>, access: &Ident) -> TokenStream {
    let (name, description) = (&column.name.text, &column.description);
    // `read_only` only concerns updates. `nested` is added together with its access type.
    let marks = column
        .marks
        .all()
        .filter(|(mark, _)| !["read_only", "nested"].contains(mark))
        .map(|(mark, _)| format_ident!("{mark}"));
    // With this span, rustc reports errors about a field's type where the type is written.
    let span = column.ty.span();
    let rt = alias_at(span);
    let access = Ident::new(&access.to_string(), Span::call_site().located_at(span));
    quote_spanned! {span=>
        #rt::FieldSpec::of::<#access>(
            #name,
            #description,
            #rt::column::Probe::<#access>::COLUMN,
        ) #(.#marks())*
    }
}

/// Generates the access to a value. `value` is an expression that borrows the value from `__row`.
pub(crate) fn access_impl(
    column: &ColumnModel<'_>,
    access: &Ident,
    item: &TokenStream,
    value: &TokenStream,
    conditions: &[&Attribute],
) -> TokenStream {
    let ty = owned_self(column.ty, item);
    quote! {
        #(#conditions)*
        struct #access;
        #(#conditions)*
        #[automatically_derived]
        impl __rt::column::FieldAccess for #access {
            type Row = #item;
            type Value = #ty;
            fn with<__R>(
                __row: &Self::Row,
                __take: impl ::core::ops::FnOnce(&Self::Value) -> __R,
            ) -> __R {
                __take(#value)
            }
        }
    }
}

/// Generates the checks that need type information. rustc reports their errors where the type is written.
pub(crate) fn assertions(
    column: &ColumnModel<'_>,
    access: &Ident,
    item: &TokenStream,
) -> Vec<TokenStream> {
    let marks = &column.marks;
    // `check` covers the types that the macro knows by name.
    let unknown = match column.kind() {
        Kind::List(inner) => *inner == Kind::Unknown,
        kind => kind == Kind::Unknown,
    };
    if !unknown {
        return Vec::new();
    }
    let name = &column.name.text;
    let written =
        ty::text(column.bare()).map_or_else(|| "this type".to_owned(), |it| format!("`{it}`"));
    let probe = quote!(__rt::column::Probe::<#access>);
    let mut checks = Vec::new();
    let mut check = |mark: Option<Span>, condition: TokenStream, message: String| {
        if mark.is_some() {
            let span = Span::call_site().located_at(column.ty.span());
            checks.push(at(quote!(__rt::check_mark(#condition, #message)), span));
        }
    };
    check(
        marks.numeric,
        quote!(#probe::NUMERIC),
        format!("`numeric` is for numbers and `{name}` is not a number: leave it out"),
    );
    check(
        marks.search,
        quote!(#probe::TEXT),
        format!(
            "`search` is for strings and `{name}` is not a string: leave it out, or write `filter`"
        ),
    );
    let ty = owned_self(column.ty, item);
    check(
        marks.sort,
        quote! {
            __rt::column::is_ordered(
                #probe::NATIVE,
                #probe::ORDERED,
                __rt::column::OrderProbe::<#ty>::KNOWN,
            )
        },
        format!(
            "`sort` is for values that have an order and {written} has none: derive `PartialOrd` and `Ord` on it if it is yours, or leave `sort` out"
        ),
    );
    for (mark, span) in [("id", marks.id), ("group", marks.group)] {
        check(
            span,
            quote!(!#probe::LIST),
            format!("`{mark}` is for single values and `{name}` is a list: leave it out"),
        );
    }
    checks
}

/// Moves the tokens to `span`, so that rustc reports errors about them there.
pub(crate) fn at(tokens: TokenStream, span: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Group(group) => {
                let inner = at(group.stream(), span);
                let mut group = proc_macro2::Group::new(group.delimiter(), inner);
                group.set_span(span);
                group.into()
            }
            mut token => {
                token.set_span(token.span().located_at(span));
                token
            }
        })
        .collect()
}

/// Replaces `Self` in a type by the resource, because the type is used in another impl block.
fn owned_self(ty: &Type, item: &TokenStream) -> TokenStream {
    replace_self(quote!(#ty), item)
}

fn replace_self(tokens: TokenStream, item: &TokenStream) -> TokenStream {
    tokens
        .into_iter()
        .flat_map(|token| match token {
            TokenTree::Ident(ident) if ident == "Self" => item.clone(),
            TokenTree::Group(group) => {
                let inner = replace_self(group.stream(), item);
                let mut replaced = proc_macro2::Group::new(group.delimiter(), inner);
                replaced.set_span(group.span());
                TokenTree::from(replaced).into()
            }
            other => other.into(),
        })
        .collect()
}

/// Returns the type after `->`.
pub(crate) fn returned(output: &ReturnType) -> Option<&Type> {
    match output {
        ReturnType::Default => None,
        ReturnType::Type(_, ty) => Some(ty),
    }
}
