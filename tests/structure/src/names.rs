//! Finds type names that a crate defines twice, and counts its public modules and the features of the facade.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::Item;

use crate::source::Crate;

/// Returns the names of types and traits that several files of a crate define, with the files.
///
/// Stand-ins for a feature or a platform are not read, because they are never compiled together with what they replace.
pub fn repeated_types(source: &Crate) -> Vec<String> {
    let mut files: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for module in &source.modules {
        for item in &module.items {
            let name = match item {
                Item::Enum(item) => &item.ident,
                Item::Struct(item) => &item.ident,
                Item::Trait(item) => &item.ident,
                Item::Type(item) => &item.ident,
                _ => continue,
            };
            files.entry(name.to_string()).or_default().insert(module.file.display().to_string());
        }
    }
    let repeated = files.into_iter().filter(|(_, files)| files.len() > 1);
    let shown = |files: BTreeSet<String>| files.into_iter().collect::<Vec<_>>().join(", ");
    repeated.map(|(name, files)| format!("{name}: {}", shown(files))).collect()
}

/// Returns the public modules at the root of a crate.
pub fn public_modules(source: &Crate) -> Vec<String> {
    let modules = source.modules.iter();
    modules
        .filter(|module| module.path.len() == 1 && module.is_public)
        .filter_map(|module| module.path.first().cloned())
        .collect()
}

/// Returns the features in a manifest, without `default`.
///
/// ```toml
/// [features]
/// default = ["cli"]
/// cli = []
/// http = []
/// ```
///
/// Here these are `cli` and `http`.
///
/// # Panics
///
/// Panics if the manifest is missing, is not TOML or has no features.
#[expect(clippy::expect_used, reason = "a test tool stops at manifests that cargo rejects as well")]
pub fn features(manifest: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(manifest).expect("the manifest is a file");
    let table = text.parse::<toml::Table>().expect("the manifest is TOML");
    let features = table.get("features").and_then(toml::Value::as_table).expect("it has features");
    let names = features.keys();
    names.filter(|name| *name != "default").cloned().collect()
}
