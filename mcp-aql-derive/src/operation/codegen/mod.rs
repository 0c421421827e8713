//! Generates an operation: a constant table, and a closure that decodes the arguments and calls the function.
//!
//! ```text
//! OperationEntry::<()>::new(
//!     OperationSpec::new("get_task", SemanticCategory::Read, "Find a task.")…,
//!     |_, mut __call: Call| { Box::pin(async move { … }) },
//! )
//! ```

pub(super) mod assertions;
mod closure;
mod table;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{Attribute, ItemFn, ItemImpl, Type};

use super::danger;
use super::{OperationModel, Site};
use crate::support::runtime::RuntimePath;

/// Generates the operation of a free function.
pub(super) fn operation(
    model: &OperationModel<'_>,
    function: &ItemFn,
    runtime: &RuntimePath,
) -> TokenStream {
    let deprecated = allow_deprecated(&function.attrs);
    let method = method(model, &[]);
    let checks = assertions::of(model);
    let plain_form = model.returns().map(|_| plain_form());
    let implementation = implementation(model.ident, &method);
    let items = quote! {
        #plain_form
        #deprecated
        #implementation
        #(const _: () = #checks;)*
    };
    let operation = free_function(function, &items, runtime);
    let conditions = conditions(&function.attrs);
    let note = danger::note(model).map(|note| quote!(#(#conditions)* #note));
    quote!(#operation #note)
}

/// Generates the stand-in of a free function with errors, so that its registration causes no follow-up errors.
pub(super) fn inert(function: &ItemFn, runtime: &RuntimePath) -> TokenStream {
    let entry = quote! {
        __rt::OperationEntry::new(
            __rt::OperationSpec::new("", __rt::SemanticCategory::Read, ""),
            |(), __call| ::std::boxed::Box::pin(async move { __call.reply(()) }),
        )
    };
    free_function(function, &implementation(&function.sig.ident, &entry), runtime)
}

/// Generates the type that represents a free function, and the block of its items. A struct with braces can have the
/// same name as a function.
fn free_function(function: &ItemFn, items: &TokenStream, runtime: &RuntimePath) -> TokenStream {
    let (visibility, ident) = (&function.vis, &function.sig.ident);
    let conditions = conditions(&function.attrs);
    let block = runtime.block(items);
    quote! {
        #(#conditions)*
        #[doc(hidden)]
        #[allow(non_camel_case_types, missing_debug_implementations, unreachable_pub)]
        #visibility struct #ident {}
        #(#conditions)*
        #block
    }
}

fn implementation(ident: &Ident, entry: &TokenStream) -> TokenStream {
    quote! {
        #[automatically_derived]
        impl __rt::Operation for #ident {
            const OPERATION: __rt::OperationEntry<()> = #entry;
        }
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

/// Generates the operations of an impl block. A block with errors has only the operations without errors of their own,
/// and no assertions.
pub(super) fn operations(
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
    let plain_form = plain_form();
    let list = quote!(&'static [__rt::OperationEntry<Self>]);
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
            impl #generics __rt::Operations for #ty #where_clause #shared {
                const OPERATIONS: #list = #methods;
                #further
            }
        }
    };
    let items = runtime.block(&quote! {
        #plain_form
        #[allow(deprecated)]
        #implementation
        #(#assertions)*
    });
    quote!(#(#conditions)* #items)
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
fn plain_form() -> TokenStream {
    quote! {
        #[allow(unused_imports)]
        use __rt::PlainForm as _;
    }
}

/// Generates the expression that determines the form of a return type: a `Result`, even behind an alias, or plain data.
fn form(ty: &Type) -> TokenStream {
    quote!(__rt::ReturnForm::<#ty>::FORM)
}

/// Returns the name of the associated constant that holds the operations of an additional block.
fn further(block: &Ident) -> Ident {
    format_ident!("block_{}", block.unraw(), span = block.span())
}

/// Generates `OperationEntry::new(table, closure)`. `checks` are assertions for the inside of the closure.
pub(super) fn method(model: &OperationModel<'_>, checks: &[TokenStream]) -> TokenStream {
    let table = table::table(model);
    let closure = closure::closure(model, checks);
    let Some(preview) = closure::preview(model) else {
        return quote!(__rt::OperationEntry::new(#table, #closure));
    };
    // rustc cannot infer the type of the receiver before a method is called on it.
    let receiver = match model.site {
        Site::Free => quote!(()),
        Site::Method | Site::Associated => quote!(Self),
    };
    quote!(__rt::OperationEntry::<#receiver>::new(#table, #closure) #preview)
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
