//! Whoever sits at the terminal, if anybody does.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Mutex;

use tokio::sync::oneshot;

use crate::future::BoxFuture;
use crate::main_error::Result;
use crate::sync::lock;

/// Somebody who reads and answers.
pub(super) trait Person: Sync {
    /// Whether there is anybody to ask.
    fn is_there(&self) -> bool;

    /// Tells a line, whether anybody is there or not: logs are read later.
    fn tell(&self, line: &str) -> Result;

    /// Asks, and gives the answer's line. Nobody who answers says nothing.
    ///
    /// Whoever stops waiting for an answer may ask again: the next line is the answer then.
    fn ask<'a>(&'a self, question: &'a str) -> BoxFuture<'a, Result<String>>;
}

/// The person at standard input and standard error; standard output is the result's.
#[derive(Default)]
pub(super) struct AtTerminal {
    /// The line that was asked for and not waited for to its end.
    awaited: Mutex<Option<oneshot::Receiver<std::io::Result<String>>>>,
}

impl AtTerminal {
    /// The next line of standard input. A thread of its own reads it, and not one of the runtime's, which
    /// would wait for it when it ends.
    fn next_line(&self) -> std::io::Result<oneshot::Receiver<std::io::Result<String>>> {
        let mut awaited = lock(&self.awaited);
        if let Some(line) = awaited.take() {
            return Ok(line);
        }
        let (done, line) = oneshot::channel();
        std::thread::Builder::new().name("answer".to_owned()).spawn(move || {
            let mut said = String::new();
            let read = std::io::stdin().read_line(&mut said).map(|_| said);
            // Who asked may have stopped waiting.
            let _ = done.send(read);
        })?;
        Ok(line)
    }
}

/// Puts a line that nobody has got yet back.
struct Waiting<'a> {
    person: &'a AtTerminal,
    line: Option<oneshot::Receiver<std::io::Result<String>>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut awaited = lock(&self.person.awaited);
        *awaited = self.line.take();
    }
}

impl Person for AtTerminal {
    fn is_there(&self) -> bool {
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    fn tell(&self, line: &str) -> Result {
        Ok(writeln!(std::io::stderr(), "{line}")?)
    }

    fn ask<'a>(&'a self, question: &'a str) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            let mut terminal = std::io::stderr();
            write!(terminal, "{question} ")?;
            terminal.flush()?;
            let mut waiting = Waiting { person: self, line: Some(self.next_line()?) };
            let said = match &mut waiting.line {
                Some(line) => line.await,
                None => Ok(Ok(String::new())),
            };
            waiting.line = None;
            Ok(said.unwrap_or_else(|_| Ok(String::new()))?)
        })
    }
}
