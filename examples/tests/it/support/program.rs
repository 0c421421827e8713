//! Locates the programs of the examples.

use std::path::{Path, PathBuf};

/// Returns the path of the example's program, which cargo builds beside the directory of the test binary.
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
