//! Parses `lifecycle(…)` and generates its part of the table.
//!
//! ```text
//! #[operation(category = "EXECUTE", lifecycle(cancel, retry, progress))]
//! ```

pub(super) mod check;

use darling::FromMeta;
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::Meta;
use syn::spanned::Spanned as _;

use crate::support::options::{Grammar, Hint, nested};
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
    bare: true,
    hint: |name| match name {
        "supports_cancel" | "abort" | "stop" => Hint::new("write `cancel`"),
        "supports_retry" | "restart" => Hint::new("write `retry`"),
        _ => None,
    },
    ..Grammar::EMPTY
};

/// Suggests `lifecycle(…)` for options that belong inside it.
pub(super) fn hint(name: &str) -> Option<Hint> {
    GRAMMAR.known.contains(&name).then(|| Hint::new(format!("write `lifecycle({name})`")))?
}

impl FromMeta for Lifecycle {
    fn from_meta(meta: &Meta) -> darling::Result<Self> {
        let span = meta.path().span();
        let mut errors = darling::Error::accumulator();
        let mut options = nested(meta, &GRAMMAR, "cancel, …", &mut errors);
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
    pub(super) fn tokens(&self) -> TokenStream {
        let Self { cancel, retry, progress, .. } = self;
        let progress = progress.is_some();
        quote!(.lifecycle(__rt::LifecycleSpec::new(#cancel, #retry, #progress)))
    }
}
