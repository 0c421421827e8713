//! Reads lines of bounded length from a stream.

use std::io;

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::recover_id::{IdScanner, RecoveredId};

/// The size of a read, in bytes.
const CHUNK_BYTES: usize = 64 << 10;

/// Reads lines.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    longest: usize,
    buffer: Vec<u8>,
    /// The start of the unread part of the buffer.
    start: usize,
}

/// A line, or the reason why there is none.
#[derive(Debug, PartialEq)]
pub(crate) enum Line<'a> {
    /// A line without its terminator. The last one may have none.
    Whole(&'a [u8]),
    /// A line beyond the limit, which was discarded.
    TooLong(RecoveredId),
    /// The end of the input.
    End,
}

/// The place of the line that was just read.
enum LinePosition {
    Whole { from: usize, to: usize },
    TooLong(RecoveredId),
    End,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Creates a reader of lines of at most `longest` bytes.
    pub(crate) fn new(reader: R, longest: usize) -> Self {
        Self { reader, longest, buffer: Vec::new(), start: 0 }
    }

    /// Reads the next line.
    pub(crate) async fn next(&mut self) -> io::Result<Line<'_>> {
        Ok(match self.find().await? {
            LinePosition::Whole { from, to } => {
                Line::Whole(trimmed(self.buffer.get(from..to).unwrap_or_default()))
            }
            LinePosition::TooLong(recovered) => Line::TooLong(recovered),
            LinePosition::End => Line::End,
        })
    }

    async fn find(&mut self) -> io::Result<LinePosition> {
        let mut searched = 0;
        loop {
            let unread = self.buffer.get(self.start..).unwrap_or_default();
            let length = unread.len();
            if let Some(at) = memchr(b'\n', unread.get(searched..).unwrap_or_default()) {
                let (from, to) = (self.start, self.start + searched + at);
                self.start = to + 1;
                if to - from > self.longest {
                    let line = self.buffer.get(from..to).unwrap_or_default();
                    return Ok(LinePosition::TooLong(IdScanner::of(line)));
                }
                return Ok(LinePosition::Whole { from, to });
            }
            if length > self.longest {
                return self.skip().await;
            }
            searched = length;
            if !self.fill().await? {
                self.start = self.buffer.len();
                let (from, to) = (self.start - length, self.start);
                return Ok(if length == 0 {
                    LinePosition::End
                } else {
                    LinePosition::Whole { from, to }
                });
            }
        }
    }

    /// Reads more input. Returns false at the end.
    async fn fill(&mut self) -> io::Result<bool> {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        if self.buffer.is_empty() {
            // Frees the memory of a long line.
            self.buffer.shrink_to(2 * CHUNK_BYTES);
        }
        self.buffer.reserve(CHUNK_BYTES);
        Ok(self.reader.read_buf(&mut self.buffer).await? > 0)
    }

    /// Discards the rest of an overlong line while it arrives.
    async fn skip(&mut self) -> io::Result<LinePosition> {
        let mut recover_id = IdScanner::default();
        loop {
            let unread = self.buffer.get(self.start..).unwrap_or_default();
            if let Some(at) = memchr(b'\n', unread) {
                recover_id.read(unread.get(..at).unwrap_or_default());
                self.start += at + 1;
                break;
            }
            recover_id.read(unread);
            self.buffer.clear();
            self.start = 0;
            if !self.fill().await? {
                break;
            }
        }
        Ok(LinePosition::TooLong(recover_id.finish()))
    }
}

/// Trims a carriage return, and the byte order mark that some clients send first.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads all lines of an input that arrives in pieces of this size.
    fn lines(input: &[u8], piece: usize, longest: usize) -> (Vec<Result<String, usize>>, usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut writer, reader) = tokio::io::duplex(piece);
            let input = input.to_vec();
            let write = tokio::spawn(async move {
                tokio::io::AsyncWriteExt::write_all(&mut writer, &input).await.unwrap();
            });
            let mut lines = Lines::new(reader, longest);
            let (mut found, mut most) = (Vec::new(), 0);
            loop {
                match lines.next().await.unwrap() {
                    Line::Whole(line) => found.push(Ok(String::from_utf8_lossy(line).into_owned())),
                    Line::TooLong(recovered) => found.push(Err(recovered.bytes)),
                    Line::End => break,
                }
                most = most.max(lines.buffer.capacity());
            }
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
