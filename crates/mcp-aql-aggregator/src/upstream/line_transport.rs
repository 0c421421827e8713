//! The transport over the standard input and output of a child process, with one message per line.

use std::sync::Arc;

use mcp_aql_client::lines::{LineEvent, LineReader};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};

use super::Failure;
use super::message_filter::{Incoming, MessageFilter};
use super::message_start::{MessageStart, id_at_end, message_start};
use super::stats::Stats;

/// Maximum number of messages queued for the process. Replies are dropped when the queue is full.
/// Otherwise a server that sends requests and does not read could fill the memory.
const MAX_QUEUED_MESSAGES: usize = 64;

/// A message to write, and a channel that reports that it was written.
type OutgoingMessage = (Vec<u8>, Option<oneshot::Sender<()>>);

/// Sends and receives one message per line.
pub(super) struct LineTransport<R> {
    lines: LineReader<R>,
    /// If `true`, the oversized line being skipped needs no further error: it was already reported,
    /// or is not an answer.
    is_reported: bool,
    writer: Option<mpsc::Sender<OutgoingMessage>>,
    filter: Arc<MessageFilter>,
}

impl<R: AsyncRead + Send + Unpin> LineTransport<R> {
    pub(super) fn new(
        read: R,
        write: impl AsyncWrite + Send + Unpin + 'static,
        filter: Arc<MessageFilter>,
    ) -> Self {
        let (writer, queue) = mpsc::channel(MAX_QUEUED_MESSAGES);
        tokio::spawn(write_all(write, queue, Arc::clone(&filter)));
        Self { lines: LineReader::new(read), is_reported: false, writer: Some(writer), filter }
    }
}

/// Handles the beginning of an oversized line. Returns an error for the request that it answers, if
/// known, and `true` if the end of the line need not be searched for an id.
fn overflow(filter: &MessageFilter, beginning: &[u8]) -> (Option<ServerJsonRpcMessage>, bool) {
    let begins = message_start(beginning);
    let id = match begins {
        MessageStart::Answer(id) => Some(id),
        // The line is not an answer, so the pending requests may still be answered.
        MessageStart::Method => None,
        MessageStart::Unknown => filter.only(),
    };
    let told = id.and_then(|id| filter.too_large(id));
    let is_reported = told.is_some() || begins == MessageStart::Method;
    (told, is_reported)
}

/// Processes a complete line.
fn whole(
    filter: &MessageFilter,
    writer: Option<&mpsc::Sender<OutgoingMessage>>,
    line: &[u8],
) -> Option<ServerJsonRpcMessage> {
    let text = line.trim_ascii();
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let found = if text.is_empty() { Incoming::Nothing } else { filter.incoming(text) };
    match found {
        Incoming::Answer(answer) => Some(*answer),
        Incoming::Reply(reply) => {
            if let Some(writer) = writer {
                let _ = writer.try_send((reply, None));
            }
            None
        }
        Incoming::Nothing | Incoming::NotAMessage => None,
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleClient> for LineTransport<R> {
    type Error = Failure;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Failure>> + Send + 'static {
        let bytes = self.filter.outgoing(&message);
        let writer = self.writer.clone();
        let filter = Arc::clone(&self.filter);
        async move {
            let gone = || filter.cause().unwrap_or(Failure::Exited);
            let (bytes, _) = bytes.ok_or(Failure::Protocol)?;
            let writer = writer.ok_or_else(gone)?;
            let (written, is_written) = oneshot::channel();
            writer.send((bytes, Some(written))).await.map_err(|_| gone())?;
            is_written.await.map_err(|_| gone())
        }
    }

    /// Receives the next message. This function is cancel safe: bytes already read are kept.
    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let filter = &self.filter;
        loop {
            if filter.cause().is_some() {
                return None;
            }
            let event = self.lines.next(|| filter.max_bytes()).await;
            let (found, end) = match event {
                LineEvent::Line(line) => (whole(filter, self.writer.as_ref(), line), None),
                LineEvent::OversizedStart(beginning) => {
                    let (found, is_reported) = overflow(filter, beginning);
                    self.is_reported = is_reported;
                    (found, None)
                }
                LineEvent::OversizedEnd(_) if self.is_reported => (None, None),
                LineEvent::OversizedEnd(tail) => {
                    (id_at_end(tail).and_then(|id| filter.too_large(id)), None)
                }
                LineEvent::Endless => (None, Some(Failure::TooLarge)),
                LineEvent::End(_) => (None, Some(Failure::Exited)),
            };
            Stats::count(&filter.stats.bytes_in, self.lines.take_read_bytes());
            if let Some(why) = end {
                filter.end(why);
                return None;
            }
            if found.is_some() {
                return found;
            }
        }
    }

    async fn close(&mut self) -> Result<(), Failure> {
        self.writer = None;
        Ok(())
    }
}

