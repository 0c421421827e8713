//! Generates an operation: a constant table, and a closure that decodes the arguments and calls the function.
//!
//! ```text
//! OperationEntry::<()>::new(
//!     OperationSpec::new("get_task", SemanticCategory::Read, "Find a task.")…,
//!     |_, mut __call: Call| { Box::pin(async move { … }) },
//! )
//! ```

use mcp_aql_protocol::SemanticCategory;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, ItemFn, ItemImpl, Type, Visibility};

use super::args::Argument;
use super::attr::Wrap;
use super::model::{OperationModel, Site};
use super::{assertions, danger_note, example};
use crate::support::runtime_path::RuntimePath;
use crate::support::variant_ident;

/// Generates the operation of a free function.
pub(crate) fn operation(
    model: &OperationModel<'_>,
    function: &ItemFn,
    runtime: &RuntimePath,
) -> TokenStream {
    let ident = model.ident;
    let conditions = conditions(&function.attrs);
    let marker = marker(&function.vis, ident, &conditions);
    let deprecated = allow_deprecated(&function.attrs);
    let method = method(model, &[], runtime);
    let checks = assertions::of(model, runtime);
    let note = danger_note::note(model).map(|note| quote!(#(#conditions)* #note));
    let plain_form = model.returns().map(|_| plain_form(runtime));
    quote! {
        #marker
        #note
        #(#conditions)*
        const _: () = {
            #plain_form
            #deprecated
            #[automatically_derived]
            impl #runtime::table::Operation for #ident {
                const OPERATION: #runtime::table::OperationEntry<()> = #method;
            }
            #(const _: () = #checks;)*
        };
    }
}

/// Generates the type that represents the function. A struct with braces can have the same name as a function.
pub(super) fn marker(
    visibility: &Visibility,
    ident: &Ident,
    conditions: &[&Attribute],
) -> TokenStream {
    quote! {
        #(#conditions)*
        #[doc(hidden)]
        #[allow(non_camel_case_types, missing_debug_implementations, unreachable_pub)]
        #visibility struct #ident {}
    }
}

/// The role of an impl block among the `#[operations]` blocks of its type.
#[derive(Default)]
pub(crate) struct BlockRole {
    /// The name of an additional block. `None` for the main block.
    pub(crate) name: Option<Ident>,
    /// The names of the additional blocks, as listed on the main block.
    pub(crate) further: Vec<Ident>,
}

/// Generates the operations of an impl block.
pub(crate) fn operations(
    block: &ItemImpl,
    role: &BlockRole,
    methods: &[TokenStream],
    assertions: &[TokenStream],
    runtime: &RuntimePath,
) -> TokenStream {
    let ty = &block.self_ty;
    let (generics, _, where_clause) = block.generics.split_for_impl();
    let shared = shared_bound(block);
    let conditions = conditions(&block.attrs);
    let plain_form = plain_form(runtime);
    let list = quote!(&'static [#runtime::table::OperationEntry<Self>]);
    let methods = quote!(&[#(#methods),*]);
    let implementation = if let Some(name) = &role.name {
        let constant = additional_block_constant(name, &list, &methods);
        quote!(impl #generics #ty #where_clause #shared { #constant })
    } else {
        let constants: Vec<_> = role.further.iter().map(further).collect();
        let further = (!constants.is_empty())
            .then(|| quote!(const FURTHER: &'static [#list] = &[#(Self::#constants),*];));
        quote! {
            #[automatically_derived]
            impl #generics #runtime::Operations for #ty #where_clause #shared {
                const OPERATIONS: #list = #methods;
                #further
            }
        }
    };
    quote! {
        #(#conditions)*
        const _: () = {
            #plain_form
            #[allow(deprecated)]
            #implementation
            #(#assertions)*
        };
    }
}

/// Generates the bound `Send + Sync + 'static` for a generic block. The trait itself checks a concrete type, and with a
/// better message.
fn shared_bound(block: &ItemImpl) -> Option<TokenStream> {
    if block.generics.params.is_empty() {
        return None;
    }
    let ty = &block.self_ty;
    let bound = quote!(#ty: ::core::marker::Send + ::core::marker::Sync + 'static);
    Some(match &block.generics.where_clause {
        Some(clause) if clause.predicates.trailing_punct() || clause.predicates.is_empty() => bound,
        Some(_) => quote!(, #bound),
        None => quote!(where #bound),
    })
}

/// Generates the associated constant of an additional block.
///
/// Its items have the author's span, so that rustc reports dead code if the main block does not list the block. For
/// code with the span of a macro, rustc does not report dead code.
fn additional_block_constant(
    name: &Ident,
    list: &TokenStream,
    methods: &TokenStream,
) -> TokenStream {
    let constant = further(name);
    let reason = format!("list it in the type's main block: write `#[operations(blocks({name}))]`");
    let header = quote_spanned! {name.span()=>
        #[doc(hidden)]
        #[allow(non_upper_case_globals)]
        #[deny(dead_code, reason = #reason)]
        pub(crate) const #constant
    };
    let end = quote_spanned!(name.span()=> ;);
    quote!(#header: #list = #methods #end)
}

/// Imports the trait that handles return types other than `Result`.
fn plain_form(runtime: &RuntimePath) -> TokenStream {
    quote! {
        #[allow(unused_imports)]
        use #runtime::__private::PlainForm as _;
    }
}

/// Generates the expression that determines the form of a return type: a `Result`, even behind an alias, or plain data.
fn form(ty: &Type, runtime: &RuntimePath) -> TokenStream {
    quote!(#runtime::__private::ReturnForm::<#ty>::FORM)
}

/// Returns the name of the associated constant that holds the operations of an additional block.
fn further(block: &Ident) -> Ident {
    format_ident!("block_{}", block.unraw(), span = block.span())
}

/// Generates `OperationEntry::new(table, closure)`. `checks` are assertions for the inside of the closure.
pub(crate) fn method(
    model: &OperationModel<'_>,
    checks: &[TokenStream],
    runtime: &RuntimePath,
) -> TokenStream {
    let table = table(model, runtime);
    let closure = closure(model, checks, runtime);
    let Some(preview) = preview(model, runtime) else {
        return quote!(#runtime::table::OperationEntry::new(#table, #closure));
    };
    // rustc cannot infer the type of the receiver before a method is called on it.
    let receiver = match model.site {
        Site::Free => quote!(()),
        Site::Method | Site::Associated => quote!(Self),
    };
    quote!(#runtime::table::OperationEntry::<#receiver>::new(#table, #closure) #preview)
}

/// Generates the name: a string literal or the author's constant.
fn name(model: &OperationModel<'_>) -> TokenStream {
    let text = &model.name.text;
    model.name_constant.as_ref().map_or_else(|| quote!(#text), |constant| quote!(#constant))
}

/// Generates the description: a string literal or the author's constant.
fn description(model: &OperationModel<'_>) -> TokenStream {
    let doc = &model.doc;
    model.description.as_ref().map_or_else(|| quote!(#doc), |constant| quote!(#constant))
}

/// Generates `OperationSpec::new("name", Category, "Description.")` with its builder calls.
fn table(model: &OperationModel<'_>, runtime: &RuntimePath) -> TokenStream {
    let (name, description) = (name(model), description(model));
    let category = model.category.as_deref().copied().unwrap_or(SemanticCategory::Read);
    let category = variant_ident(category);
    let mut states = Vec::new();
    let mut parameters = Vec::new();
    for argument in &model.arguments {
        let entry = quote!(#runtime::table::ParameterEntry);
        match argument {
            Argument::State(ty) => states.push(quote!(#runtime::table::StateSpec::of::<#ty>())),
            Argument::Claim(..) | Argument::Context | Argument::Execution(_) => {}
            Argument::Input(input) => {
                let ty = input.ty;
                parameters.push(quote!(#entry::Input(<#ty as #runtime::UpdateInput>::INPUT)));
            }
            Argument::Query(query) => parameters.push(query.entry(&model.name, runtime)),
            Argument::Group(ty) | Argument::IfMatch(ty) => {
                parameters.push(quote!(#entry::Group(<#ty as #runtime::ParamGroup>::PARAMETERS)));
            }
            Argument::One(parameter) => {
                let spec = parameter.spec(runtime);
                parameters.push(quote!(#entry::One(#spec)));
            }
        }
    }
    let parameters = (!parameters.is_empty()).then(|| quote!(.parameters(&[#(#parameters),*])));
    let states = (!states.is_empty()).then(|| quote!(.states(&[#(#states),*])));
    let returns = model.returns().map(|ty| {
        let form = form(ty, runtime);
        let method = quote_spanned!(ty.span()=> returns);
        quote!(.returns(#form.#method::<#ty>()))
    });
    let wrap = model.wrap.as_ref().map(|wrap| match &**wrap {
        Wrap::Named(key) => quote!(.data_key(#runtime::table::DataKey::Named(#key))),
        Wrap::Bare => quote!(.data_key(#runtime::table::DataKey::Bare)),
    });
    let endpoint = model.endpoint.as_ref().map(|it| &it.0).map(|it| quote!(.endpoint(#it)));
    let rationale = model.rationale.as_ref().map(|it| &it.0).map(|it| quote!(.rationale(#it)));
    let danger = model.danger.as_ref().map(|it| it.tokens(runtime, true));
    let lifecycle = model.lifecycle.as_ref().map(|it| it.tokens(runtime));
    let timeout = model.timeout_seconds.map(|it| quote!(.timeout_seconds(#it)));
    let scope = model.scope.as_ref().map(|it| &it.0).map(|it| quote!(.scope(#it)));
    let deprecated = model.deprecated.as_ref().map(|it| it.tokens(runtime));
    let examples = example::tokens(&model.examples, runtime);
    quote! {
        #runtime::table::OperationSpec::new(#name, #runtime::SemanticCategory::#category, #description)
            #parameters #returns #wrap #states #examples #endpoint #rationale
            #danger #lifecycle #timeout #scope #deprecated
    }
}

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
fn closure(
    model: &OperationModel<'_>,
    checks: &[TokenStream],
    runtime: &RuntimePath,
) -> TokenStream {
    let decoding = Decoding::new(model);
    let function = decoding.function(model, model.ident);
    let Decoding { span, receiver, mutable, names, values } = decoding;
    let wait = model.signature.asyncness.map(|_| quote_spanned!(span=> .await));
    let returned = quote_spanned!(span=> #function(#(#names),*)#wait);
    // The turbofish makes rustc report a missing trait once, at the return type.
    let reply = match model.returns() {
        Some(ty) => {
            let form = form(ty, runtime);
            quote_spanned!(span=> #form.reply::<#ty>(__call, #returned))
        }
        None => quote_spanned!(span=> __call.reply(#returned)),
    };
    quote_spanned! {span=>
        |#receiver, #mutable __call: #runtime::table::Call| {
            ::std::boxed::Box::pin(async move {
                #(const { #checks };)*
                #(let #names = #values;)*
                #reply
            })
        }
    }
}

/// Generates `.preview(closure)`. The closure calls the function that previews a call before its confirmation.
fn preview(model: &OperationModel<'_>, runtime: &RuntimePath) -> Option<TokenStream> {
    let path = model.preview.as_ref()?;
    let decoding = Decoding::new(model);
    let function = match path.get_ident() {
        Some(_) => decoding.function(model, path),
        None => path.to_token_stream(),
    };
    let Decoding { span: _, receiver, mutable, names, values } = decoding;
    let span = Span::mixed_site().located_at(path.span());
    Some(quote_spanned! {span=>
        .preview(|#receiver, #mutable __call: #runtime::table::Call| {
            ::std::boxed::Box::pin(async move {
                #(let #names = #values;)*
                #runtime::table::IntoPreview::into_preview(#function(#(#names),*).await)
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

/// Returns the `#[cfg]` attributes of an item. The generated items need them as well.
pub(crate) fn conditions(attributes: &[Attribute]) -> Vec<&Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).collect()
}

/// Allows the call of a function that its author marked `#[deprecated]`.
fn allow_deprecated(attributes: &[Attribute]) -> Option<TokenStream> {
    attributes
        .iter()
        .any(|attribute| attribute.path().is_ident("deprecated"))
        .then(|| quote!(#[allow(deprecated)]))
}
