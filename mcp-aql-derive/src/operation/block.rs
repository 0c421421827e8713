//! Expands `#[operations]`: an impl block whose methods with `#[operation(…)]` become operations.

use darling::error::Accumulator;
use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned as _;
use syn::{ImplItem, ImplItemFn, Item, ItemImpl, ReceiverKind, Signature, Type};

use super::attr::OperationAttr;
use super::codegen::BlockRole;
use super::codegen::assertions;
use super::{OperationModel, Site, argument, check, clean, codegen, danger};
use crate::support::options::{Grammar, Hint, Options};
use crate::support::runtime::RuntimePath;
use crate::support::ty;
use crate::support::values::{CratePath, Word, Words};
use crate::support::{attribute_of, fault, keyword};

const GRAMMAR: Grammar = Grammar {
    attribute: "operations",
    known: &["block", "blocks", "crate"],
    bare: true,
    hint: |name| Hint::new(format!("write `#[operation({name} = …)]` above each method")),
    ..Grammar::EMPTY
};

/// Reads `block = admin` or `blocks(admin, reports)`. Each type has one main block, and the main block lists the
/// others.
fn block_role(mut options: Options, errors: &mut Accumulator) -> BlockRole {
    let role = BlockRole {
        name: options.take::<Word>("block", errors).map(|name| name.into_inner().0),
        further: options
            .take::<Words>("blocks", errors)
            .map_or_else(Vec::new, |it| it.into_inner().0),
    };
    if let (Some(_), Some(first)) = (&role.name, role.further.first()) {
        errors.push(fault(
            first.span(),
            "a named block cannot list other blocks: write `blocks(…)` on the type's main block",
        ));
    }
    role
}

/// Returns the block as written, followed by the generated operations.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let block = match syn::parse2::<ItemImpl>(item.clone()) {
        Ok(block) => block,
        Err(_) => return misplaced(item),
    };
    let cleaned = clean::block(&block);
    if let Some((path, _)) = &block.trait_ {
        let error = fault(
            path.span(),
            "`#[operations]` is for methods of a type: write them in an impl block without a trait",
        )
        .write_errors();
        return quote!(#cleaned #error);
    }
    let mut errors = darling::Error::accumulator();
    let mut read = Options::default();
    read.read(options, &GRAMMAR, &mut errors);
    let path = read.take::<CratePath>("crate", &mut errors).map(|path| path.into_inner().0);
    let runtime = RuntimePath::new(path.as_ref());
    let role = block_role(read, &mut errors);
    let expanded = Methods::read(&block, &mut errors);
    let operations = match errors.finish() {
        Ok(()) => {
            codegen::operations(&block, &role, &expanded.methods, &expanded.assertions, &runtime)
        }
        Err(error) => {
            let errors = error.write_errors();
            let inert = codegen::operations(&block, &role, &expanded.methods, &[], &runtime);
            quote!(#inert #errors)
        }
    };
    quote!(#cleaned #operations)
}

/// The expansion of a block's methods.
#[derive(Default)]
struct Methods {
    methods: Vec<TokenStream>,
    assertions: Vec<TokenStream>,
    names: Vec<String>,
}

impl Methods {
    fn read(block: &ItemImpl, errors: &mut Accumulator) -> Self {
        let mut found = Self::default();
        let mut any = false;
        for item in &block.items {
            if let ImplItem::Fn(method) = item
                && method.attrs.iter().any(clean::is_operation)
            {
                any = true;
                if let Err(error) = found.add(method, block) {
                    errors.extend(error.flatten());
                }
            }
        }
        if !any {
            errors.push(fault(
                block.self_ty.span(),
                "no method of this block is an operation: write `#[operation(category = \"…\")]` above those that are",
            ));
        }
        found
    }

    /// Adds a method. A method with errors is left out.
    fn add(&mut self, method: &ImplItemFn, block: &ItemImpl) -> darling::Result<()> {
        let mut errors = darling::Error::accumulator();
        let attr = OperationAttr::of(&method.attrs, &mut errors);
        if let Some(span) = attr.runtime_span {
            errors.push(fault(
                span,
                "`crate` belongs on the block: write `#[operations(crate = …)]` above it",
            ));
        }
        let site = site(&method.sig, &mut errors);
        let mut described = method.sig.clone();
        argument::resolve(&mut described, &mut errors);
        let model = OperationModel::new(attr, &method.attrs, &described, site, &mut errors);
        check::run(&model, &mut errors);
        check::form_is_known(&model, &block.generics, &mut errors);
        let name = model.name.text.clone();
        if self.names.contains(&name) {
            errors.push(check::duplicate_name("operations are", &name, model.name.span));
        }
        self.names.push(name);
        errors.finish()?;
        let conditions = codegen::conditions(&method.attrs);
        let checks = assertions::of(&model);
        // A separate constant cannot name the type parameters of the block, so a generic block has its assertions in
        // the closure.
        let (inline, apart) = if block.generics.params.is_empty() {
            (Vec::new(), checks)
        } else {
            (checks, Vec::new())
        };
        let table = codegen::method(&model, &inline);
        self.methods.push(quote!(#(#conditions)* #table));
        let conditions = quote!(#(#conditions)*);
        self.assertions.extend(apart.iter().map(|check| quote!(#conditions const _: () = #check;)));
        self.assertions.extend(danger::note(&model).map(|note| quote!(#conditions #note)));
        Ok(())
    }
}

/// Determines how the function is called. A receiver must be borrowed, because concurrent calls share it.
fn site(signature: &Signature, errors: &mut Accumulator) -> Site {
    let Some(receiver) = signature.receiver() else { return Site::Associated };
    let mutable = match &receiver.kind {
        ReceiverKind::Reference(_, _, mutable) => Some(mutable),
        ReceiverKind::Typed(_, ty) => match ty::peel(ty) {
            Type::Reference(it) => Some(&it.mutability),
            _ => None,
        },
        _ => None,
    };
    let (span, advice) = match mutable {
        Some(None) => return Site::Method,
        Some(Some(token)) => (token.span, ", and keep mutable state behind a `Mutex`"),
        None => (receiver.self_token.span, ""),
    };
    errors.push(fault(
        span,
        format_args!("calls run concurrently and share the receiver: write `&self`{advice}"),
    ));
    Site::Method
}

/// Reports that the attribute belongs on an impl block.
fn misplaced(item: TokenStream) -> TokenStream {
    let error = match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Fn(function)) => fault(
            attribute_of(function.sig.ident.span()),
            "`#[operations]` belongs on an impl block: write `#[operation(category = \"…\")]` above a function",
        ),
        Ok(other) => fault(
            attribute_of(keyword(&other)),
            "`#[operations]` belongs on an impl block: move it to one",
        ),
        Err(error) => error.into(),
    };
    let error = error.write_errors();
    quote!(#item #error)
}
