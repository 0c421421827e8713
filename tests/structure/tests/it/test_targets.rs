//! Checks that every test runs: each source file is a module of a target, and each file with tests is a module of a
//! target that `cargo test` runs.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::coverage::{root, rust_files};

/// The workspaces of the repository.
const WORKSPACES: [&str; 4] = [".", "bench/aggregator", "crates/mcp-aql-sqlx", "fuzz"];

/// Folders whose files trybuild compiles, and how many levels of folders it finds there.
const CASES: [(&str, usize); 3] =
    [("tests/ui", 1), ("tests/features/ui", 0), ("mcp-aql-derive/tests/errors", 1)];

/// Packages with `test = false` whose tests the step `features` of `.ci/run` names.
const NAMED_BY_A_STEP: &str = "mcp-aql-tests-features";

/// The files of the targets of all packages.
#[derive(Default)]
struct Files {
    /// Folders of the packages.
    folders: Vec<PathBuf>,
    /// Files of all targets.
    compiled: BTreeSet<PathBuf>,
    /// Files of the targets that `cargo test` runs.
    tested: BTreeSet<PathBuf>,
}

fn targets() -> Files {
    let mut files = Files::default();
    for workspace in WORKSPACES {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--no-deps", "--locked", "--offline"])
            .current_dir(root().join(workspace))
            .output()
            .expect("cargo runs");
        let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
        for package in metadata["packages"].as_array().expect("a list") {
            let path = |value: &Value| PathBuf::from(value.as_str().expect("a path"));
            files.folders.push(path(&package["manifest_path"]).with_file_name(""));
            for target in package["targets"].as_array().expect("a list") {
                let mut found = BTreeSet::new();
                modules(path(&target["src_path"]), true, &mut found);
                if target["test"] == true || package["name"] == NAMED_BY_A_STEP {
                    files.tested.extend(found.iter().cloned());
                }
                files.compiled.append(&mut found);
            }
        }
    }
    files
}

/// Returns `true` if trybuild compiles the file.
fn is_case(file: &Path) -> bool {
    CASES.iter().any(|(folder, levels)| {
        let inside = file.strip_prefix(normal(&root().join(folder)));
        inside.is_ok_and(|path| path.components().count() == levels + 1)
    })
}

#[test]
fn every_file_is_a_module_of_a_target() {
    let files = targets();
    let mut lost = BTreeSet::new();
    for folder in &files.folders {
        let mut found = Vec::new();
        rust_files(folder, &mut found);
        lost.extend(
            found.into_iter().filter(|file| !files.compiled.contains(file) && !is_case(file)),
        );
    }
    assert!(files.compiled.len() > 1_000, "only {} files were found", files.compiled.len());
    assert!(
        lost.is_empty(),
        "nothing compiles these files: write `mod` in the file above, or delete them: {lost:#?}"
    );
}

#[test]
fn every_test_is_in_a_target_that_cargo_test_runs() {
    let files = targets();
    for file in files.compiled.difference(&files.tested) {
        let text = std::fs::read_to_string(file).expect("it is readable");
        let is_test = |line: &str| {
            let line = line.trim_start();
            line.starts_with("#[test]") || line.starts_with("#[tokio::test")
        };
        assert!(
            !text.lines().any(is_test),
            "{} has a test that never runs: remove `test = false` of its target from Cargo.toml",
            file.display()
        );
    }
}

/// Resolves the `..` in a path.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut normal, part| {
        match part {
            Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
        normal
    })
}

/// Adds a file, and the files of the modules that it declares. `is_root` is `true` for the file of a target.
fn modules(file: PathBuf, is_root: bool, found: &mut BTreeSet<PathBuf>) {
    let (folder, text) = match std::fs::read_to_string(&file) {
        Ok(text) if is_root || file.ends_with("mod.rs") => (file.with_file_name(""), text),
        Ok(text) => (file.with_extension(""), text),
        Err(_) => return,
    };
    let mut paths = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some((_, rest)) = line.split_once("path = \"").filter(|_| line.starts_with("#[")) {
            paths.extend(rest.split_once('"').map(|(path, _)| file.with_file_name(path)));
        } else if let Some(name) = line
            .split_once("mod ")
            .filter(|(before, _)| before.is_empty() || before.starts_with("pub"))
            .and_then(|(_, rest)| rest.strip_suffix(';'))
        {
            // A path may only hold on some platforms or without a feature.
            paths.extend([folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")]);
            for path in paths.drain(..) {
                modules(normal(&path), false, found);
            }
        }
    }
    found.insert(file);
}
