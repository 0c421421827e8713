//! Parses `lifecycle(…)` and generates its part of the table.
//!
//! ```text
//! #[operation(category = "EXECUTE", lifecycle(cancel, retry, progress))]
//! ```

use darling::FromMeta;
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::Meta;
use syn::spanned::Spanned as _;

use crate::support::fault;
use crate::support::options::{Grammar, Hint, nested};
use crate::support::runtime_path::RuntimePath;
use crate::support::values::Flag;

/// The declared abilities of a background operation.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    cancel: bool,
    retry: bool,
    /// The span of `progress`.
    pub(super) progress: Option<Span>,
    /// The span of `lifecycle`.
    pub(super) span: Span,
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

/// Suggests `lifecycle(…)` for options that belong inside it.
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
                    "`lifecycle` is not a list: write `lifecycle(cancel, retry, progress)`, with the abilities that the operation has",
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
    /// Generates `.lifecycle(LifecycleSpec::new(true, false, true))`.
    pub(super) fn tokens(&self, runtime: &RuntimePath) -> TokenStream {
        let Self { cancel, retry, progress, .. } = self;
        let progress = progress.is_some();
        quote!(.lifecycle(#runtime::table::LifecycleSpec::new(#cancel, #retry, #progress)))
    }
}
