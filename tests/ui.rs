//! Compile errors as users see them. Each case is named after its error, and its `.stderr` holds the complete output of
//! rustc. Update with `TRYBUILD=overwrite cargo test --test ui`, and review the diff.

use std::env;
use std::process::Command;

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
            .args(env::args_os().skip(1))
            .env("RUST_TEST_NOCAPTURE", "1")
            .env(RUSTFLAGS_VARIABLE, FLAGS.join("\x1f"))
            .status()
            .expect("what runs once runs twice");
        assert!(again.success(), "see above");
        return;
    }
    let cases = trybuild::TestCases::new();
    cases.compile_fail("ui/operation/*.rs");
    cases.compile_fail("ui/operations/*.rs");
    cases.compile_fail("ui/param_group/*.rs");
    cases.compile_fail("ui/operation_error/*.rs");
    cases.compile_fail("ui/several/*.rs");
    cases.compile_fail("ui/create_input/*.rs");
    cases.compile_fail("ui/update_input/*.rs");
    cases.compile_fail("ui/update_input/rustc/*.rs");
    cases.compile_fail("ui/ready_operations/*.rs");
    cases.compile_fail("ui/resource/*.rs");
    cases.compile_fail("ui/resource/rustc/*.rs");
    cases.compile_fail("ui/computed_fields/*.rs");
    cases.compile_fail("ui/computed_fields/rustc/*.rs");
    cases.compile_fail("ui/query/*.rs");
    cases.compile_fail("ui/query/rustc/*.rs");
    cases.compile_fail("ui/danger/*.rs");
    cases.compile_fail("ui/lifecycle/*.rs");
    cases.compile_fail("ui/rustc/*.rs");
}
