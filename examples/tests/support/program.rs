//! Where the examples are.

use std::path::{Path, PathBuf};

/// The example's program, which cargo puts beside the directory of this test's own.
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