/// Writes messages until the channel closes or the process stops reading.
async fn write_all(
    mut write: impl AsyncWrite + Send + Unpin,
    mut queue: mpsc::Receiver<OutgoingMessage>,
    filter: Arc<MessageFilter>,
) {
    while let Some((mut text, written)) = queue.recv().await {
        text.push(b'\n');
        if write.write_all(&text).await.is_err() || write.flush().await.is_err() {
            // The reading side reports the reason.
            return;
        }
        Stats::count(&filter.stats.bytes_out, text.len());
        if let Some(written) = written {
            let _ = written.send(());
        }
    }
    let _ = write.shutdown().await;
}

#[cfg(test)]
mod tests {
    use rmcp::model::{
        CallToolRequest, CallToolRequestParams, ClientRequest, NumberOrString, RequestId,
    };
    use tokio::io::AsyncReadExt as _;

    use super::*;

    fn call(id: i64) -> ClientJsonRpcMessage {
        let call = CallToolRequest::new(CallToolRequestParams::new("search"));
        ClientJsonRpcMessage::request(ClientRequest::CallToolRequest(call), RequestId::Number(id))
    }

    /// Returns the id of an answer, and `true` if it is an error.
    fn seen(message: &ServerJsonRpcMessage) -> (i64, bool) {
        match message {
            ServerJsonRpcMessage::Response(response) => match response.id {
                NumberOrString::Number(id) => (id, false),
                NumberOrString::String(_) => panic!("{message:?}"),
            },
            ServerJsonRpcMessage::Error(error) => match error.id {
                Some(NumberOrString::Number(id)) => (id, true),
                _ => panic!("{message:?}"),
            },
            _ => panic!("{message:?}"),
        }
    }

    #[tokio::test]
    async fn lines_may_be_split_anywhere() {
        let fine = |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#);
        let long = "x".repeat(5000);
        let first =
            format!(r#"{{"id":2,"result":{{"content":[{{"type":"text","text":"{long}"}}]}}}}"#);
        let last =
            format!(r#"{{"result":{{"content":[{{"type":"text","text":"{long}"}}]}},"id":3}}"#);
        let ping = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
        let text = format!(
            "\n\u{feff}{}\r\nhello\n{first}\n{ping}\n{long}\n{last}\n  {}\n{}",
            fine(1),
            fine(4),
            // The last line has no line end.
            fine(5)
        );
        for size in [1, 7, 64, 100_000] {
            let (theirs, ours) = tokio::io::duplex(size);
            let (mut replies, write) = tokio::io::duplex(100_000);
            let filter = MessageFilter::new(Arc::default());
            let mut lines = LineTransport::new(ours, write, Arc::clone(&filter));
            for id in 1..=5 {
                lines.send(call(id)).await.unwrap();
            }
            filter.set_ready(1000);
            let text = text.clone();
            let writing = tokio::spawn(async move {
                let mut theirs = theirs;
                theirs.write_all(text.as_bytes()).await.unwrap();
            });
            let mut all = Vec::new();
            while let Some(message) = lines.receive().await {
                all.push(seen(&message));
            }
            assert_eq!(all, [(1, false), (2, true), (3, true), (4, false)], "{size}");
            assert_eq!(filter.cause(), Some(Failure::Exited));
            writing.await.unwrap();
            lines.close().await.unwrap();
            drop(lines);
            let mut written = String::new();
            replies.read_to_string(&mut written).await.unwrap();
            assert_eq!(written.lines().count(), 6);
            assert!(
                written.ends_with("{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}\n"),
                "{written}"
            );
        }
    }

    #[tokio::test]
    async fn receive_is_cancel_safe() {
        let (mut theirs, ours) = tokio::io::duplex(1000);
        let filter = MessageFilter::new(Arc::default());
        let mut lines = LineTransport::new(ours, tokio::io::sink(), Arc::clone(&filter));
        lines.send(call(1)).await.unwrap();
        for part in [r#"{"id":1,"#, r#""result":{"content""#, ":[]}}"] {
            theirs.write_all(part.as_bytes()).await.unwrap();
            let limit = std::time::Duration::from_millis(20);
            assert!(tokio::time::timeout(limit, lines.receive()).await.is_err());
        }
        theirs.write_all(b"\n").await.unwrap();
        assert_eq!(seen(&lines.receive().await.unwrap()), (1, false));
    }

    #[tokio::test]
    async fn replies_to_a_server_that_does_not_read_are_dropped() {
        let (mut theirs, ours) = tokio::io::duplex(1000);
        // The other end is never read.
        let (_replies, write) = tokio::io::duplex(10);
        let filter = MessageFilter::new(Arc::default());
        let mut lines = LineTransport::new(ours, write, Arc::clone(&filter));
        let asking = tokio::spawn(async move {
            for _ in 0..10_000 {
                theirs.write_all(b"{\"id\":1,\"method\":\"ping\"}\n").await.unwrap();
            }
        });
        assert!(lines.receive().await.is_none());
        asking.await.unwrap();
        assert_eq!(lines.writer.as_ref().unwrap().capacity(), 0);
    }
}
