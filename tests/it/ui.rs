//! Compile errors as users see them, for cases that need rustc. Each case is named after its error, and its `.stderr` holds
//! the complete output of rustc. Update with
//! `TRYBUILD=overwrite cargo test -p mcp-aql-tests --all-features -- ui`, and review the diff.

#![expect(clippy::expect_used, reason = "a test that cannot go on panics, in its helpers too")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The variable with rustc flags that cargo reads first.
const RUSTFLAGS_VARIABLE: &str = "CARGO_ENCODED_RUSTFLAGS";
/// The flags that trybuild passes to rustc.
const FLAGS: [&str; 6] =
    ["--cfg", "trybuild", "--verbose", "-A", "dead_code", "--diagnostic-width=140"];

#[test]
fn compile_errors() {
    // REQ-RQ-04, REQ-RQ-10, REQ-CLS-02, REQ-CLS-06, REQ-CLS-08, REQ-CLS-10, REQ-UPD-01, REQ-UPD-06

    // trybuild omits the width while it builds the dependencies of the cases, which would build them twice with
    // different flags.
    if env::var_os(RUSTFLAGS_VARIABLE).is_none() {
        let program = env::current_exe().expect("a test is a program");
        let again = Command::new(program)
            .args(["--exact", "ui::compile_errors"])
            .args(env::args_os().filter(|it| it.to_string_lossy().starts_with("trybuild=")))
            .env("RUST_TEST_NOCAPTURE", "1")
            .env(RUSTFLAGS_VARIABLE, FLAGS.join("\x1f"))
            .status()
            .expect("what runs once runs twice");
        assert!(again.success(), "see above");
        return;
    }
    let cases = trybuild::TestCases::new();
    cases.compile_fail(programs_of_macros());
    for folder in entries(Path::new("ui")) {
        cases.compile_fail(folder.join("*.rs"));
    }
}

/// Writes one program per folder of `mcp-aql-derive/tests/errors`, with its cases as modules and all their errors as
/// `.stderr`: rustc must report what the tests of that crate expect, and nothing else. Returns the pattern of the programs.
fn programs_of_macros() -> PathBuf {
    let macros = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("mcp-aql-derive");
    let programs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("errors");
    drop(fs::remove_dir_all(&programs)); // programs of folders that are gone
    fs::create_dir_all(&programs).expect("the target directory is writable");
    for folder in entries(&macros.join("tests/errors")) {
        let cases = entries(&folder).into_iter();
        let cases = cases.filter(|file| file.extension().is_some_and(|it| it == "rs"));
        let (mut program, mut errors) = ("fn main() {}\n".to_owned(), Vec::new());
        for (number, case) in cases.enumerate() {
            program += &format!("#[path = {case:?}]\nmod case_{number};\n");
            let stored = fs::read_to_string(case.with_extension("stderr")).unwrap_or_default();
            errors.push(stored.lines().map(without_line_number).collect::<String>());
        }
        let file = programs.join(folder.file_name().expect("a folder has a name"));
        fs::write(file.with_extension("rs"), program).expect("the target directory is writable");
        fs::write(file.with_extension("stderr"), errors.join("\n"))
            .expect("the target directory is writable");
    }
    programs.join("*.rs")
}

/// Returns a line of an error as trybuild shows it for a module of the program.
fn without_line_number(line: &str) -> String {
    let text = line.trim_start_matches(|it: char| it == ' ' || it.is_ascii_digit());
    match text.strip_prefix("--> ").and_then(|place| place.split_once(':')) {
        Some((path, _)) => format!(" --> $WORKSPACE/mcp-aql-derive/{path}\n"),
        None if text.starts_with('|') => format!("  {text}\n"),
        None => format!("{line}\n"),
    }
}

/// Returns the sorted paths in a folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder can be read");
    let mut paths: Vec<_> =
        entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    paths
}
