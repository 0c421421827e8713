//! Determines the role of each argument of an operation's function.
//!
//! ```text
//! State(store): State<Store>    shared state
//! title: String                 parameter `title`
//! input: Update<Task>           parameter `input`
//! query: CollectionQuery<Task>  parameters `filter`, `sort`, `first`, …
//! ```

mod attr;

use darling::error::Accumulator;
use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{Attribute, FnArg, Ident, Pat, PatType, Signature, Type};

pub(super) use self::attr::resolve;
use super::query::{self, Query};
use crate::parameter::{ParamAttr, Parameter};
use crate::support::doc::Doc;
use crate::support::fault;
use crate::support::options::is_called;
use crate::support::ty::{self, inside, last_segment};

/// An argument by its role.
pub(crate) enum Argument<'a> {
    /// `State<T>`: shared state of type `T`.
    State(&'a Type),
    /// `Context`: information about the call.
    Context,
    /// `ExecutionContext`: the handle of a background execution.
    Execution(Span),
    /// `input: Update<T>`: the changes of an UPDATE.
    Input(Input<'a>),
    /// `CollectionQuery<T>`, `Fields<T>` or `RelationshipQuery<T>`.
    Query(Box<Query<'a>>),
    /// `IfMatch` or `IfMatch<V>`: the parameter `if_match`.
    IfMatch(&'a Type),
    /// A struct whose fields are parameters.
    Group(&'a Type),
    /// A value from a claim of the caller, `#[param(from_claim = "…")]`.
    Claim(String, &'a Type),
    /// One parameter.
    One(Box<Parameter<'a>>),
}

/// An argument of type `Update<T>`.
pub(crate) struct Input<'a> {
    /// `T`.
    pub(crate) ty: &'a Type,
    pub(crate) name: String,
    pub(crate) span: Span,
    /// The span of the word `Update`.
    pub(crate) update: Span,
}

/// Reads all arguments except the receiver.
pub(crate) fn read<'a>(signature: &'a Signature, errors: &mut Accumulator) -> Vec<Argument<'a>> {
    let mut arguments = Vec::new();
    for argument in &signature.inputs {
        if let FnArg::Typed(argument) = argument
            && let Some(argument) = read_one(argument, errors)
        {
            arguments.push(argument);
        }
    }
    arguments
}

fn read_one<'a>(argument: &'a PatType, errors: &mut Accumulator) -> Option<Argument<'a>> {
    conditional(&argument.attrs, errors);
    if attr::is_parameter(&argument.attrs) {
        no_query(&argument.attrs, errors);
        return parameter(argument, ty::peel(&argument.ty), errors);
    }
    let ty = owned(ty::peel(&argument.ty), errors);
    if is_self(ty) {
        errors.push(fault(
            argument.span(),
            "`Self` is the receiver's type, which is not a parameter: write `&self`",
        ));
        return None;
    }
    if !query::is_one(ty) {
        no_query(&argument.attrs, errors);
    }
    if let Some(state) = inside(ty, "State") {
        no_options(&argument.attrs, "a `State` is not a parameter", errors);
        return Some(Argument::State(state));
    }
    if by_name(ty, "Context", errors).is_some() {
        no_options(&argument.attrs, "the `Context` is not a parameter", errors);
        return Some(Argument::Context);
    }
    if let Some(span) = by_name(ty, "ExecutionContext", errors) {
        no_options(&argument.attrs, "the `ExecutionContext` is not a parameter", errors);
        return Some(Argument::Execution(span));
    }
    if let Some((resource, update)) = update(ty, errors) {
        no_options(&argument.attrs, "the fields of `input` carry their own `#[param(…)]`", errors);
        let (name, span) = match &*argument.pat {
            Pat::Ident(ident) => (ident.ident.to_string(), ident.ident.span()),
            other => (String::new(), other.span()),
        };
        return Some(Argument::Input(Input { ty: resource, name, span, update }));
    }
    if let Some(bare) = create(ty, errors) {
        no_options(
            &argument.attrs,
            "the fields of a `Create` carry their own `#[param(…)]`",
            errors,
        );
        return Some(Argument::Group(bare));
    }
    if let Some(query) = Query::read(argument, ty, errors) {
        return Some(Argument::Query(Box::new(query)));
    }
    if is_if_match(ty) {
        let attr = options(&argument.attrs, errors);
        if_match(ty, &attr, errors);
        return Some(Argument::IfMatch(ty));
    }
    parameter(argument, ty, errors)
}

/// Reads the options of a parameter and reports their errors.
fn options(attributes: &[Attribute], errors: &mut Accumulator) -> ParamAttr {
    let mut faults = darling::Error::accumulator();
    let attr = ParamAttr::read(attributes, &mut faults);
    if let Err(error) = faults.finish() {
        errors.extend(error.flatten());
    }
    attr
}

/// Reads a parameter or a group of parameters.
fn parameter<'a>(
    argument: &'a PatType,
    ty: &'a Type,
    errors: &mut Accumulator,
) -> Option<Argument<'a>> {
    let attr = options(&argument.attrs, errors);
    if let Some(claim) = &attr.from_claim {
        attr.only_claim(errors);
        return Some(Argument::Claim(claim.0.clone(), ty));
    }
    if attr.group.is_some() {
        attr.only_group(errors);
        if inside(ty, "Option").is_some() {
            errors.push(fault(
                ty.span(),
                "a group cannot be an `Option`: write the group's type, and `Option` on its fields",
            ));
        }
        return Some(Argument::Group(ty));
    }
    let ident = ident(&argument.pat, errors)?;
    Some(Argument::One(Box::new(Parameter::new(attr, Doc::of(&argument.attrs), ident, ty))))
}

