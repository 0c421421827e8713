//! Checks the order of dependencies between the crates of this workspace.

use std::collections::BTreeMap;
use std::path::Path;

/// The crates to check, with their folders. A crate may only depend on crates above it in this list. If you add a
/// crate, put it below all crates that it depends on.
pub const CRATES: [(&str, &str); 18] = [
    ("mcp-aql-protocol", "crates/mcp-aql-protocol"),
    ("mcp-aql-text", "crates/mcp-aql-text"),
    ("mcp-aql-rank", "crates/mcp-aql-rank"),
    ("mcp-aql-client", "crates/mcp-aql-client"),
    ("mcp-aql-generate", "crates/mcp-aql-generate"),
    ("mcp-aql-derive", "mcp-aql-derive"),
    ("mcp-aql-conformance", "crates/mcp-aql-conformance"),
    ("mcp-aql-core", "crates/mcp-aql-core"),
    ("mcp-aql-telemetry", "crates/mcp-aql-telemetry"),
    ("mcp-aql-query", "crates/mcp-aql-query"),
    ("mcp-aql-sqlx", "crates/mcp-aql-sqlx"),
    ("mcp-aql-stores", "crates/mcp-aql-stores"),
    ("mcp-aql-server", "crates/mcp-aql-server"),
    ("mcp-aql-safety", "crates/mcp-aql-safety"),
    ("mcp-aql-metrics", "crates/mcp-aql-metrics"),
    ("mcp-aql-cli", "crates/mcp-aql-cli"),
    ("mcp-aql", "mcp-aql"),
    ("mcp-aql-aggregator", "crates/mcp-aql-aggregator"),
];

/// Returns the dependencies of each crate on others in [`CRATES`], without dev-dependencies.
///
/// ```toml
/// [dependencies]
/// mcp-aql-protocol = { version = "=0.1.0", path = "../mcp-aql-protocol", features = ["serde"] }
/// ```
///
/// # Panics
///
/// Panics if a manifest is missing or is not valid TOML.
#[expect(clippy::panic, reason = "a test tool stops at manifests that cargo refuses as well")]
pub fn edges(workspace: &Path) -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut found = BTreeMap::new();
    for (name, folder) in CRATES {
        let manifest = workspace.join(folder).join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest)
            .unwrap_or_else(|error| panic!("{}: {error}", manifest.display()));
        let manifest: toml::Table =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", manifest.display()));
        let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
        let own = CRATES
            .iter()
            .map(|(name, _)| *name)
            .filter(|other| dependencies.is_some_and(|table| table.contains_key(*other)));
        found.insert(name, own.collect());
    }
    found
}

/// Returns the dependencies on crates further down in [`CRATES`].
pub fn forbidden(edges: &BTreeMap<&'static str, Vec<&'static str>>) -> Vec<String> {
    let position = |name: &str| CRATES.iter().position(|(other, _)| *other == name);
    let mut found = Vec::new();
    for (from, targets) in edges {
        for to in targets {
            if position(to) >= position(from) {
                found.push(format!("{from} depends on {to}"));
            }
        }
    }
    found
}
