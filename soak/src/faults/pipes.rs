//! Calls a process that serves one client over its standard input and output.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::oneshot;

use crate::Fault;
use crate::stdio::hello;

/// The requests without a response, by id. `None` once the process closed its output.
type Waiting = Arc<Mutex<Option<HashMap<u64, oneshot::Sender<String>>>>>;

/// The client's pipes. Clones share them.
#[derive(Clone)]
pub(super) struct Pipes {
    input: Arc<tokio::sync::Mutex<ChildStdin>>,
    waiting: Waiting,
    last_id: Arc<AtomicU64>,
}

impl Pipes {
    /// Initializes MCP.
    pub(super) async fn open(mut input: ChildStdin, output: ChildStdout) -> Result<Self, Fault> {
        let mut lines = BufReader::new(output).lines();
        input.write_all(hello().as_bytes()).await?;
        lines.next_line().await?.ok_or("no answer to initialize")?;
        let waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        tokio::spawn(read_answers(lines, Arc::clone(&waiting)));
        let input = Arc::new(tokio::sync::Mutex::new(input));
        Ok(Self { input, waiting, last_id: Arc::default() })
    }

    /// Registers a new request. Returns its id and a receiver for the response. The receiver fails if the process ends
    /// first.
    pub(super) fn expect_answer(&self) -> Result<(u64, oneshot::Receiver<String>), Fault> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answer) = oneshot::channel();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.as_mut().ok_or("the process has closed its output")?.insert(id, sender);
        Ok((id, answer))
    }

    pub(super) async fn write(&self, bytes: &[u8]) -> Result<(), Fault> {
        let mut input = self.input.lock().await;
        input.write_all(bytes).await?;
        Ok(input.flush().await?)
    }
}

/// Passes each response to the task that waits for it.
async fn read_answers(mut lines: Lines<BufReader<ChildStdout>>, waiting: Waiting) {
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = waiting.as_mut().zip(message["id"].as_u64());
        if let Some(sender) = waiting.and_then(|(waiting, id)| waiting.remove(&id)) {
            // Sending fails if the caller no longer waits.
            let _ = sender.send(line);
        }
    }
    *waiting.lock().unwrap_or_else(PoisonError::into_inner) = None;
}
