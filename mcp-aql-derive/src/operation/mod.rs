//! Expands `#[operation(…)]` on a free function and `#[operations]` on an impl block.
//!
//! This module contains the model of an operation: its options, description, arguments and signature. Its children are
//! the steps of the expansion, and the subjects with rules of their own, which read the model.

mod argument;
mod attr;
mod block;
mod check;
mod clean;
mod codegen;
pub(crate) mod danger;
pub(crate) mod example;
mod function;
mod lifecycle;
mod query;

use darling::error::Accumulator;
use darling::util::SpannedValue;
use mcp_aql_protocol::{DangerLevel, SemanticCategory};
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, Path, Signature, Type};

pub(crate) use self::block::expand as expand_block;
pub(crate) use self::check::duplicate_name;
pub(crate) use self::codegen::assertions::input_slots;
pub(crate) use self::codegen::conditions;
pub(crate) use self::function::expand;

use self::argument::{Argument, Input};
use self::attr::{NameOption, OperationAttr, Wrap};
use self::danger::Danger;
use self::lifecycle::Lifecycle;
use self::query::Query;
use crate::parameter::Parameter;
use crate::support::doc::Doc;
use crate::support::options::JsonOption;
use crate::support::values::{Deprecated, Text};
use crate::support::{Name, fault};

/// An operation as declared.
pub(crate) struct OperationModel<'a> {
    pub(crate) name: Name,
    pub(crate) ident: &'a Ident,
    /// The constant with the name. In this case, the rules for names apply to the name of the Rust function.
    pub(crate) name_constant: Option<Expr>,
    /// The constant with the description. It replaces the doc comment.
    pub(crate) description: Option<Expr>,
    /// The declared category. `None` is reported as an error.
    pub(crate) category: Option<SpannedValue<SemanticCategory>>,
    /// The span at which the missing category is reported.
    pub(crate) no_category: Option<Span>,
    /// The doc comment. An empty doc comment is an error.
    pub(crate) doc: Doc,
    pub(crate) endpoint: Option<SpannedValue<Text>>,
    pub(crate) rationale: Option<SpannedValue<Text>>,
    pub(crate) wrap: Option<SpannedValue<Wrap>>,
    pub(crate) danger: Option<Danger>,
    pub(crate) preview: Option<Path>,
    pub(crate) lifecycle: Option<Lifecycle>,
    pub(crate) timeout_seconds: Option<u32>,
    pub(crate) scope: Option<SpannedValue<Text>>,
    pub(crate) deprecated: Option<Deprecated>,
    pub(crate) examples: Vec<JsonOption>,
    pub(crate) arguments: Vec<Argument<'a>>,
    pub(crate) signature: &'a Signature,
    pub(crate) site: Site,
}

/// The site of a function's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Site {
    /// A free function of a module.
    Free,
    /// A method with `&self`.
    Method,
    /// An associated function without a receiver.
    Associated,
}

impl<'a> OperationModel<'a> {
    pub(crate) fn new(
        attr: OperationAttr,
        attributes: &[Attribute],
        signature: &'a Signature,
        site: Site,
        errors: &mut Accumulator,
    ) -> Self {
        let ident = &signature.ident;
        for attribute in attributes.iter().filter(|it| clean::is_of_an_argument(it)) {
            let path = attribute.path();
            let name = path.segments.last().map(|it| it.ident.to_string()).unwrap_or_default();
            errors.push(fault(
                path.span(),
                format_args!(
                    "`#[{name}]` belongs on an argument: write it above the argument that it describes"
                ),
            ));
        }
        let own = || Name { text: ident.unraw().to_string(), span: ident.span(), set: false };
        let (name, name_constant) = match attr.name.map(|name| (name.span(), name.into_inner())) {
            Some((span, NameOption::Text(text))) => (Name { span, text, set: true }, None),
            Some((_, NameOption::Constant(constant))) => (own(), Some(constant)),
            None => (own(), None),
        };
        Self {
            name,
            ident,
            name_constant,
            description: attr.description,
            category: attr.category,
            no_category: attr.no_category,
            doc: Doc::of(attributes),
            endpoint: attr.endpoint,
            rationale: attr.rationale,
            wrap: attr.wrap,
            danger: attr.danger,
            preview: attr.preview,
            lifecycle: attr.lifecycle,
            timeout_seconds: attr.timeout_seconds,
            scope: attr.scope,
            deprecated: attr.deprecated,
            examples: attr.examples,
            arguments: argument::read(signature, errors),
            signature,
            site,
        }
    }

