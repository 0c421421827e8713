//! Counts the settings of adapters and commands: keys of the configuration file, methods of builders, and flags.
//!
//! A flag that is made from the declaration of its key counts with the key. The fields of the tables in a list, such as
//! those of a policy, are the form of one value.

use std::path::Path;

use quote::ToTokens as _;
use syn::{Attribute, FnArg, ImplItem, Item, Receiver, ReturnType, Type, Visibility};

use crate::source::Crate;

/// The types whose methods are settings.
const BUILDERS: [&str; 2] = ["AdapterBuilder", "HttpOptions"];

/// Returns all settings: the paths of keys, the methods of builders, and the positions of flags.
pub fn settings(crates: &[Crate], workspace: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for module in crates.iter().flat_map(|source| &source.modules) {
        found.extend(module.items.iter().flat_map(methods));
        if !module.owns_file {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(workspace.join(&module.file)) else { continue };
        let text = text.split("#[cfg(test)]\nmod").next().unwrap_or_default();
        let keys = text.split("Key::new(").skip(1);
        let keys = keys.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
        found.extend(keys.map(|key| format!("key {key}")));
        let flags = text.split("#[arg(").skip(1).filter_map(|rest| rest.split_once(")]"));
        let is_flag = |options: &str| options.contains("long") && !options.contains("hide");
        let flags = flags.filter(|(options, _)| is_flag(options));
        found.extend(flags.map(|(_, field)| {
            let field = field.lines().find(|line| line.contains(':')).unwrap_or_default();
            format!("flag {}: {}", module.file.display(), field.trim())
        }));
    }
    found
}

/// Returns the methods of an item that change a builder.
fn methods(item: &Item) -> Vec<String> {
    let Item::Impl(block) = item else { return Vec::new() };
    let Type::Path(own) = &*block.self_ty else { return Vec::new() };
    let Some(builder) = BUILDERS.into_iter().find(|name| own.path.is_ident(name)) else {
        return Vec::new();
    };
    let is_trait = block.trait_.is_some();
    let methods = block.items.iter().filter_map(|item| match item {
        ImplItem::Fn(method) => Some(method),
        _ => None,
    });
    let changes = methods.filter(|method| {
        let is_public = is_trait || matches!(method.vis, Visibility::Public(_));
        let receiver = method.sig.inputs.first();
        let by_value = matches!(receiver, Some(FnArg::Receiver(own)) if !is_borrowed(own));
        let returns_self = matches!(&method.sig.output, ReturnType::Type(_, of) if matches!(
            &**of, Type::Path(path) if path.path.is_ident("Self")
        ));
        is_public && by_value && returns_self && !method.attrs.iter().any(is_hidden)
    });
    changes.map(|method| format!("method {builder}::{}", method.sig.ident)).collect()
}

/// Returns `true` for `&self` and `&mut self`.
fn is_borrowed(receiver: &Receiver) -> bool {
    receiver.to_token_stream().to_string().starts_with('&')
}

/// Returns `true` for `#[doc(hidden)]`.
fn is_hidden(attribute: &Attribute) -> bool {
    attribute.path().is_ident("doc")
        && attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "hidden")
}
