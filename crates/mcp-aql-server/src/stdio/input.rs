//! The input of a stream: splits it into lines of bounded length, and chooses how to wait for the next one.

use std::fs::File;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};

use futures_util::future::FusedFuture;
use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::mcp::request_id::{IdScanner, RecoveredId};

/// Size of a read, in bytes.
const CHUNK_BYTES: usize = 64 << 10;
/// Size of a read that does not wait, in bytes. It is smaller because such a read usually finds a single message.
const AT_ONCE_BYTES: usize = 4 << 10;

/// How long to poll for the next message after the answers were written. A program that calls one operation after
/// another sends the next message at once, and waking a processor that has just gone to sleep takes longer than a call:
/// without polling, a call of 10 µs took 34 µs.
const BUSY_POLL_DURATION: Duration = Duration::from_micros(100);
/// Time between two polls after which the machine counts as busy with other work.
const MAX_POLL_GAP: Duration = Duration::from_micros(20);
/// Number of consecutive quick messages required before polling starts.
const QUICK_MESSAGES: u32 = 2;

/// The input half of a stream.
pub(super) struct Input {
    pub(super) stream: Box<dyn AsyncRead + Send + Unpin>,
    /// The same stream opened for non-blocking reads, if it supports them.
    pub(super) without_waiting: Option<File>,
}

impl Input {
    /// Creates an input without non-blocking reads.
    pub(super) fn new(stream: impl AsyncRead + Send + Unpin + 'static) -> Self {
        Self { stream: Box::new(stream), without_waiting: None }
    }
}

/// Splits a stream into lines. Read more from the stream once [`next`](Self::next) returns `None`.
#[derive(Debug)]
pub(super) struct Lines {
    longest: usize,
    buffer: Vec<u8>,
    /// Start of the unread part of the buffer.
    start: usize,
    /// Length of the unread part already searched for a line end. The next search skips it.
    searched: usize,
    /// The scanner of an overlong line. The line is discarded while it arrives, and only its id is kept.
    overlong: Option<IdScanner>,
}

/// A line, or the reason why it is missing.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// A line without its terminator. The last line of the input may have none.
    Whole(&'a [u8]),
    /// A line that exceeded the limit and was discarded.
    TooLong(RecoveredId),
}

impl Lines {
    /// Creates a splitter for lines of at most `longest` bytes.
    pub(super) fn new(longest: usize) -> Self {
        Self { longest, buffer: Vec::new(), start: 0, searched: 0, overlong: None }
    }

