//! Every unit test runs: a library or a program whose manifest says `test = false` has none.

use std::path::{Path, PathBuf};

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

/// Returns `true` if a section of this kind turns its tests off.
fn turns_tests_off(manifest: &str, header: &str) -> bool {
    let mut sections = manifest.split("\n[").map(|section| section.trim_start_matches('['));
    sections.any(|section| section.starts_with(header) && section.contains("\ntest = false"))
}

#[test]
fn every_unit_test_runs() {
    let mut found = Vec::new();
    manifests(&root(), &mut found);
    let mut off = 0;
    for manifest in found {
        let text = std::fs::read_to_string(&manifest).expect("it is readable");
        let source = manifest.with_file_name("src");
        let is_of_program =
            |file: &PathBuf| file.ends_with("src/main.rs") || file.starts_with(source.join("bin"));
        let mut files = Vec::new();
        rust_files(&source, &mut files);
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
