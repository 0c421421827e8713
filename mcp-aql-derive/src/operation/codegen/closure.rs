//! Generates the closure that decodes the arguments of an operation and calls its function, and the one that previews
//! a call.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::super::argument::Argument;
use super::super::{OperationModel, Site};
use super::form;

/// The parts of a closure that decodes the arguments in the table's order.
struct Decoding {
    span: Span,
    receiver: TokenStream,
    mutable: Option<TokenStream>,
    names: Vec<Ident>,
    values: Vec<TokenStream>,
}

impl Decoding {
    fn new(model: &OperationModel<'_>) -> Self {
        // rustc reports errors about the whole future, such as a missing `Send`, under the name of the function.
        let span = Span::mixed_site().located_at(model.ident.span());
        let arguments = model.arguments.iter();
        let names =
            (0..arguments.len()).map(|index| format_ident!("__arg{index}", span = span)).collect();
        let values = arguments.clone().map(|argument| respan_call(decode(argument), span));
        let takes_values = arguments.clone().any(|argument| {
            !matches!(
                argument,
                Argument::State(_)
                    | Argument::Context
                    | Argument::Execution(_)
                    | Argument::Claim(..)
            )
        });
        let receiver = match model.site {
            Site::Free => quote_spanned!(span=> ()),
            Site::Method => quote_spanned!(span=> __receiver),
            Site::Associated => quote_spanned!(span=> _),
        };
        let mutable = takes_values.then(|| quote!(mut));
        Self { span, receiver, mutable, names, values: values.collect() }
    }

    /// Generates the path by which the closure calls a function.
    fn function(&self, model: &OperationModel<'_>, path: &impl ToTokens) -> TokenStream {
        let span = self.span;
        match model.site {
            Site::Free => path.to_token_stream(),
            Site::Method => quote_spanned!(span=> __receiver.#path),
            Site::Associated => quote_spanned!(span=> Self::#path),
        }
    }
}

/// Generates the closure that decodes the arguments and calls the function with them.
pub(super) fn closure(model: &OperationModel<'_>, checks: &[TokenStream]) -> TokenStream {
    let decoding = Decoding::new(model);
    let function = decoding.function(model, model.ident);
    let Decoding { span, receiver, mutable, names, values } = decoding;
    let wait = model.signature.asyncness.map(|_| quote_spanned!(span=> .await));
    let returned = quote_spanned!(span=> #function(#(#names),*)#wait);
    // The turbofish makes rustc report a missing trait once, at the return type.
    let reply = match model.returns() {
        Some(ty) => {
            let form = form(ty);
            quote_spanned!(span=> #form.reply::<#ty>(__call, #returned))
        }
        None => quote_spanned!(span=> __call.reply(#returned)),
    };
    quote_spanned! {span=>
        |#receiver, #mutable __call: __rt::Call| {
            ::std::boxed::Box::pin(async move {
                #(const { #checks };)*
                #(let #names = #values;)*
                #reply
            })
        }
    }
}

/// Generates `.preview(closure)`. The closure calls the function that previews a call before its confirmation.
pub(super) fn preview(model: &OperationModel<'_>) -> Option<TokenStream> {
    let path = model.preview.as_ref()?;
    let decoding = Decoding::new(model);
    let function = match path.get_ident() {
        Some(_) => decoding.function(model, path),
        None => path.to_token_stream(),
    };
    let Decoding { span: _, receiver, mutable, names, values } = decoding;
    let span = Span::mixed_site().located_at(path.span());
    Some(quote_spanned! {span=>
        .preview(|#receiver, #mutable __call: __rt::Call| {
            ::std::boxed::Box::pin(async move {
                #(let #names = #values;)*
                __rt::IntoPreview::into_preview(#function(#(#names),*).await)
            })
        })
    })
}

/// Generates the expression that decodes an argument from `__call`.
fn decode(argument: &Argument<'_>) -> TokenStream {
    match argument {
        Argument::State(ty) => quote!(__call.state::<#ty>()?),
        Argument::Context => quote!(__call.context()),
        Argument::Execution(_) => quote!(__call.execution()?),
        Argument::Claim(name, ty) => quote!(__call.claim::<#ty>(#name)?),
        Argument::Input(input) => {
            let ty = input.ty;
            quote!(__call.input::<#ty>()?)
        }
        Argument::Query(query) => {
            let ty = query.ty;
            quote!(__call.composite::<#ty>()?)
        }
        Argument::Group(ty) | Argument::IfMatch(ty) => quote!(__call.group::<#ty>()?),
        Argument::One(parameter) => parameter.take(),
    }
}

/// Gives `__call` the span of the closure, even in tokens from the author's code.
fn respan_call(tokens: TokenStream, span: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut token| {
            if let TokenTree::Ident(ident) = &mut token
                && *ident == "__call"
            {
                ident.set_span(span);
            }
            token
        })
        .collect()
}