/// Returns one of the types that the macro knows, without the reference or `Option` around it.
///
/// A reference, or an `Option` around a `State`, is reported as an error.
fn owned<'a>(ty: &'a Type, errors: &mut Accumulator) -> &'a Type {
    const KNOWN: [&str; 7] =
        ["State", "Create", "Update", "IfMatch", "CollectionQuery", "Fields", "RelationshipQuery"];
    let (bare, known) = match ty {
        Type::Reference(reference) => (ty::peel(&reference.elem), &KNOWN[..]),
        _ => (inside(ty, "Option").map_or(ty, ty::peel), &KNOWN[..1]),
    };
    let Some(segment) = last_segment(bare).filter(|it| known.iter().any(|name| it.ident == name))
    else {
        return ty;
    };
    if !std::ptr::eq(bare, ty) {
        let written = ty::text(bare).unwrap_or_else(|| format!("{}<…>", segment.ident));
        errors.push(fault(
            ty.span(),
            format_args!(
                "`{}` is always present and is passed by value: write `{written}`",
                segment.ident
            ),
        ));
    }
    bare
}

/// Returns `true` if the type is `Self` or `&Self`.
fn is_self(ty: &Type) -> bool {
    let bare = match ty {
        Type::Reference(reference) => ty::peel(&reference.elem),
        other => other,
    };
    matches!(bare, Type::Path(path) if path.path.is_ident("Self"))
}

/// Returns the span of the type's name if it is `name`.
///
/// A reference or `Option` around the type is reported as an error.
fn by_name(ty: &Type, name: &str, errors: &mut Accumulator) -> Option<Span> {
    let bare = match ty {
        Type::Reference(reference) => ty::peel(&reference.elem),
        _ => inside(ty, "Option").unwrap_or(ty),
    };
    let segment = last_segment(bare).filter(|it| it.ident == name && it.arguments.is_none())?;
    if !std::ptr::eq(bare, ty) {
        let bare = ty::text(bare).unwrap_or_else(|| name.to_owned());
        errors.push(fault(
            ty.span(),
            format_args!("`{name}` is always present and is passed by value: write `{bare}`"),
        ));
    }
    Some(segment.ident.span())
}