    /// Returns the next complete line in the buffer.
    pub(super) fn next(&mut self) -> Option<Line<'_>> {
        let Some(end) = self.find_end() else {
            let length = self.buffer.len() - self.start;
            self.searched = length;
            if length > self.longest || self.overlong.is_some() {
                self.discard();
            }
            return None;
        };
        let line = self.buffer.get(self.start..self.start + end).unwrap_or_default();
        self.start += end + 1;
        self.searched = 0;
        if let Some(mut overlong) = self.overlong.take() {
            overlong.read(line);
            return Some(Line::TooLong(overlong.finish()));
        }
        Some(match line.len() > self.longest {
            true => Line::TooLong(IdScanner::of(line)),
            false => Line::Whole(trimmed(line)),
        })
    }

    /// Returns the length of the next line if the buffer contains its end.
    fn find_end(&self) -> Option<usize> {
        let unread = self.buffer.get(self.start + self.searched..)?;
        memchr(b'\n', unread).map(|end| self.searched + end)
    }

    /// Returns the last line at the end of the input. It needs no terminator.
    pub(super) fn last(&mut self) -> Option<Line<'_>> {
        if let Some(overlong) = self.overlong.take() {
            return Some(Line::TooLong(overlong.finish()));
        }
        let line = self.buffer.get(self.start..).filter(|line| !line.is_empty())?;
        self.start = self.buffer.len();
        Some(Line::Whole(trimmed(line)))
    }

    /// Reads more input. Returns `false` at the end of the input.
    pub(super) async fn read_from(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
    ) -> io::Result<bool> {
        self.make_space();
        Ok(stream.read_buf(&mut self.buffer).await? > 0)
    }

    /// Reads more input without waiting. Returns `None` if none has arrived, and `false` at the end of the input.
    pub(super) fn read_at_once(&mut self, stream: &mut impl io::Read) -> io::Result<Option<bool>> {
        self.make_space();
        let length = self.buffer.len();
        self.buffer.resize(length + AT_ONCE_BYTES, 0);
        let read = loop {
            match stream.read(self.buffer.get_mut(length..).unwrap_or_default()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.buffer.truncate(length + read.as_ref().map_or(0, |read| *read));
        match read {
            Ok(read) => Ok(Some(read > 0)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Moves the unread part to the start of the buffer, and reserves capacity after it.
    fn make_space(&mut self) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        if self.buffer.is_empty() {
            // Free the memory of a long line.
            self.buffer.shrink_to(2 * CHUNK_BYTES);
        }
        self.buffer.reserve(CHUNK_BYTES);
    }

    /// Discards the buffered part of an overlong line.
    fn discard(&mut self) {
        let overlong = self.overlong.get_or_insert_default();
        overlong.read(self.buffer.get(self.start..).unwrap_or_default());
        self.buffer.clear();
        (self.start, self.searched) = (0, 0);
    }
}

/// Removes a carriage return, and the byte order mark sent first by some clients.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
}

/// Decides whether to poll for the next message or to sleep until it arrives.
///
/// Slow messages or a busy machine disable polling, so that an idle connection uses no processor time.
#[derive(Debug)]
pub(super) struct MessageWait {
    /// Number of consecutive messages that arrived soon after the answer to the previous one.
    quick_messages: u32,
    /// If `true`, the machine has another processor to run the client while this one polls.
    has_other_processor: bool,
}

impl MessageWait {
    pub(super) fn new() -> Self {
        let processors = std::thread::available_parallelism();
        let has_other_processor = processors.is_ok_and(|count| count.get() > 1);
        Self { quick_messages: 0, has_other_processor }
    }

    /// Calls `poll` for a short time if the next message is likely to arrive soon. Returns its first result.
    pub(super) fn busy_poll<T>(&mut self, mut poll: impl FnMut() -> Option<T>) -> Option<T> {
        if self.quick_messages < QUICK_MESSAGES || !self.has_other_processor {
            return None;
        }
        let started = Instant::now();
        let mut last = started;
        loop {
            if let Some(result) = poll() {
                return Some(result);
            }
            let now = Instant::now();
            if now - last > MAX_POLL_GAP || now - started > BUSY_POLL_DURATION {
                self.quick_messages = 0;
                return None;
            }
            last = now;
            std::hint::spin_loop();
        }
    }

    /// Waits for the next message, and measures how long it takes to arrive.
    pub(super) async fn sleep<F: Future>(&mut self, message: F) -> F::Output {
        let started = Instant::now();
        let message = message.await;
        self.quick_messages = match started.elapsed() <= BUSY_POLL_DURATION {
            true => self.quick_messages + 1,
            false => 0,
        };
        message
    }
}

/// Awaits a future. Each time it is polled, the writer is polled first.
pub(super) async fn while_writing<T>(
    mut writer: Pin<&mut impl FusedFuture<Output = ()>>,
    future: impl Future<Output = T>,
) -> T {
    let mut future = pin!(future);
    poll_fn(|context| {
        if !writer.is_terminated() {
            let _ = writer.as_mut().poll(context);
        }
        future.as_mut().poll(context)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads all lines of an input that arrives in pieces of this size.
    fn lines(input: &[u8], piece: usize, longest: usize) -> (Vec<Result<String, usize>>, usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut writer, mut reader) = tokio::io::duplex(piece);
            let input = input.to_vec();
            let write = tokio::spawn(async move {
                tokio::io::AsyncWriteExt::write_all(&mut writer, &input).await.unwrap();
            });
            let mut lines = Lines::new(longest);
            let (mut found, mut most) = (Vec::new(), 0);
            let show = |line: Line<'_>| match line {
                Line::Whole(line) => Ok(String::from_utf8_lossy(line).into_owned()),
                Line::TooLong(recovered) => Err(recovered.bytes),
            };
            while lines.read_from(&mut reader).await.unwrap() {
                while let Some(line) = lines.next() {
                    found.push(show(line));
                }
                most = most.max(lines.buffer.capacity());
            }
            found.extend(lines.last().map(show));
            write.await.unwrap();
            (found, most)
        })
    }

    #[test]
    fn ends_of_all_kinds_are_taken_off() {
        let (found, _) = lines(b"\xef\xbb\xbfa\r\nb\n\n\r\nc", 3, 10);
        let found: Vec<_> = found.into_iter().map(Result::unwrap).collect();
        assert_eq!(found, ["a", "b", "", "", "c"]);
    }

    #[test]
    fn a_long_line_is_dropped_as_it_comes_in() {
        // REQ-ENC-08
        let mut input = b"first\n".to_vec();
        input.extend(std::iter::repeat_n(b'x', 5_000_000));
        input.extend(b"\nlast\n");
        let (found, most) = lines(&input, 1 << 20, 100_000);
        assert_eq!(found, [Ok("first".to_owned()), Err(5_000_000), Ok("last".to_owned())]);
        assert!(most < 500_000, "{most} bytes were held");
    }

    #[test]
    fn a_read_that_does_not_wait_says_what_it_found() {
        struct Reads(Vec<io::Result<&'static [u8]>>);
        impl io::Read for Reads {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                io::Read::read(&mut self.0.remove(0)?, buffer)
            }
        }
        let reads = [
            Err(io::ErrorKind::Interrupted.into()),
            Ok(&b"a\nb"[..]),
            Err(io::ErrorKind::WouldBlock.into()),
            Ok(b"\n"),
            Ok(b""),
            Err(io::ErrorKind::Other.into()),
        ];
        let (mut stream, mut lines) = (Reads(reads.into()), Lines::new(9));
        let mut read = |lines: &mut Lines| lines.read_at_once(&mut stream).ok();
        assert_eq!(read(&mut lines), Some(Some(true)));
        assert_eq!(lines.next(), Some(Line::Whole(b"a")));
        assert_eq!(read(&mut lines), Some(None));
        assert_eq!(lines.next(), None);
        assert_eq!(read(&mut lines), Some(Some(true)));
        assert_eq!(lines.next(), Some(Line::Whole(b"b")));
        assert_eq!(read(&mut lines), Some(Some(false)));
        assert_eq!(lines.last(), None);
        assert_eq!(read(&mut lines), None);
    }

    /// Returns the number of polls for a message that never arrives.
    fn polls(wait: &mut MessageWait) -> usize {
        let mut polls = 0;
        let found: Option<()> = wait.busy_poll(|| {
            polls += 1;
            None
        });
        assert_eq!(found, None);
        polls
    }

    #[tokio::test]
    async fn only_quick_traffic_is_polled_for() {
        let mut wait = MessageWait { quick_messages: 0, has_other_processor: true };
        assert_eq!(polls(&mut wait), 0, "the first message");
        for _ in 0..QUICK_MESSAGES {
            wait.sleep(std::future::ready(())).await;
        }
        assert_eq!(wait.busy_poll(|| Some(7)), Some(7));
        assert!(polls(&mut wait) > 0);
        assert_eq!(polls(&mut wait), 0, "nothing came");
        wait.quick_messages = QUICK_MESSAGES;
        wait.sleep(tokio::time::sleep(BUSY_POLL_DURATION * 2)).await;
        assert_eq!(polls(&mut wait), 0, "a message came late");
    }

    #[test]
    fn a_busy_machine_is_not_polled_on() {
        let mut wait = MessageWait { quick_messages: QUICK_MESSAGES, has_other_processor: true };
        let mut polls = 0;
        let found: Option<()> = wait.busy_poll(|| {
            polls += 1;
            std::thread::sleep(MAX_POLL_GAP * 2);
            None
        });
        assert_eq!((found, polls), (None, 1));
        let mut alone = MessageWait { quick_messages: QUICK_MESSAGES, has_other_processor: false };
        assert_eq!(alone.busy_poll(|| Some(())), None);
    }

    proptest! {
        #[test]
        fn every_line_comes_once(
            sent in proptest::collection::vec("[a-c]{0,12}", 0..12), piece in 1_usize..9,
        ) {
            let input: String = sent.iter().map(|line| format!("{line}\n")).collect();
            let (found, _) = lines(input.as_bytes(), piece, 8);
            let expected: Vec<_> = sent
                .into_iter()
                .map(|line| if line.len() > 8 { Err(line.len()) } else { Ok(line) })
                .collect();
            prop_assert_eq!(found, expected);
        }
    }
}
