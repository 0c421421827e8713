//! Simulates clients on standard input and output that stop reading, or disconnect.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::timeout;

use crate::Fault;
use crate::http::tool_call;
use crate::process::Process;
use crate::report::Report;

/// Size of a response in bytes, and number of responses that a client requests without reading them.
const ANSWER_BYTES: usize = 16 << 10;
const CALLS: u64 = 20_000;
/// Maximum increase of memory for a client that does not read, in KiB. Its responses have 312 MiB in total.
const MAX_BUFFERED_KIB: u64 = 64 << 10;
/// Maximum duration of a step.
const STEP_TIMEOUT: Duration = Duration::from_secs(120);

fn line(id: u64, operation: &str, params: &Value) -> String {
    let arguments = json!({ "operation": operation, "params": params });
    format!("{}\n", tool_call(id, arguments))
}

pub(crate) fn hello() -> String {
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "soak", "version": "1" },
    } });
    format!("{hello}\n{}\n", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
}

pub(crate) async fn run(report: &mut Report) -> Result<(), Fault> {
    report.part("standard input and output");
    stops_reading(report).await?;
    let (mut ended, many) = (0, 20_u64);
    for index in 0..many {
        ended += u64::from(vanishes(index).await?);
    }
    report.check(
        "vanishes mid-call: the adapter ends well",
        format!("{ended} of {many}"),
        ended == many,
    );
    Ok(())
}

/// Starts an adapter and initializes MCP. Returns the process with its pipes.
async fn connect() -> Result<(Process, ChildStdin, Lines<BufReader<ChildStdout>>), Fault> {
    let mut process = Process::start(&["stdio".to_owned()])?;
    let mut input = process.child.stdin.take().ok_or("no standard input")?;
    let output = process.child.stdout.take().ok_or("no standard output")?;
    let mut lines = BufReader::new(output).lines();
    input.write_all(hello().as_bytes()).await?;
    timeout(STEP_TIMEOUT, lines.next_line()).await??.ok_or("no answer")?;
    Ok((process, input, lines))
}

async fn stops_reading(report: &mut Report) -> Result<(), Fault> {
    let (mut process, mut input, mut lines) = connect().await?;
    let base = process.memory()?;
    let writer = tokio::spawn(async move {
        for id in 1..=CALLS {
            input
                .write_all(line(id, "get_bulk", &json!({ "bytes": ANSWER_BYTES })).as_bytes())
                .await?;
        }
        Ok::<_, std::io::Error>(input)
    });
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (held, piled) = (!writer.is_finished(), process.memory()?.saturating_sub(base));
    report.check("stops reading: further calls wait", held, held);
    report.check("stops reading: buffered output (MiB)", piled >> 10, piled < MAX_BUFFERED_KIB);
    let mut seen = std::collections::HashSet::new();
    for _ in 0..CALLS {
        let line =
            timeout(STEP_TIMEOUT, lines.next_line()).await??.ok_or("an answer is missing")?;
        let answer: Value = serde_json::from_str(&line)?;
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        if text.len() > ANSWER_BYTES {
            seen.insert(answer["id"].as_u64());
        }
    }
    let all = seen.len() as u64 == CALLS;
    report.check("then reads on: each answer once", seen.len(), all);
    drop(timeout(STEP_TIMEOUT, writer).await???);
    let status = timeout(STEP_TIMEOUT, process.child.wait()).await??;
    report.check("then disconnects: the adapter ends well", status, status.success());
    Ok(())
}

/// Closes both pipes during calls. Returns `true` if the process exits cleanly.
async fn vanishes(index: u64) -> Result<bool, Fault> {
    let (mut process, mut input, lines) = connect().await?;
    for id in 1..200 {
        let line = match id % 4 {
            0 => line(id, "get_never", &json!({})),
            1 => line(id, "execute_wait", &json!({})),
            _ => line(id, "get_bulk", &json!({ "bytes": 10_000 })),
        };
        // As the responses are not read, the pipe fills up. Skip writes that would block.
        let _ = timeout(Duration::from_millis(50), input.write_all(line.as_bytes())).await;
    }
    tokio::time::sleep(Duration::from_millis(index * 5)).await;
    drop((input, lines));
    Ok(timeout(STEP_TIMEOUT, process.child.wait())
        .await
        .is_ok_and(|ended| ended.is_ok_and(|status| status.success())))
}