/// Returns `true` if the type is `IfMatch`, a group that needs no `#[param(group)]`.
fn is_if_match(ty: &Type) -> bool {
    let bare = inside(ty, "Option").unwrap_or(ty);
    last_segment(bare).is_some_and(|segment| segment.ident == "IfMatch")
}

/// Rejects an `Option` around `IfMatch`, and options on it: it is optional and has a description already.
fn if_match(ty: &Type, attr: &ParamAttr, errors: &mut Accumulator) {
    if let Some(bare) = inside(ty, "Option") {
        let bare = ty::text(bare).unwrap_or_else(|| "IfMatch".to_owned());
        errors
            .push(fault(ty.span(), format_args!("`if_match` is optional already: write `{bare}`")));
    }
    for key in attr.keys.iter().filter(|key| *key != "group") {
        errors.push(fault(
            key.span(),
            format_args!(
                "`{key}` has no effect on an `IfMatch`, which describes itself: leave it out"
            ),
        ));
    }
}

/// Returns `Create<T>`. An `Option` around it is reported as an error.
fn create<'a>(ty: &'a Type, errors: &mut Accumulator) -> Option<&'a Type> {
    let bare = inside(ty, "Option").unwrap_or(ty);
    inside(bare, "Create")?;
    if !std::ptr::eq(bare, ty) {
        let written = ty::text(bare).unwrap_or_else(|| "Create<…>".to_owned());
        errors.push(fault(
            ty.span(),
            format_args!(
                "a `Create` cannot be an `Option`: write `{written}`, and `Option` on its fields"
            ),
        ));
    }
    Some(bare)
}

/// Returns `T` of `Update<T>` and the span of `Update`. An `Option` around it is reported as an error.
fn update<'a>(ty: &'a Type, errors: &mut Accumulator) -> Option<(&'a Type, Span)> {
    let bare = inside(ty, "Option").unwrap_or(ty);
    let resource = inside(bare, "Update")?;
    let update = last_segment(bare)?.ident.span();
    if inside(ty, "Option").is_none() {
        return Some((resource, update));
    }
    errors.push(fault(
        ty.span(),
        "`input` is required: write `input: Update<…>` without `Option` (MCP-AQL §4.5)",
    ));
    Some((resource, update))
}

/// Returns the identifier of the argument, used as the name of the parameter.
fn ident<'a>(pattern: &'a Pat, errors: &mut Accumulator) -> Option<&'a Ident> {
    match pattern {
        Pat::Ident(ident) if ident.by_ref.is_none() && ident.subpat.is_none() => Some(&ident.ident),
        Pat::Wild(wild) => {
            errors.push(fault(
                wild.underscore_token.span,
                "a parameter needs a name: write one in place of `_`",
            ));
            None
        }
        other => {
            errors.push(fault(
                other.span(),
                "a parameter needs a name: write one, and destructure it inside the function",
            ));
            None
        }
    }
}

/// Rejects `#[param]` on arguments other than parameters.
fn no_options(attributes: &[Attribute], why: &str, errors: &mut Accumulator) {
    for attribute in attributes.iter().filter(|attribute| is_called(attribute, "param")) {
        errors.push(fault(
            attribute.path().span(),
            format_args!("`#[param]` has no effect here, because {why}: leave it out"),
        ));
    }
}

/// Rejects `#[query]` on arguments other than queries.
fn no_query(attributes: &[Attribute], errors: &mut Accumulator) {
    for attribute in attributes.iter().filter(|attribute| is_called(attribute, "query")) {
        errors.push(fault(
            attribute.path().span(),
            "`#[query]` is for arguments of type `CollectionQuery`, `Fields` or `RelationshipQuery`: leave it out",
        ));
    }
}

/// Rejects `#[cfg]` on arguments. The operation's table is a constant, so its entries cannot be conditional.
fn conditional(attributes: &[Attribute], errors: &mut Accumulator) {
    for attribute in attributes {
        if attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr") {
            errors.push(fault(
                attribute.path().span(),
                "an operation always has the same parameters: write `#[cfg]` on the whole operation",
            ));
        }
    }
}
