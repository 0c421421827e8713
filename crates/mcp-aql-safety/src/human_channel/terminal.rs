//! A channel that shows requests on the terminal from which the process was started.
//!
//! Standard output and standard error are not used, because an agent's client reads them.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use chrono::SecondsFormat;
use mcp_aql_core::BoxFuture;

use super::visible::{visible, write_block};
use super::{ChannelError, HumanChannel, HumanRequest, RequestKind};

const TERMINAL: &str = if cfg!(windows) { "CONOUT$" } else { "/dev/tty" };

/// The maximum duration of a write. A suspended terminal (Ctrl-S) accepts no data.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Shows requests, with their codes, on the terminal from which the process was started: `/dev/tty`, or `CONOUT$` on
/// Windows.
///
/// Nothing is written to standard output or standard error.
///
/// In strings of an agent, control characters, invisible characters and characters that change the writing direction
/// are shown as code points, for example `<U+001B>`.
///
/// A process without a terminal, for example one started by a desktop client, cannot show requests. A server then logs
/// a warning at its start, and only other channels reach people. If you have no other channel, agents learn that no
/// person could be asked.
///
/// ```
/// use mcp_aql::operator::{HumanChannel, TerminalChannel};
///
/// assert_eq!(TerminalChannel::new().name(), "terminal");
/// ```
///
/// Source: MCP-AQL §8.8.4 (REQ-OOB-05, REQ-OOB-13).
#[derive(Debug, Clone)]
pub struct TerminalChannel {
    path: PathBuf,
}

impl Default for TerminalChannel {
    fn default() -> Self {
        Self::new()
    }
}

impl TerminalChannel {
    /// Creates a channel for the terminal that the process was started from.
    pub fn new() -> Self {
        Self { path: TERMINAL.into() }
    }
}

impl HumanChannel for TerminalChannel {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn present<'a>(&'a self, request: &'a HumanRequest) -> BoxFuture<'a, Result<(), ChannelError>> {
        let written = write(self.path.clone(), told(request));
        Box::pin(async { written.await.map_err(|error| ChannelError(Box::new(error))) })
    }

    fn can_present(&self) -> bool {
        OpenOptions::new().write(true).open(&self.path).is_ok()
    }

    fn withdraw<'a>(&'a self, id: &'a str) -> BoxFuture<'a, ()> {
        let written = write(self.path.clone(), format!("\nRequest {} is closed.\n", visible(id)));
        Box::pin(async {
            if let Err(error) = written.await {
                tracing::debug!(%error, "cannot write to the terminal");
            }
        })
    }
}

/// Writes a message to the terminal.
pub(crate) async fn print(text: String) -> io::Result<()> {
    write(TERMINAL.into(), text).await
}

async fn write(path: PathBuf, text: String) -> io::Result<()> {
    let (done, written) = tokio::sync::oneshot::channel();
    // This is a separate thread because the runtime would wait for one of its own threads at shutdown.
    std::thread::Builder::new().name("terminal".to_owned()).spawn(move || {
        // A request is written at once, so that two requests do not mix.
        let result = OpenOptions::new().write(true).open(path).and_then(|mut terminal| {
            terminal.write_all(text.as_bytes())?;
            terminal.flush()
        });
        // The caller may have stopped waiting.
        let _ = done.send(result);
    })?;
    match tokio::time::timeout(WRITE_TIMEOUT, written).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(io::ErrorKind::BrokenPipe.into()),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

fn told(request: &HumanRequest) -> String {
    let asks = match request.kind {
        RequestKind::Operation => "Approval needed: run an operation once",
        RequestKind::Start => "Approval needed: start an agent",
        RequestKind::Step => "Approval needed: take a step",
        RequestKind::Verify => "Verification needed: take a step",
        RequestKind::Block => "BLOCKED: an agent asks to continue",
    };
    let operation =
        if request.kind.is_challenge() { "verify_challenge" } else { "confirm_operation" };
    let expires = request.expires_at.to_rfc3339_opts(SecondsFormat::Secs, true);
    let mut text = format!("\n== {asks}\n");
    if let Some(agent) = &request.agent {
        write_block(&mut text, "   agent: ", agent);
    }
    write_block(&mut text, "   | ", &request.action);
    for reason in &request.reasons {
        write_block(&mut text, "   why: ", reason);
    }
    let id = visible(&request.id);
    let code = visible(request.code.reveal());
    text.push_str(&format!(
        "   request  {id}\n   code     {code}\n   \
         To allow it, give the code to the agent for {operation}, until {expires}.\n   \
         To deny it, do nothing.\n"
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::super::Code;
    use super::*;

    fn request() -> HumanRequest {
        HumanRequest {
            id: "c-1".to_owned(),
            kind: RequestKind::Block,
            agent: Some("tidy\u{1b}[8m".to_owned()),
            action: "rm -rf /\n   code     0000".to_owned(),
            reasons: vec!["It matches 'rm -rf*'.".to_owned()],
            code: Code::new("K7QP-2M4X".to_owned()),
            expires_at: "2031-05-06T07:05:00Z".parse().unwrap(),
        }
    }

    #[tokio::test]
    async fn a_request_is_written_to_the_terminal_with_its_code() {
        // REQ-OOB-13
        let path = std::env::temp_dir().join(mcp_aql_core::internal::vocab::new_id("terminal"));
        std::fs::write(&path, "").unwrap();
        let channel = TerminalChannel { path: path.clone() };
        channel.present(&request()).await.unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(channel.can_present());
        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            text,
            "\n== BLOCKED: an agent asks to continue\n   agent: tidy<U+001B>[8m\n   | rm -rf /\n   |    \
             code     0000\n   why: It matches 'rm -rf*'.\n   request  c-1\n   code     K7QP-2M4X\n   To \
             allow it, give the code to the agent for verify_challenge, until \
             2031-05-06T07:05:00Z.\n   To deny it, do nothing.\n"
        );
    }

    #[tokio::test]
    async fn without_a_terminal_it_fails_and_makes_no_file() {
        let path = std::env::temp_dir().join(mcp_aql_core::internal::vocab::new_id("terminal"));
        let channel = TerminalChannel { path: path.clone() };
        assert!(!channel.can_present());
        let error = channel.present(&request()).await.unwrap_err();
        assert!(error.to_string().starts_with("cannot show the request"), "{error}");
        assert!(!path.exists());
        channel.withdraw("c-1").await;
    }
}
