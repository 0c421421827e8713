//! Reads lines from untrusted input without buffering more than the caller allows.

use memchr::memchr;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// Size of the read buffer in bytes. A larger line buffer is shrunk to this size between lines.
const BUFFER_BYTES: usize = 64 << 10;
/// Number of bytes kept from the end of an oversized line.
const TAIL_BYTES: usize = 256;
/// Maximum number of bytes of an oversized line to skip in search of the next line.
const MAX_SKIPPED_BYTES: usize = 256 << 20;

/// The next event of a [`LineReader`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEvent<'l> {
    /// A line without its line end.
    Line(&'l [u8]),
    /// The beginning of a line that exceeds the limit. If you continue to read, the rest is
    /// skipped.
    OversizedStart(&'l [u8]),
    /// The last bytes of an oversized line, at most 256.
    OversizedEnd(&'l [u8]),
    /// An oversized line that does not end within 256 MiB. Stop reading.
    Endless,
    /// The input ended or failed. The bytes are an incomplete last line, usually empty.
    End(&'l [u8]),
}

/// Reads lines and limits the memory that each of them can take.
///
/// A line over the limit is reported by its beginning and its end, so you can still log it or find
/// out which request it answers.
///
/// ```
/// use mcp_aql_client::lines::{LineEvent, LineReader};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut lines = LineReader::new(&b"one\ntwo, which is long\nthree"[..]);
/// assert_eq!(lines.next(|| 10).await, LineEvent::Line(b"one"));
/// assert_eq!(lines.next(|| 10).await, LineEvent::OversizedStart(b"two, which is long"));
/// assert_eq!(lines.next(|| 10).await, LineEvent::OversizedEnd(b"two, which is long"));
/// assert_eq!(lines.next(|| 10).await, LineEvent::End(b"three"));
/// # }
/// ```
#[derive(Debug)]
pub struct LineReader<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// If `true`, the buffered line was returned and is cleared before reading continues.
    is_complete: bool,
    /// Progress of skipping an oversized line.
    oversized: Option<OversizedLine>,
    read_bytes: usize,
}

#[derive(Debug)]
struct OversizedLine {
    skipped: usize,
    /// If `true`, the line has ended and its end is the next event.
    has_ended: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Creates a reader. It has a buffer of its own, so you need no `BufReader`.
    pub fn new(read: R) -> Self {
        Self {
            reader: BufReader::with_capacity(BUFFER_BYTES, read),
            line: Vec::new(),
            is_complete: false,
            oversized: None,
            read_bytes: 0,
        }
    }

    /// Returns the number of bytes read since the last call of this function.
    pub const fn take_read_bytes(&mut self) -> usize {
        std::mem::replace(&mut self.read_bytes, 0)
    }

    /// Reads until a line ends or exceeds `max_bytes`. The limit is evaluated whenever bytes
    /// arrive, so it may change while a line is being received.
    ///
    /// This function is cancel safe: the next call continues with the bytes already read.
    pub async fn next(&mut self, max_bytes: impl Fn() -> usize) -> LineEvent<'_> {
        self.discard_returned();
        loop {
            if self.oversized.take_if(|oversized| oversized.has_ended).is_some() {
                self.is_complete = true;
                return LineEvent::OversizedEnd(&self.line);
            }
            let part = match self.reader.fill_buf().await {
                Ok([]) | Err(_) => return LineEvent::End(&self.line),
                Ok(part) => part,
            };
            let end = memchr(b'\n', part);
            let bytes = part.get(..end.unwrap_or(part.len())).unwrap_or_default();
            let taken = bytes.len() + usize::from(end.is_some());
            let has_ended = end.is_some();
            self.line.extend_from_slice(bytes);
            self.reader.consume(taken);
            self.read_bytes += taken;
            if let Some(oversized) = &mut self.oversized {
                self.line.drain(..self.line.len().saturating_sub(TAIL_BYTES));
                oversized.skipped = oversized.skipped.saturating_add(taken);
                oversized.has_ended = has_ended;
                if oversized.skipped > MAX_SKIPPED_BYTES {
                    return LineEvent::Endless;
                }
            } else if self.line.len() > max_bytes() {
                self.oversized = Some(OversizedLine { skipped: self.line.len(), has_ended });
                return LineEvent::OversizedStart(&self.line);
            } else if has_ended {
                self.is_complete = true;
                return LineEvent::Line(&self.line);
            }
        }
    }

    /// Clears a line that was returned, and frees the memory of a large one.
    fn discard_returned(&mut self) {
        if self.is_complete {
            self.is_complete = false;
            self.line.clear();
        } else if self.oversized.is_some() {
            self.line.drain(..self.line.len().saturating_sub(TAIL_BYTES));
        }
        self.line.shrink_to(BUFFER_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads all lines, with a limit of 10 bytes.
    async fn read_all(mut lines: LineReader<impl AsyncRead + Unpin>) -> (Vec<String>, usize) {
        let mut all = Vec::new();
        loop {
            let event = lines.next(|| 10).await;
            let (name, text) = match event {
                LineEvent::Line(text) => ("line", text),
                LineEvent::OversizedStart(_) => ("start", &b""[..]),
                LineEvent::OversizedEnd(text) => ("end", text),
                LineEvent::Endless => ("endless", &b""[..]),
                LineEvent::End(text) => ("eof", text),
            };
            let is_last = matches!(event, LineEvent::Endless | LineEvent::End(_));
            all.push(format!("{name} {}", String::from_utf8_lossy(text)));
            if is_last {
                return (all, lines.take_read_bytes());
            }
        }
    }

    #[tokio::test]
    async fn lines_do_not_depend_on_chunk_boundaries() {
        let long = format!("{}end", "x".repeat(1000));
        let text = format!("one\n\n0123456789\r\n0123456789\n{long}\ntwo\nthree");
        let tail = format!("end {}end", "x".repeat(TAIL_BYTES - 3));
        let expected = [
            "line one",
            "line ",
            "start ",
            "end 0123456789\r",
            "line 0123456789",
            "start ",
            &tail,
            "line two",
            "eof three",
        ];
        for size in [1, 7, 64, 100_000] {
            let (mut theirs, ours) = tokio::io::duplex(size);
            let text = text.clone();
            let length = text.len();
            tokio::spawn(async move {
                tokio::io::AsyncWriteExt::write_all(&mut theirs, text.as_bytes()).await.unwrap();
            });
            assert_eq!(
                read_all(LineReader::new(ours)).await,
                (expected.map(str::to_owned).into(), length),
                "{size}"
            );
        }
    }

    #[tokio::test]
    async fn an_oversized_line_that_does_not_end_is_given_up() {
        let (events, read) = read_all(LineReader::new(tokio::io::repeat(b'x'))).await;
        assert_eq!(events, ["start ", "endless "]);
        assert!(
            (MAX_SKIPPED_BYTES..MAX_SKIPPED_BYTES + 2 * BUFFER_BYTES).contains(&read),
            "{read}"
        );
    }

    #[tokio::test]
    async fn next_is_cancel_safe() {
        let (mut theirs, ours) = tokio::io::duplex(100);
        let mut lines = LineReader::new(ours);
        for part in ["a", "b"] {
            tokio::io::AsyncWriteExt::write_all(&mut theirs, part.as_bytes()).await.unwrap();
            let limit = std::time::Duration::from_millis(20);
            assert!(tokio::time::timeout(limit, lines.next(|| 10)).await.is_err());
        }
        tokio::io::AsyncWriteExt::write_all(&mut theirs, b"\n").await.unwrap();
        assert_eq!(lines.next(|| 10).await, LineEvent::Line(b"ab"));
    }
}
