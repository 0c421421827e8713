//! Runs a test in its own process, because some settings can be made only once in a process: for example the subscriber
//! of `tracing`.

use std::process::Command;

/// The environment variable with the test for which this process was started.
const ALONE: &str = "TEST_ALONE";

/// Returns `true` in a process that runs only this test. Otherwise starts such a process, and panics if the test fails
/// there.
///
/// Call it first in your test with the complete name of the test, for example
/// `executions::the_command_line_waits_for_the_end`, and return if it is `false`. In the other
/// process, your test then runs alone.
pub(crate) fn runs_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some_and(|alone| alone == test) {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args([test, "--exact", "--nocapture"]).env(ALONE, test).output().unwrap();
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    // An incomplete name would match no test, and running no test counts as a success.
    let passed = output.status.success() && stdout.contains("test result: ok. 1 passed");
    assert!(passed, "{stdout}{stderr}");
    false
}
