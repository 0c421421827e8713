//! Checks that every test runs.
//!
//! A target with `test = false` in its manifest must not contain tests, unless another package compiles them. Each file
//! of the integration tests must be a module of theirs.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::coverage::{root, rust_files};

fn manifests(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if name == "Cargo.toml" {
            found.push(path);
        } else if path.is_dir() && name != "target" && !name.to_string_lossy().starts_with('.') {
            manifests(&path, found);
        }
    }
}

/// Returns `true` if a section with this header disables its tests.
fn turns_tests_off(manifest: &str, header: &str) -> bool {
    let mut sections = manifest.split("\n[").map(|section| section.trim_start_matches('['));
    sections.any(|section| section.starts_with(header) && section.contains("\ntest = false"))
}

#[test]
fn every_unit_test_runs() {
    let mut found = Vec::new();
    manifests(&normal(&root()), &mut found);
    let included = modules_of_tests(&found);
    let mut off = 0;
    for manifest in found {
        let text = std::fs::read_to_string(&manifest).expect("it is readable");
        let source = manifest.with_file_name("src");
        // A program may have its files directly in the package's folder, without `src`.
        let main = manifest.with_file_name("main.rs");
        let is_of_program = |file: &PathBuf| {
            file.ends_with("src/main.rs") || file.starts_with(source.join("bin")) || main.exists()
        };
        let mut files = Vec::new();
        rust_files(
            if main.exists() { main.parent().expect("a folder") } else { &source },
            &mut files,
        );
        files.retain(|file| !included.contains(file));
        let (programs, library): (Vec<_>, Vec<_>) = files.into_iter().partition(is_of_program);
        for (header, files) in [("lib]", library), ("bin]]", programs)] {
            if !turns_tests_off(&text, header) {
                continue;
            }
            off += 1;
            for file in files {
                let text = std::fs::read_to_string(&file).expect("it is readable");
                let is_test = |line: &str| {
                    let line = line.trim_start();
                    line.starts_with("#[test]") || line.starts_with("#[tokio::test")
                };
                assert!(!text.lines().any(is_test), "{}: `test = false`", file.display());
            }
        }
    }
    assert!(off > 10, "only {off} were found");
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

/// Adds a file, and the files of the modules that it declares.
fn modules(file: PathBuf, found: &mut BTreeSet<PathBuf>) {
    let (folder, text) = match std::fs::read_to_string(&file) {
        Ok(text) if file.ends_with("main.rs") || file.ends_with("mod.rs") => {
            (file.with_file_name(""), text)
        }
        Ok(text) => (file.with_extension(""), text),
        Err(_) => return,
    };
    let mut path = None;
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("#[path = \"") {
            path = rest.split_once('"').map(|(path, _)| file.with_file_name(path));
        } else if let Some(name) = line
            .split_once("mod ")
            .filter(|(before, _)| before.is_empty() || before.starts_with("pub"))
            .map(|(_, rest)| rest)
            && let Some(name) = name.strip_suffix(';')
        {
            let places = [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")];
            for place in path.take().map_or(places.to_vec(), |path| vec![path]) {
                modules(normal(&place), found);
            }
        }
    }
    found.insert(file);
}

/// Returns the files of the integration tests of all packages.
fn modules_of_tests(manifests: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for manifest in manifests {
        modules(normal(&manifest.with_file_name("tests").join("it/main.rs")), &mut found);
    }
    found
}

#[test]
fn every_file_of_the_integration_tests_is_a_module() {
    let mut manifests_found = Vec::new();
    manifests(&normal(&root()), &mut manifests_found);
    let included = modules_of_tests(&manifests_found);
    let mut files = Vec::new();
    for manifest in &manifests_found {
        rust_files(&manifest.with_file_name("tests").join("it"), &mut files);
    }
    assert!(files.len() > 100, "only {} files were found", files.len());
    let lost: Vec<_> = files.iter().filter(|file| !included.contains(*file)).collect();
    assert!(lost.is_empty(), "no `mod` names {lost:?}");
}
