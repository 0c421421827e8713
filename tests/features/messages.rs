//! Tests the messages about disabled features at run time.

use std::process::Command;

#[test]
fn http_without_its_feature_is_one_sentence_that_names_it() {
    for arguments in [
        &["serve", "--http", "127.0.0.1:0"][..],
        &["serve", "--http=127.0.0.1:0"],
        &["serve", "--http"],
        &[
            "serve",
            "--http",
            "127.0.0.1:0",
            "--allow-origin",
            "http://localhost:3000",
            "--stateless",
        ],
    ] {
        let program = env!("CARGO_BIN_EXE_mcp-aql-without-http");
        let output = Command::new(program).args(arguments).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(
            stderr.contains("`--http` needs the feature `http` of `mcp-aql`, but this program was built without it")
                && stderr.contains("add \"http\" to the `features` of `mcp-aql` in its Cargo.toml")
                && stderr.lines().count() == 1,
            "{stderr}"
        );
    }
}

#[test]
fn metrics_without_their_feature_are_one_sentence_that_names_it() {
    for arguments in [
        &["serve", "--metrics", "127.0.0.1:0"][..],
        &["serve", "--metrics", "--allow-remote-metrics"],
    ] {
        let program = env!("CARGO_BIN_EXE_mcp-aql-without-http");
        let output = Command::new(program).args(arguments).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(
            stderr.contains("`--metrics` needs the feature `metrics` of `mcp-aql`")
                && stderr
                    .contains("add \"metrics\" to the `features` of `mcp-aql` in its Cargo.toml")
                && stderr.lines().count() == 1,
            "{stderr}"
        );
    }
}

#[test]
fn help_does_not_offer_http_or_metrics() {
    let program = env!("CARGO_BIN_EXE_mcp-aql-without-http");
    let output = Command::new(program).args(["serve", "--help"]).output().expect("it runs");
    let help = String::from_utf8_lossy(&output.stdout);
    assert!(!help.contains("--http") && !help.contains("--metrics"), "{help}");
}
