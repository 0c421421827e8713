//! Runs the command against servers that exit, hang, flood or send garbage.
//!
//! The command must end with a clear verdict and the right exit code, in bounded time and memory.

/// Defines a test for each server: its name, and strings that the report must contain.
macro_rules! servers {
    ($($(#[$attribute:meta])* $name:ident => [$($told:expr),+ $(,)?]),+ $(,)?) => { $(
        $(#[$attribute])*
        #[test]
        fn $name() {
            let case = Case { name: stringify!($name), told: &[$($told),+] };
            let ran = run(&case);
            super::check(&case, &ran);
        }
    )+ };
}

mod http;
mod stdio;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit for a run of a debug build on a busy machine.
const RUN_TIMEOUT: Duration = Duration::from_secs(60);
/// Memory limit for the command.
const MAX_MEMORY_KIB: u64 = 96 << 10;

/// A server and the strings expected in the report.
struct Case {
    name: &'static str,
    /// Strings that the report must contain.
    told: &'static [&'static str],
}

/// The message about a server that does not answer the first request within [`Case::patience`].
const NO_START: &str = "no answer to `initialize` within 1200 ms";

impl Case {
    /// Returns the time limit of a request, in seconds.
    ///
    /// The limit is short for servers that never respond. For the others it is long enough for a busy machine.
    fn patience(&self) -> &'static str {
        if self.told.iter().any(|told| told.starts_with("no answer ")) { "0.4" } else { "10" }
    }
}

/// The outcome of a run of the command.
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    took: Duration,
    peak_kib: u64,
}

/// Fails the test if the outcome is not the expected one.
fn check(case: &Case, ran: &Ran) {
    let faults = faults(case, ran);
    let (took, peak) = (ran.took.as_secs_f64(), ran.peak_kib as f64 / 1024.0);
    assert!(
        faults.is_empty(),
        "{took:.1} s, {peak:.0} MiB\n{}\n--- stdout\n{}--- stderr\n{}",
        faults.join("\n"),
        ran.stdout,
        ran.stderr
    );
}

fn faults(case: &Case, ran: &Ran) -> Vec<String> {
    let mut faults = Vec::new();
    if ran.code != Some(1) {
        faults.push(format!("exit code {:?} instead of 1", ran.code));
    }
    for told in case.told {
        if !ran.stdout.contains(told) {
            faults.push(format!("`{told}` is missing in the report"));
        }
    }
    if ran.stderr.contains("panicked") || ran.stderr.contains("error:") {
        faults.push("the command failed".to_owned());
    }
    if ran.stdout.contains('\u{1b}') {
        faults.push("the output contains control characters".to_owned());
    }
    if ran.took > RUN_TIMEOUT {
        faults.push(format!("took {:?}", ran.took));
    }
    if ran.peak_kib > MAX_MEMORY_KIB {
        faults.push(format!("needed {} KiB", ran.peak_kib));
    }
    faults
}

/// Runs `test` with small time limits and this configuration.
fn run(case: &Case, config: &str, arguments: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("conformance.toml");
    std::fs::write(&file, format!("[limits]\nrun_seconds = 15\n{config}")).unwrap();
    let started = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-aql-conformance"))
        .args(["test", "--timeout", case.patience(), "--config"])
        .arg(&file)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = read(command.stdout.take().unwrap());
    let stderr = read(command.stderr.take().unwrap());
    let mut peak_kib = 0;
    let status = loop {
        peak_kib = peak_kib.max(peak_of(command.id()));
        if let Some(status) = command.try_wait().unwrap() {
            break Some(status);
        }
        if started.elapsed() > RUN_TIMEOUT {
            command.kill().unwrap();
            command.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Ran {
        code: status.and_then(|status| status.code()),
        took: started.elapsed(),
        stdout: stdout.join().unwrap(),
        stderr: stderr.join().unwrap(),
        peak_kib,
    }
}

fn read(mut from: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Returns the peak memory of a process in KiB, or 0 if the system does not report it.
fn peak_of(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
