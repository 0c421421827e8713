//! Tests that set what a process has once, such as the subscriber of `tracing` or a global provider.

use std::process::Command;

/// The test that this process was started for.
const ALONE: &str = "TEST_ALONE";

/// Returns `true` in a process in which only this test runs. Otherwise starts such a process, and fails if the test fails in
/// it.
pub(crate) fn runs_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some_and(|alone| alone == test) {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args([test, "--exact", "--nocapture"]).env(ALONE, test).output().unwrap();
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    // A name that is not exact runs no test, which succeeds.
    let passed = output.status.success() && stdout.contains("test result: ok. 1 passed");
    assert!(passed, "{stdout}{stderr}");
    false
}
