//! Writes the result of an operation as the success part of its reply.

use std::sync::Arc;

use mcp_aql_protocol::ErrorCode;
use serde::Serialize;

use super::{Context, Envelope, Outcome, Payload, QUOTED_SUCCESS, SUCCESS};
use crate::error::OperationError;
use crate::paging::{FitResult, PageSpace, cut_warning, fit_page, measure_frame};
use crate::request::{too_large, write_json};
use crate::vocab::{ReplyForm, ReplyLimits};
use crate::warning::{LateWarning, Warning};

/// The place that a result is serialized into: the envelope and the limits of one reply.
#[derive(Debug, Clone, Copy)]
pub struct ReplyWriter<'a> {
    envelope: &'a Envelope,
    limits: ReplyLimits,
    /// The call, whose warnings become part of the reply.
    context: Option<&'a Context>,
    late_warnings: &'a [Arc<dyn LateWarning>],
}

/// Appends a result to the text, in which this many objects and arrays are open, in this form.
type ResultWriter<'a> = &'a dyn Fn(&mut Vec<u8>, usize, ReplyForm) -> Result<(), OperationError>;

/// serde_json and this module write only UTF-8, so nothing is replaced.
fn into_string(text: Vec<u8>) -> String {
    String::from_utf8(text)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn is_too_large(error: &OperationError) -> bool {
    error.code() == ErrorCode::ValidationPayloadTooLarge
}

impl<'a> ReplyWriter<'a> {
    pub(crate) fn new(envelope: &'a Envelope, limits: ReplyLimits) -> Self {
        Self { envelope, limits, context: None, late_warnings: &[] }
    }

    /// Adds the warning about a cut page to this call, and reserves room for all its warnings.
    pub(crate) fn beside(self, context: &'a Context) -> Self {
        Self { context: Some(context), ..self }
    }

    /// Reserves room for warnings that depend on the written result.
    pub(crate) fn with_late_warnings(self, late_warnings: &'a [Arc<dyn LateWarning>]) -> Self {
        Self { late_warnings, ..self }
    }

    /// Serializes the result into the reply.
    pub(super) fn write<T: Serialize + ?Sized>(self, data: &T) -> Outcome {
        let write_result = &|text: &mut Vec<u8>, depth, form| {
            write_json(text, data, depth, self.limits.in_form(form))
        };
        match self.limits.form {
            ReplyForm::Quoted if self.has_no_warnings() => self.write_quoted(write_result),
            _ => self.write_plain(write_result),
        }
    }

    /// Writes the reply as a JSON string. If it is not far below the limits, it is written in its plain form again,
    /// since only that form counts.
    fn write_quoted(self, write_result: ResultWriter<'_>) -> Outcome {
        let mut text = Vec::with_capacity(768);
        text.extend_from_slice(QUOTED_SUCCESS.as_bytes());
        let mut depth = 1;
        if let Envelope::Key(key) = self.envelope {
            text.extend_from_slice(br#"{\""#);
            text.extend_from_slice(key.as_bytes());
            text.extend_from_slice(br#"\":"#);
            depth += 1;
        }
        let written = write_result(&mut text, depth, ReplyForm::Quoted);
        // The closing quotation mark also needs room.
        if written.is_err() || !self.has_room(text.len() + 1) {
            return self.write_plain(write_result);
        }
        if *self.envelope != Envelope::Bare {
            text.push(b'}');
        }
        Ok(Payload::quoted(into_string(text)))
    }

    /// Writes the reply around the result that `write_result` appends. It is separate from
    /// [`write`](Self::write), so that it is compiled once for all types of results.
    fn write_plain(self, write_result: ResultWriter<'_>) -> Outcome {
        // Most results fit into this size, which allocators provide cheaply.
        let mut text = Vec::with_capacity(512);
        text.extend_from_slice(SUCCESS.as_bytes());
        let mut depth = 1;
        if let Envelope::Key(key) = self.envelope {
            // Keys are public names, which need no escapes.
            text.extend_from_slice(b"{\"");
            text.extend_from_slice(key.as_bytes());
            text.extend_from_slice(b"\":");
            depth += 1;
        }
        let begun = text.len();
        let mut written = write_result(&mut text, depth, ReplyForm::Plain);
        let fits = match &written {
            Ok(()) => self.has_room(text.len()),
            Err(error) => !is_too_large(error),
        };
        if !fits {
            // A page can be cut if it does not fit in the reply.
            let begin = text.get(..begun).unwrap_or_default().to_vec();
            match self.fit(&begin, depth, write_result) {
                Some(Ok((cut, warning))) => {
                    (text, written) = (cut, Ok(()));
                    if let Some(context) = self.context {
                        context.warn(warning);
                    }
                }
                Some(Err(error)) if written.is_err() || self.limits.room == self.limits.bytes => {
                    written = Err(error);
                }
                _ => {}
            }
        }
        written.map_err(|error| match is_too_large(&error) {
            true => error.with_detail("operation_ran", true),
            false => error,
        })?;
        if *self.envelope != Envelope::Bare {
            text.push(b'}');
        }
        Ok(Payload::new(into_string(text)))
    }

    /// The number of closing braces of the reply.
    fn closing(&self) -> usize {
        1 + usize::from(*self.envelope != Envelope::Bare)
    }

    /// The number of bytes after the data: closing braces, and the warnings including the one about a cut
    /// page.
    fn behind(&self, cut: Option<&Warning>) -> usize {
        let Some(context) = self.context.filter(|_| self.limits.has_warnings) else {
            return self.closing();
        };
        let mut warnings = context.warnings();
        cut.into_iter().for_each(|warning| warnings.push(warning.clone()));
        self.late_warnings
            .iter()
            .filter_map(|late| late.warning())
            .for_each(|warning| warnings.push(warning));
        self.closing() + warnings.reply_bytes()
    }

    /// Whether a reply whose data has this length has room for the rest.
    fn has_room(&self, length: usize) -> bool {
        // Most replies are far below the limit, so their warnings need not be measured.
        const ALWAYS_ENOUGH: usize = 64 << 10;
        let is_far =
            length.saturating_add(ALWAYS_ENOUGH) < self.limits.room && self.has_no_warnings();
        is_far || length.saturating_add(self.behind(None)) <= self.limits.room
    }

    fn has_no_warnings(&self) -> bool {
        self.late_warnings.is_empty() && self.context.is_none_or(Context::has_no_warnings)
    }

    /// Serializes a result that did not fit again, after `begin` and with its page cut. Returns `None` if
    /// it contains no page that can be cut.
    fn fit(
        &self,
        begin: &[u8],
        depth: usize,
        write_result: ResultWriter<'_>,
    ) -> Option<Result<(Vec<u8>, Warning), OperationError>> {
        let limits = self.limits;
        let write = || {
            let mut text = begin.to_vec();
            write_result(&mut text, depth, ReplyForm::Plain).map(|()| text)
        };
        let frame = measure_frame(|| write().ok())?;
        let mut behind = self.behind(Some(&cut_warning(1, 0, 0)));
        loop {
            let around = frame.bytes + behind;
            let room = PageSpace {
                bytes: limits.room.checked_sub(around)?,
                alone: limits.bytes.checked_sub(around)?,
                depth: limits.depth.saturating_sub(frame.depth),
            };
            match fit_page(room, write) {
                (Ok(text), Some(FitResult::Cut(warning))) => {
                    let needed = self.behind(Some(&warning));
                    if needed <= behind {
                        return Some(Ok((text, warning)));
                    }
                    behind = needed;
                }
                (_, Some(FitResult::TooMany(size))) => {
                    let bytes = limits.bytes;
                    let error = too_large("response_size", bytes, bytes.saturating_add(1), "bytes");
                    let error = error.with_next_step(format_args!("Ask for a page of {size}"));
                    return Some(Err(error.with_detail("fitting_page_size", size)));
                }
                _ => return None,
            }
        }
    }
}
