//! Build script: finds the commit of the source, for `--version`.

#[path = "build/commit.rs"]
mod commit;

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");
    let package = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    // Other builds have no commit, because they would compile this crate again after each commit.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let Some(source) = commit::of_package(Path::new(&package), is_release) else { return };
    for file in source.changes_with {
        println!("cargo:rerun-if-changed={file}");
    }
    println!("cargo:rustc-env=MCP_AQL_COMMIT={}", source.commit);
}
