//! Counts lines of functions and files, conditional compilation, and files without a summary.

use std::path::Path;

use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, ImplItemFn, Item, ItemFn, Signature, TraitItemFn, Visibility};

use crate::cycles::use_paths;
use crate::source::{Crate, is_test_code, item_attributes};

/// A number with the location that it was counted at.
pub struct Count {
    /// The counted number.
    pub number: usize,
    /// The file. Ends with the line number, if there is one.
    pub location: String,
}

/// Counts the lines of each function outside of tests, from the signature to the closing brace.
pub fn functions(source: &Crate) -> Vec<Count> {
    let mut found = Vec::new();
    for module in &source.modules {
        let mut functions = Functions { file: &module.file, found: &mut found };
        for item in &module.items {
            functions.visit_item(item);
        }
    }
    found
}

struct Functions<'a> {
    file: &'a Path,
    found: &'a mut Vec<Count>,
}

impl Functions<'_> {
    fn add(&mut self, signature: &Signature, block: &Block) {
        let start = signature.span().start().line;
        let number = block.span().end().line + 1 - start;
        let location = format!("{}:{start} {}", self.file.display(), signature.ident);
        self.found.push(Count { number, location });
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !is_test_code(&item.attrs) {
            self.add(&item.sig, &item.block);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_test_code(&item.attrs) {
            self.add(&item.sig, &item.block);
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(block) = &item.default {
            self.add(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

/// Counts the lines of each source file before its first `#[cfg(test)]`.
pub fn files(source: &Crate, workspace: &Path) -> Vec<Count> {
    let mut found = Vec::new();
    for module in source.modules.iter().filter(|module| module.owns_file) {
        let Ok(text) = std::fs::read_to_string(workspace.join(&module.file)) else { continue };
        let number = text.lines().take_while(|line| line.trim() != "#[cfg(test)]").count();
        found.push(Count { number, location: module.file.display().to_string() });
    }
    found
}

/// Returns the source files whose first line is not a `//!` comment.
pub fn files_without_summary(source: &Crate) -> Vec<String> {
    let has_summary = |attributes: &[Attribute]| {
        attributes.iter().any(|attribute| attribute.path().is_ident("doc"))
    };
    let files = source.modules.iter().filter(|module| module.owns_file);
    files
        .filter(|module| !has_summary(&module.attributes))
        .map(|module| module.file.display().to_string())
        .collect()
}

/// Returns the `cfg` and `cfg_attr` attributes outside of tests, except on `mod` and `use` items.
pub fn conditions(source: &Crate) -> Vec<String> {
    let mut found = Vec::new();
    for module in &source.modules {
        let mut conditions = Conditions { file: &module.file, found: &mut found };
        for item in &module.items {
            match item {
                Item::Use(_) | Item::Mod(_) => {}
                item => conditions.visit_item(item),
            }
        }
    }
    found
}

struct Conditions<'a> {
    file: &'a Path,
    found: &'a mut Vec<String>,
}

impl<'ast> Visit<'ast> for Conditions<'_> {
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let path = attribute.path();
        let conditional = path.is_ident("cfg") || path.is_ident("cfg_attr");
        if conditional && !is_test_code(std::slice::from_ref(attribute)) {
            let line = attribute.span().start().line;
            self.found.push(format!("{}:{line}", self.file.display()));
        }
    }
}

/// Returns the public names at the root of a crate, except hidden ones.
pub fn root_names(source: &Crate) -> Vec<String> {
    let mut found = Vec::new();
    let Some(root) = source.modules.first() else { return found };
    for item in &root.items {
        let hidden = item_attributes(item)
            .iter()
            .any(|attribute| attribute.to_token_stream().to_string().contains("hidden"));
        if let Item::Use(item) = item
            && matches!(item.vis, Visibility::Public(_))
            && !hidden
        {
            use_paths(&item.tree, &mut Vec::new(), &mut |_, name| found.extend(name));
        }
    }
    let children =
        source.modules.iter().filter(|module| module.path.len() == 1 && module.is_public);
    found.extend(children.filter_map(|module| module.path.first().cloned()));
    found.sort();
    found.dedup();
    found
}
