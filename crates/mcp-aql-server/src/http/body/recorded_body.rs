//! A request body that records its bytes and enforces the limits on time and size.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use mcp_aql_core::internal::util::lock;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::BodyRecord;
use super::budget::{BodyBudget, BodyShare};

/// A body that records its bytes while they are read. It fails if it is not complete in time or if the budget is
/// exhausted.
///
/// Until the body is complete or longer than `longest`, no bytes are passed to the reader. The reader would collect a
/// copy of them, and the budget does not count copies. The bytes are copied out of hyper's buffers, because even a
/// short slice would keep a complete buffer in memory.
pub(crate) struct RecordedBody {
    body: Body,
    longest: usize,
    /// The bytes received but not yet passed on.
    received: Vec<u8>,
    /// If `true`, the end of the body was received.
    is_complete: bool,
    seen: Arc<Mutex<BodyRecord>>,
    share: Arc<BodyShare>,
    until: Instant,
    /// The deadline, created on the first poll.
    limit: Option<Pin<Box<Sleep>>>,
    aborted: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl RecordedBody {
    /// Wraps a request's body so that its bytes are recorded.
    pub(crate) fn request(
        request: Request,
        longest: usize,
        until: Instant,
        budget: &Arc<BodyBudget>,
    ) -> (Request, Arc<Mutex<BodyRecord>>) {
        let share = Arc::new(budget.share());
        let seen = BodyRecord { _share: Some(Arc::clone(&share)), ..BodyRecord::default() };
        let seen = Arc::new(Mutex::new(seen));
        let noting = Arc::clone(&seen);
        let note = |body| Self {
            body,
            longest,
            received: Vec::new(),
            is_complete: false,
            seen: noting,
            share,
            until,
            limit: None,
            aborted: None,
        };
        (request.map(|body| Body::new(note(body))), seen)
    }

    /// Records the received bytes and returns them.
    fn record(&mut self) -> Option<Bytes> {
        if self.received.is_empty() {
            return None;
        }
        let piece = Bytes::from(std::mem::take(&mut self.received));
        lock(&self.seen).pieces.push(piece.clone());
        Some(piece)
    }

    /// Records the end of the body.
    fn end(&mut self, late: bool, is_aborted: bool) -> Option<Bytes> {
        self.is_complete = true;
        let piece = self.record();
        let mut seen = lock(&self.seen);
        (seen.ended, seen.late, seen.is_aborted) = (true, late, is_aborted);
        self.share.complete();
        piece
    }

    /// Returns two flags: `true` if the deadline has passed, and `true` if the request was aborted in favor of another
    /// one.
    fn poll_end(&mut self, context: &mut Context<'_>) -> (bool, bool) {
        let until = self.until;
        let limit = self.limit.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        let late = limit.as_mut().poll(context).is_ready();
        let aborted = self
            .aborted
            .get_or_insert_with(|| Box::pin(self.share.aborted().clone().cancelled_owned()));
        (late, aborted.as_mut().poll(context).is_ready())
    }
}

impl HttpBody for RecordedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, axum::Error>>> {
        loop {
            if self.is_complete {
                return Poll::Ready(None);
            }
            let mut is_aborted = self.share.aborted().is_cancelled();
            let mut late = false;
            let frame = match is_aborted {
                true => Poll::Pending,
                false => Pin::new(&mut self.body).poll_frame(context),
            };
            if frame.is_pending() && !is_aborted {
                (late, is_aborted) = self.poll_end(context);
            }
            if let Poll::Ready(Some(Ok(frame))) = &frame {
                is_aborted = !self.share.add(frame.data_ref().map_or(0, Bytes::len));
            }
            if late || is_aborted {
                self.end(late, is_aborted);
                use std::io::ErrorKind::{OutOfMemory, TimedOut};
                let kind = if late { TimedOut } else { OutOfMemory };
                return Poll::Ready(Some(Err(axum::Error::new(std::io::Error::from(kind)))));
            }
            let piece = match frame {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Err(error))) => {
                    self.end(false, false);
                    lock(&self.seen).is_broken = true;
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Ready(Some(Ok(frame))) => {
                    self.received.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
                    (self.received.len() > self.longest).then(|| self.record()).flatten()
                }
                Poll::Ready(None) => self.end(false, false),
            };
            if let Some(piece) = piece {
                return Poll::Ready(Some(Ok(http_body::Frame::data(piece))));
            }
        }
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

impl Drop for RecordedBody {
    fn drop(&mut self) {
        let rest = std::mem::take(&mut self.body);
        lock(&self.seen).rest = Some(rest);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::{StreamExt as _, stream};

    use super::*;

    /// Reads a body that arrives in these pieces. Returns the lengths of the pieces passed to the reader.
    async fn lengths(pieces: Vec<Bytes>, longest: usize) -> Vec<usize> {
        let pieces = stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>));
        let request = Request::new(Body::from_stream(pieces));
        let budget = BodyBudget::new(1 << 20, 0);
        let until = Instant::now() + Duration::from_secs(60);
        let (request, seen) = RecordedBody::request(request, longest, until, &budget);
        let read = request.into_body().into_data_stream();
        let lengths = read.map(|piece| piece.unwrap().len()).collect::<Vec<_>>().await;
        assert_eq!(lock(&seen).read().len(), lengths.iter().sum::<usize>());
        lengths
    }

    #[tokio::test]
    async fn a_body_is_yielded_when_it_is_complete() {
        let pieces = vec![Bytes::from_static(b"abc"); 4];
        assert_eq!(lengths(pieces.clone(), 12).await, [12]);
        assert_eq!(lengths(pieces.clone(), 7).await, [9, 3], "longer than the limit");
        assert_eq!(lengths(pieces, 0).await, [3; 4]);
        assert!(lengths(Vec::new(), 12).await.is_empty());
    }

    #[tokio::test]
    async fn an_unfinished_body_holds_its_bytes_once() {
        let buffer = Bytes::from(vec![b'x'; 8 << 10]);
        let pieces: Vec<_> = (0..100).map(|at| Ok(buffer.slice(at..=at))).collect();
        let pieces = stream::iter(pieces).chain(stream::pending::<Result<_, std::io::Error>>());
        let budget = BodyBudget::new(1 << 20, 0);
        let request = Request::new(Body::from_stream(pieces));
        let until = Instant::now() + Duration::from_millis(10);
        let (request, seen) = RecordedBody::request(request, 1 << 20, until, &budget);
        let mut body = request.into_body();
        let next = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        assert!(next.await.unwrap().is_err(), "the reader receives an error only");
        assert_eq!(lock(&seen).read().len(), 100);
        drop(body);
        lock(&seen).rest = None;
        assert!(buffer.is_unique(), "no buffer of the connection is kept");
    }
}
