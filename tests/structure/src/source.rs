//! Parses the modules of a crate to syntax trees, without test code.

use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{Attribute, File, Item, Meta, Visibility};

/// A parsed crate.
pub struct Crate {
    /// The name in the manifest.
    pub name: String,
    /// All modules outside of tests. The root comes first.
    pub modules: Vec<Module>,
}

/// A module in its own file, or an inline module.
pub struct Module {
    /// The names from the crate root to the module. Empty for the root.
    pub path: Vec<String>,
    /// The file of the module, relative to the workspace.
    pub file: PathBuf,
    /// If `true`, the module is the whole file.
    pub owns_file: bool,
    /// If `true`, the module is `pub`.
    pub is_public: bool,
    /// The items, except test code and inline modules.
    pub items: Vec<Item>,
    /// The inner attributes of the file, or the attributes of the inline module.
    pub attributes: Vec<Attribute>,
}

/// Parses the library and the program of the package in `folder`.
///
/// # Panics
///
/// Panics if a source file is missing or not valid Rust. The compiler would reject such a workspace, too.
pub fn read_crate(workspace: &Path, folder: &str) -> Crate {
    let sources = ["src/lib.rs", "src/main.rs", "lib.rs", "main.rs"]
        .into_iter()
        .map(|file| Path::new(folder).join(file))
        .filter(|file| workspace.join(file).exists());
    let mut modules = Vec::new();
    for source in sources {
        let directory = source.parent().map(Path::to_owned).unwrap_or_default();
        // A program next to a library is treated as the module `main`.
        let path = if modules.is_empty() { Vec::new() } else { vec!["main".to_owned()] };
        let is_public = path.is_empty();
        read_file(workspace, &source, &directory, path, is_public, &mut modules);
    }
    assert!(!modules.is_empty(), "{folder} has neither a library nor a program");
    Crate { name: folder.rsplit('/').next().unwrap_or(folder).to_owned(), modules }
}

#[expect(clippy::panic, reason = "a test tool stops at sources that the compiler rejects as well")]
fn read_file(
    workspace: &Path,
    file: &Path,
    children: &Path,
    path: Vec<String>,
    is_public: bool,
    modules: &mut Vec<Module>,
) {
    let text = std::fs::read_to_string(workspace.join(file))
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let File { attrs, items, .. } =
        syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    add_module(workspace, file, children, path, (attrs, items, true, is_public), modules);
}

#[expect(clippy::panic, reason = "a test tool stops at sources that the compiler rejects as well")]
fn add_module(
    workspace: &Path,
    file: &Path,
    children: &Path,
    path: Vec<String>,
    (attributes, items, owns_file, is_public): (Vec<Attribute>, Vec<Item>, bool, bool),
    modules: &mut Vec<Module>,
) {
    let place = modules.len();
    modules.push(Module {
        path: path.clone(),
        file: file.to_owned(),
        owns_file,
        is_public,
        items: Vec::new(),
        attributes,
    });
    let mut own = Vec::new();
    for item in items {
        if is_test_code(item_attributes(&item)) {
            continue;
        }
        let Item::Mod(module) = item else {
            own.push(item);
            continue;
        };
        let name = module.ident.to_string();
        let is_public = matches!(module.vis, Visibility::Public(_));
        let mut path = path.clone();
        path.push(name.clone());
        let below = children.join(&name);
        match module.content {
            Some((_, items)) => {
                let content = (module.attrs, items, false, is_public);
                add_module(workspace, file, &below, path, content, modules);
            }
            None => {
                let flat = children.join(format!("{name}.rs"));
                let nested = below.join("mod.rs");
                let file = [flat, nested]
                    .into_iter()
                    .find(|file| workspace.join(file).exists())
                    .unwrap_or_else(|| panic!("{} has no file for `{name}`", file.display()));
                read_file(workspace, &file, &below, path, is_public, modules);
            }
        }
    }
    if let Some(module) = modules.get_mut(place) {
        module.items = own;
    }
}

/// Returns the attributes of an item. Supports the kinds of items that this workspace uses.
pub fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Returns `true` for items compiled only for tests: those with `#[test]` or `#[cfg(test)]`.
pub fn is_test_code(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || (attribute.path().is_ident("cfg")
                && match &attribute.meta {
                    Meta::List(list) => requires_test(list.tokens.clone()),
                    _ => false,
                })
    })
}

/// Returns `true` if a `cfg` predicate can only hold in tests: `test`, or `all(…)` with `test` in it.
fn requires_test(predicate: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = predicate.into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Ident(name)] => name == "test",
        [TokenTree::Ident(name), TokenTree::Group(group)]
            if name == "all" && group.delimiter() == Delimiter::Parenthesis =>
        {
            let mut parts = vec![TokenStream::new()];
            for token in group.stream() {
                match (&token, parts.last_mut()) {
                    (TokenTree::Punct(punct), _) if punct.as_char() == ',' => {
                        parts.push(TokenStream::new());
                    }
                    (_, Some(part)) => part.extend([token]),
                    (_, None) => {}
                }
            }
            parts.into_iter().any(requires_test)
        }
        _ => false,
    }
}