    /// Returns the plain parameters among the arguments.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &Parameter<'a>> {
        self.arguments.iter().filter_map(|argument| match argument {
            Argument::One(parameter) => Some(&**parameter),
            _ => None,
        })
    }

    /// Returns the arguments of type `Update<T>`.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Input<'a>> {
        self.arguments.iter().filter_map(|argument| match argument {
            Argument::Input(input) => Some(input),
            _ => None,
        })
    }

    /// Returns the arguments that represent the parameters of a query.
    pub(crate) fn queries(&self) -> impl Iterator<Item = &Query<'a>> {
        self.arguments.iter().filter_map(|argument| match argument {
            Argument::Query(query) => Some(&**query),
            _ => None,
        })
    }

    /// Returns the spans of arguments of type `ExecutionContext`.
    pub(crate) fn executions(&self) -> impl Iterator<Item = Span> {
        self.arguments.iter().filter_map(|argument| match argument {
            Argument::Execution(span) => Some(*span),
            _ => None,
        })
    }

    /// Returns the known parameter names. Those of groups are missing, because only the expansion of another macro
    /// knows them.
    pub(crate) fn known_parameters(&self) -> Vec<&str> {
        let mut known: Vec<_> = self.parameters().map(|it| it.name.text.as_str()).collect();
        if self.inputs().next().is_some() {
            known.push("input");
        }
        if self.has_if_match() {
            known.push("if_match");
        }
        known.extend(self.queries().flat_map(|query| query.parameters(&self.name.text)));
        known
    }

    /// Returns the declared danger level.
    pub(crate) fn danger_level(&self) -> Option<&SpannedValue<DangerLevel>> {
        self.danger.as_ref()?.level.as_ref()
    }

    /// Returns `true` if there are parameters whose names only the expansion of another macro knows.
    pub(crate) fn has_groups(&self) -> bool {
        self.groups().next().is_some()
    }

    /// Returns the types of the arguments whose fields are parameters.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &'a Type> {
        self.arguments.iter().filter_map(|argument| match argument {
            Argument::Group(ty) => Some(*ty),
            _ => None,
        })
    }

    /// Returns `true` if an argument is an `IfMatch`.
    pub(crate) fn has_if_match(&self) -> bool {
        self.arguments.iter().any(|argument| matches!(argument, Argument::IfMatch(_)))
    }

    pub(crate) fn is(&self, category: SemanticCategory) -> bool {
        self.category.as_deref() == Some(&category)
    }

    /// Returns the declared return type.
    pub(crate) fn returns(&self) -> Option<&'a Type> {
        match &self.signature.output {
            syn::ReturnType::Default => None,
            syn::ReturnType::Type(_, ty) => Some(ty),
        }
    }

    /// Returns the span at which errors of the operation as a whole are reported.
    pub(crate) fn span(&self) -> Span {
        self.ident.span()
    }
}

/// Returns `true` if the signature is only valid in an impl block: it has a receiver or mentions `Self`.
pub(crate) fn belongs_to_impl(signature: &Signature) -> bool {
    signature.receiver().is_some() || mentions_self(signature.to_token_stream())
}

fn mentions_self(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == "Self",
        TokenTree::Group(group) => mentions_self(group.stream()),
        _ => false,
    })
}

#[cfg(test)]
mod tests;
