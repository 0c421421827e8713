//! Prints questions to the person at the terminal, and reads the answers.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Mutex;

use tokio::sync::oneshot;

use super::process_report::announce;

use mcp_aql_core::internal::util::lock;
use mcp_aql_core::{BoxFuture, Result};

/// A person who reads messages and answers questions. Tests implement it with prepared answers.
pub(super) trait Prompt: Sync {
    /// Returns `true` if a person can answer because standard input is a terminal.
    fn is_interactive(&self) -> bool;

    /// Prints a line. It is printed without a terminal, too, because it may become part of a log.
    fn print_line(&self, line: &str) -> Result;

    /// Asks a question and returns the line of the answer. The line is empty if no person can answer, so call
    /// [`is_interactive`](Self::is_interactive) first if you must distinguish this from an empty answer.
    ///
    /// If the future is dropped before the answer, the next call receives that answer.
    fn read_answer<'a>(&'a self, question: &'a str) -> BoxFuture<'a, Result<String>>;
}

/// The person at standard input and standard error. Standard output is reserved for the result of the command.
#[derive(Default)]
pub(super) struct TerminalPrompt {
    /// A pending read whose question was dropped before its answer.
    awaited: Mutex<Option<oneshot::Receiver<std::io::Result<String>>>>,
}

impl TerminalPrompt {
    /// Starts to read the next line of standard input.
    ///
    /// A separate thread reads it, because the runtime would wait for a thread of its own pool at shutdown.
    fn next_line(&self) -> std::io::Result<oneshot::Receiver<std::io::Result<String>>> {
        let mut awaited = lock(&self.awaited);
        if let Some(line) = awaited.take() {
            return Ok(line);
        }
        let (done, line) = oneshot::channel();
        std::thread::Builder::new().name("answer".to_owned()).spawn(move || {
            let mut said = String::new();
            let read = std::io::stdin().read_line(&mut said).map(|_| said);
            // The receiver may have been dropped.
            let _ = done.send(read);
        })?;
        Ok(line)
    }
}

/// Returns the pending read to the prompt when it is dropped before the answer has arrived.
struct Waiting<'a> {
    prompt: &'a TerminalPrompt,
    line: Option<oneshot::Receiver<std::io::Result<String>>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut awaited = lock(&self.prompt.awaited);
        *awaited = self.line.take();
    }
}

impl Prompt for TerminalPrompt {
    fn is_interactive(&self) -> bool {
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    fn print_line(&self, line: &str) -> Result {
        announce(line);
        Ok(())
    }

    fn read_answer<'a>(&'a self, question: &'a str) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            let mut terminal = std::io::stderr();
            write!(terminal, "{question} ")?;
            terminal.flush()?;
            let mut waiting = Waiting { prompt: self, line: Some(self.next_line()?) };
            let said = match &mut waiting.line {
                Some(line) => line.await,
                None => Ok(Ok(String::new())),
            };
            waiting.line = None;
            Ok(said.unwrap_or_else(|_| Ok(String::new()))?)
        })
    }
}
