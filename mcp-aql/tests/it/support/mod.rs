//! Helpers of the MCP tests: the adapter of the fixture, as a value and as a program.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "some parts are used only with the features of a test"
)]

pub mod adapter;
pub mod works;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;

/// Waits until a counter reaches a value.
pub async fn reached(counter: &Arc<watch::Sender<u32>>, count: u32) {
    let mut counter = counter.subscribe();
    let reached = counter.wait_for(|seen| *seen >= count);
    let reached = tokio::time::timeout(std::time::Duration::from_secs(60), reached).await;
    assert!(reached.is_ok(), "the counter has not reached {count}");
}

/// Returns the path of the fixture's program.
pub fn program() -> PathBuf {
    example("mcp_fixture")
}

/// Returns the path of an example's program. Cargo builds the examples with all tests, but not with `--test it` alone.
/// If you run only these tests, build it first.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.parent().and_then(std::path::Path::parent).unwrap();
    let program = target.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "run `cargo build -p mcp-aql --example {name}` first");
    program
}

/// Returns a command for the program. Adapter settings of the test's environment are removed.
pub fn command() -> std::process::Command {
    let mut command = std::process::Command::new(program());
    for variable in ["MCP_AQL_ENDPOINT_MODE", "MCP_AQL_ENDPOINT_PROFILE", "MCP_AQL_TOOL_PREFIX"] {
        command.env_remove(variable);
    }
    command.env("MCP_AQL_LOG", "off").env("RUST_BACKTRACE", "0");
    command
}
