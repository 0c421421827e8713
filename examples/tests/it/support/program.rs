//! Locates the programs of the examples.

use std::path::{Path, PathBuf};

/// Returns the path of an example's program. Cargo builds it next to the directory of the test binary.
pub(crate) fn program(example: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let program =
        profile.join("examples").join(format!("{example}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.exists(),
        "'{}' is missing: run the tests of the whole package, or `cargo build --examples` first",
        program.display()
    );
    program
}
