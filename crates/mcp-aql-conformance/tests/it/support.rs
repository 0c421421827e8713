//! Finds the servers that the tests run the command against.

use std::path::{Path, PathBuf};

/// Returns the path of the example `server_fixture`. Cargo builds it with all tests, but not for `--test it` alone. If
/// you run only these tests, build it first.
pub(crate) fn fixture() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.parent().and_then(Path::parent).unwrap();
    let name = format!("server_fixture{}", std::env::consts::EXE_SUFFIX);
    let program = target.join("examples").join(name);
    assert!(
        program.exists(),
        "run `cargo build -p mcp-aql-conformance --example server_fixture` first"
    );
    program
}
