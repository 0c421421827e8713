//! Bytes on a connection: lines of JSON-RPC come back, each with a result or an error, and the
//! session ends when the bytes do.
#![no_main]

use std::sync::LazyLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use mcp_aql::prelude::*;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::{Builder, Runtime};

/// Give back what comes.
#[operation(category = "READ", rationale = "It changes nothing")]
async fn echo(
    /// Text.
    text: Option<String>,
    /// How often to wait before the answer.
    #[param(maximum = 3)]
    number: Option<u8>,
    context: Context,
) -> Option<String> {
    for step in 0..number.unwrap_or(0) {
        context.progress(f64::from(step + 1), None, "step").await;
        tokio::task::yield_now().await;
    }
    text
}

static ADAPTER: LazyLock<Adapter> = LazyLock::new(|| {
    Adapter::builder("fuzz")
        .operation(echo {})
        .without_config()
        .build()
        .expect("the adapter is sound")
});

thread_local! {
    static RUNTIME: Runtime =
        Builder::new_current_thread().enable_time().build().expect("a runtime starts");
}

/// A call after all that, which is answered if the session was opened.
const HELLO: &[u8] = br#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"f","version":"1"}}}
"#;
const LAST: &[u8] = br#"
{"jsonrpc":"2.0","id":"last","method":"tools/call","params":{"name":"mcp_aql_read","arguments":{"operation":"echo"}}}
"#;

fuzz_target!(|bytes: &[u8]| {
    RUNTIME.with(|runtime| {
        runtime.block_on(async {
            let (client, server) = tokio::io::duplex(bytes.len() + 4096);
            let serving = tokio::spawn(async move { ADAPTER.serve(server).await });
            let (mut read, mut write) = tokio::io::split(client);
            write.write_all(HELLO).await.expect("the server reads");
            write.write_all(bytes).await.expect("the server reads");
            write.write_all(LAST).await.expect("the server reads");
            write.shutdown().await.expect("the server reads");
            let mut answers = Vec::new();
            let all = read.read_to_end(&mut answers);
            tokio::time::timeout(Duration::from_secs(10), all)
                .await
                .expect("an end")
                .expect("bytes");
            let answers = std::str::from_utf8(&answers).expect("answers are text");
            let mut last = 0;
            for line in answers.lines() {
                let answer: Value = serde_json::from_str(line).expect("an answer is JSON");
                assert_eq!(answer["jsonrpc"], "2.0");
                if answer.get("method").is_some() {
                    assert_eq!(answer["method"], "notifications/progress");
                    continue;
                }
                assert!(answer.get("result").is_some() != answer.get("error").is_some(), "{line}");
                last += usize::from(answer["id"] == "last");
            }
            assert!(last >= 1, "the last call was not answered: {answers}");
            let _ = serving.await.expect("no panic");
        });
    });
});
