//! `lifecycle(…)`: as written, its rules, and its part of the table.

use darling::FromMeta;
use darling::error::Accumulator;
use mcp_aql_protocol::SemanticCategory;
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::Meta;
use syn::spanned::Spanned as _;

use super::model::OperationModel;
use crate::support::fault;
use crate::support::options::{Grammar, Hint, nested};
use crate::support::runtime_path::RuntimePath;
use crate::support::values::Flag;

/// How an operation that runs in the background may be steered.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    cancel: bool,
    retry: bool,
    /// Where `progress` is written.
    progress: Option<Span>,
    /// Where `lifecycle` is written.
    span: Span,
}

const GRAMMAR: Grammar = Grammar {
    attribute: "lifecycle",
    known: &["cancel", "retry", "progress"],
    repeatable: &[],
    bare: true,
    text: None,
    hint: |name| match name {
        "supports_cancel" | "abort" | "stop" => Hint::new("write `cancel`"),
        "supports_retry" | "restart" => Hint::new("write `retry`"),
        _ => None,
    },
};

/// What belongs inside of `lifecycle(…)` and stands beside it.
pub(super) fn hint(name: &str) -> Option<Hint> {
    GRAMMAR.known.contains(&name).then(|| Hint::new(format!("write `lifecycle({name})`")))?
}

impl FromMeta for Lifecycle {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        let span = meta.path().span();
        let list = match meta {
            Meta::Path(_) => {
                return Ok(Self { cancel: false, retry: false, progress: None, span });
            }
            Meta::List(list) => list,
            Meta::NameValue(pair) => {
                return Err(fault(
                    pair.value.span(),
                    "`lifecycle` takes a list: write `lifecycle(cancel, retry, progress)`, or those of them that it can do",
                ));
            }
        };
        let mut errors = darling::Error::accumulator();
        let mut options = nested(list, &GRAMMAR, &mut errors);
        let progress = options.span_of("progress");
        let mut has = |name| options.take::<Flag>(name, &mut errors).is_some();
        let read = Self {
            cancel: has("cancel"),
            retry: has("retry"),
            progress: progress.filter(|_| has("progress")),
            span,
        };
        errors.finish_with(read)
    }
}

impl Lifecycle {
    /// `.lifecycle(LifecycleSpec::new(true, false, true))`.
    pub(super) fn tokens(&self, runtime: &RuntimePath) -> TokenStream {
        let Self { cancel, retry, progress, .. } = self;
        let progress = progress.is_some();
        quote!(.lifecycle(#runtime::LifecycleSpec::new(#cancel, #retry, #progress)))
    }
}

/// Every rule of operations that run in the background.
pub(super) fn check(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    match &operation.lifecycle {
        Some(lifecycle) => {
            only_execute_has_one(lifecycle, operation, errors);
            function_is_async(operation, errors);
            progress_is_told(lifecycle, operation, errors);
        }
        None => executions_have_one(operation, errors),
    }
}

/// Executions are of EXECUTE operations (MCP-AQL §8.4).
fn only_execute_has_one(
    lifecycle: &Lifecycle,
    operation: &OperationModel<'_>,
    errors: &mut Accumulator,
) {
    if let Some(category) = operation.category.as_deref()
        && *category != SemanticCategory::Execute
    {
        errors.push(fault(
            lifecycle.span,
            format_args!(
                "`lifecycle` is for EXECUTE operations, and `{}` is {}: write `category = \"EXECUTE\"`, or leave `lifecycle` out (MCP-AQL §8.4)",
                operation.name.text,
                category.as_str()
            ),
        ));
    }
}

/// What runs in the background waits there, and never holds a thread.
fn function_is_async(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    let signature = operation.signature;
    if signature.asyncness.is_none() {
        errors.push(fault(
            signature.fn_token.span,
            "an operation with a `lifecycle` runs in the background, where a function that is not `async` would block a worker: write `async fn`",
        ));
    }
}

/// Only the `ExecutionContext` takes progress. Cancelling needs none: a function that is not told is
/// dropped where it waits, after a grace period.
fn progress_is_told(
    lifecycle: &Lifecycle,
    operation: &OperationModel<'_>,
    errors: &mut Accumulator,
) {
    if let Some(progress) = lifecycle.progress
        && operation.executions().next().is_none()
    {
        errors.push(fault(
            progress,
            format_args!(
                "`{}` takes no `ExecutionContext`, so it could not tell its progress: write an argument `execution: ExecutionContext`, or leave `progress` out",
                operation.name.text
            ),
        ));
    }
}

/// A call in the foreground is no execution.
fn executions_have_one(operation: &OperationModel<'_>, errors: &mut Accumulator) {
    for span in operation.executions() {
        let remedy = if operation.is(SemanticCategory::Execute) {
            "write `lifecycle(…)` in `#[operation(…)]`, or take the call's `Context`"
        } else {
            "write `category = \"EXECUTE\"` and `lifecycle(…)`, or take the call's `Context`"
        };
        errors.push(fault(
            span,
            format_args!(
                "`{}` has no `lifecycle`, so there is no `ExecutionContext` for it: {remedy}",
                operation.name.text
            ),
        ));
    }
}
