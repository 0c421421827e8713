//! Lines off a stream, never more of one in memory than is allowed.

use std::io;

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::salvage::{Salvage, Salvaged};

/// How much is read at once.
const PIECE: usize = 64 << 10;

/// Reads lines.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    longest: usize,
    buffer: Vec<u8>,
    /// Where the unread part of the buffer begins.
    start: usize,
}

/// A line, or what stands in its place.
#[derive(Debug, PartialEq)]
pub(crate) enum Line<'a> {
    /// A line without its end. The last one may have none.
    Whole(&'a [u8]),
    /// A line beyond the limit, which is gone.
    TooLong(Salvaged),
    /// Nothing more will come.
    End,
}

/// Where the line is that was just read.
enum Found {
    Whole { from: usize, to: usize },
    TooLong(Salvaged),
    End,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most so many bytes.
    pub(crate) fn new(reader: R, longest: usize) -> Self {
        Self { reader, longest, buffer: Vec::new(), start: 0 }
    }

    /// The next line.
    pub(crate) async fn next(&mut self) -> io::Result<Line<'_>> {
        Ok(match self.find().await? {
            Found::Whole { from, to } => {
                Line::Whole(trimmed(self.buffer.get(from..to).unwrap_or_default()))
            }
            Found::TooLong(salvaged) => Line::TooLong(salvaged),
            Found::End => Line::End,
        })
    }

    async fn find(&mut self) -> io::Result<Found> {
        let mut searched = 0;
        loop {
            let unread = self.buffer.get(self.start..).unwrap_or_default();
            let length = unread.len();
            if let Some(at) = memchr(b'\n', unread.get(searched..).unwrap_or_default()) {
                let (from, to) = (self.start, self.start + searched + at);
                self.start = to + 1;
                if to - from > self.longest {
                    let line = self.buffer.get(from..to).unwrap_or_default();
                    return Ok(Found::TooLong(Salvage::of(line)));
                }
                return Ok(Found::Whole { from, to });
            }
            if length > self.longest {
                return self.skip().await;
            }
            searched = length;
            if !self.fill().await? {
                self.start = self.buffer.len();
                let (from, to) = (self.start - length, self.start);
                return Ok(if length == 0 { Found::End } else { Found::Whole { from, to } });
            }
        }
    }

    /// Reads on. False at the end.
    async fn fill(&mut self) -> io::Result<bool> {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        if self.buffer.is_empty() {
            // What one long line took is given back.
            self.buffer.shrink_to(2 * PIECE);
        }
        self.buffer.reserve(PIECE);
        Ok(self.reader.read_buf(&mut self.buffer).await? > 0)
    }

    /// Drops the rest of a line that is too long as it comes in.
    async fn skip(&mut self) -> io::Result<Found> {
        let mut salvage = Salvage::default();
        loop {
            let unread = self.buffer.get(self.start..).unwrap_or_default();
            if let Some(at) = memchr(b'\n', unread) {
                salvage.read(unread.get(..at).unwrap_or_default());
                self.start += at + 1;
                break;
            }
            salvage.read(unread);
            self.buffer.clear();
            self.start = 0;
            if !self.fill().await? {
                break;
            }
        }
        Ok(Found::TooLong(salvage.finish()))
    }
}

/// Without a carriage return, or the byte order mark that some put before their first word.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All lines of an input that arrives in pieces of this size.
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
                    Line::TooLong(salvaged) => found.push(Err(salvaged.bytes)),
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
