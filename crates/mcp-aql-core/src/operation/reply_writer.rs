//! Serializes the result of an operation as the success part of its reply.

use std::sync::Arc;

use mcp_aql_protocol::ErrorCode;
use serde::Serialize;

use super::Context;
use super::composite::CompositeValues;
use crate::bounded_json::write_json;
use crate::error::OperationError;
use crate::error::warning::Warning;
use crate::paging::{FitResult, Frame, Measured, PageSpace, fit_page, measure_frame, widest_cut};
use crate::request::too_large;
use crate::vocab::{ReplyForm, ReplyLimits, count_escapes};

/// The result of running an operation: the success part of the reply, or an error.
pub type Outcome = Result<Payload, OperationError>;

/// The position of a result in `data`. It is determined when the adapter is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Envelope {
    /// `data` is the result.
    Bare,
    /// `data` is an object with the result under this name.
    Key(Arc<str>),
}

/// The success part of a reply as JSON.
#[derive(Debug)]
pub struct Payload {
    text: String,
    form: ReplyForm,
}

/// The beginning of every successful reply.
pub(crate) const SUCCESS: &str = r#"{"success":true,"data":"#;
/// [`SUCCESS`] as the beginning of a JSON string.
pub(crate) const QUOTED_SUCCESS: &str = r#""{\"success\":true,\"data\":"#;

impl Payload {
    /// Creates a payload from JSON: [`SUCCESS`] and the data after it.
    pub(crate) fn new(text: String) -> Self {
        Self { text, form: ReplyForm::Plain }
    }

    /// Creates a payload from the beginning of a JSON string, whose content is the reply.
    pub(crate) fn quoted(text: String) -> Self {
        Self { text, form: ReplyForm::Quoted }
    }

    /// Returns the size of the JSON in bytes.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns the form of the JSON.
    pub(crate) fn form(&self) -> ReplyForm {
        self.form
    }

    /// Returns the JSON of the reply up to and including `data`, without the closing brace.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Returns the same as [`into_text`](Self::into_text), always in the plain form.
    pub(crate) fn into_plain_text(self) -> String {
        match self.form {
            ReplyForm::Plain => self.text,
            // This always parses, because only this crate writes quoted payloads.
            ReplyForm::Quoted => serde_json::from_str(&(self.text + "\"")).unwrap_or_default(),
        }
    }
}

/// Serializes a result into one reply, with its envelope and within its limits.
#[derive(Debug, Clone, Copy)]
pub struct ReplyWriter<'a> {
    envelope: &'a Envelope,
    limits: ReplyLimits,
    /// Context of the call. Its warnings become part of the reply.
    context: Option<&'a Context>,
    composites: Option<&'a CompositeValues>,
}

/// Appends a result to the JSON. The arguments are the buffer, the number of open objects and arrays, and the limits.
type ResultWriter<'a> = &'a dyn Fn(&mut Vec<u8>, usize, ReplyLimits) -> Result<(), OperationError>;

/// JSON of a reply larger than the budget.
struct LargeText {
    text: Vec<u8>,
    /// Warning about a shortened page.
    cut: Option<Warning>,
    /// Number of rows that would fit, for a page that only the operation itself can cut.
    fitting_page_size: Option<usize>,
}

impl From<Vec<u8>> for LargeText {
    fn from(text: Vec<u8>) -> Self {
        Self { text, cut: None, fitting_page_size: None }
    }
}

/// Converts bytes to a string. Nothing is replaced, because serde_json and this module only write UTF-8.
fn into_string(text: Vec<u8>) -> String {
    String::from_utf8(text)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn is_too_large(error: &OperationError) -> bool {
    error.code() == ErrorCode::ValidationPayloadTooLarge
}

impl<'a> ReplyWriter<'a> {
    pub(crate) fn new(envelope: &'a Envelope, limits: ReplyLimits) -> Self {
        Self { envelope, limits, context: None, composites: None }
    }

    /// Adds warnings about the size of the result to this call, and reserves capacity for all its warnings.
    pub(crate) fn with_context(self, context: &'a Context) -> Self {
        Self { context: Some(context), ..self }
    }

    /// Reserves capacity for the warnings of composite arguments that depend on the written result.
    pub(super) fn with_composites(self, composites: &'a CompositeValues) -> Self {
        Self { composites: Some(composites), ..self }
    }

    /// Serializes the result into the reply. A result within the budget is serialized only once.
    pub(super) fn write<T: Serialize + ?Sized>(self, data: &T) -> Outcome {
        let write_result =
            &|text: &mut Vec<u8>, depth, limits| write_json(text, data, depth, limits);
        match self.limits.form {
            ReplyForm::Quoted if self.has_no_warnings() => self.write_quoted(write_result),
            _ => self.write_plain(write_result),
        }
    }

    /// Writes the reply as a JSON string.
    fn write_quoted(self, write_result: ResultWriter<'_>) -> Outcome {
        let budget = self.limits.budget;
        let mut text = Vec::with_capacity(768);
        text.extend_from_slice(QUOTED_SUCCESS.as_bytes());
        let mut depth = 1;
        if let Envelope::Key(key) = self.envelope {
            text.extend_from_slice(br#"{\""#);
            text.extend_from_slice(key.as_bytes());
            text.extend_from_slice(br#"\":"#);
            depth += 1;
        }
        // Escapes at most double the length of the plain form. The budget applies to the plain form.
        let limits = ReplyLimits { bytes: budget.saturating_mul(2), ..self.limits };
        let written = write_result(&mut text, depth, limits);
        let is_within = || {
            // The plain form has no quotation mark at the beginning.
            let most = budget.saturating_add(1).saturating_sub(self.closing());
            text.len() <= most || text.len() - count_escapes(&text) <= most
        };
        if written.is_err() || !is_within() {
            return self.write_large(write_result);
        }
        if *self.envelope != Envelope::Bare {
            text.push(b'}');
        }
        Ok(Payload::quoted(into_string(text)))
    }

    /// Writes the reply around the result that `write_result` appends. This function is separate from
    /// [`write`](Self::write), so that it is compiled only once for all types of results.
    fn write_plain(self, write_result: ResultWriter<'_>) -> Outcome {
        let budget = self.limits.budget;
        let (mut text, depth) = self.begin();
        let limits = ReplyLimits { bytes: budget, form: ReplyForm::Plain, ..self.limits };
        match write_result(&mut text, depth, limits) {
            Ok(()) if self.fits(text.len(), budget) => Ok(self.finish(text)),
            Err(error) if !is_too_large(&error) => Err(error),
            _ => self.write_large(write_result),
        }
    }

    /// Returns the JSON before the result, and the number of open objects in it.
    fn begin(&self) -> (Vec<u8>, usize) {
        // Most results fit into this size, and allocators provide it cheaply.
        let mut text = Vec::with_capacity(512);
        text.extend_from_slice(SUCCESS.as_bytes());
        let Envelope::Key(key) = self.envelope else { return (text, 1) };
        // Keys are public names and need no escapes.
        text.extend_from_slice(b"{\"");
        text.extend_from_slice(key.as_bytes());
        text.extend_from_slice(b"\":");
        (text, 2)
    }

    fn finish(&self, mut text: Vec<u8>) -> Payload {
        if *self.envelope != Envelope::Bare {
            text.push(b'}');
        }
        Payload::new(into_string(text))
    }

    /// Writes a result that exceeds the budget. If it contains a page, the page is cut. Any other result is written
    /// completely, with a warning.
    fn write_large(self, write_result: ResultWriter<'_>) -> Outcome {
        let (begin, depth) = self.begin();
        let limits = self.limits.in_form(ReplyForm::Plain);
        let write = || {
            let mut text = begin.clone();
            write_result(&mut text, depth, limits).map(|()| text)
        };
        let written = match measure_frame(write) {
            Measured::Page(frame) => self.fit(frame, write),
            Measured::Other(written) => written.map(LargeText::from),
        };
        let LargeText { text, cut, fitting_page_size } =
            written.map_err(|error| match is_too_large(&error) {
                true => error.with_detail("operation_ran", true),
                false => error,
            })?;
        let after = text.len().saturating_add(self.behind(cut.as_slice()));
        let mut warnings = Vec::from_iter(cut);
        if after > self.limits.large {
            warnings.push(self.large(after, fitting_page_size));
            // The result is worth more than the warning about its size.
            if text.len().saturating_add(self.behind(&warnings)) > self.limits.page_bytes {
                warnings.pop();
            }
        }
        if let Some(context) = self.context {
            warnings.into_iter().for_each(|warning| context.warn(warning));
        }
        Ok(self.finish(text))
    }

    /// Creates the warning about a result of this many bytes.
    fn large(&self, bytes: usize, fitting_page_size: Option<usize>) -> Warning {
        let reductions = self.composites.and_then(CompositeValues::reductions);
        Warning::large_result(bytes, self.limits.large, reductions, fitting_page_size)
    }

    /// Returns the number of closing braces of the reply.
    fn closing(&self) -> usize {
        1 + usize::from(*self.envelope != Envelope::Bare)
    }

    /// Returns the number of bytes after the data, for closing braces and for all warnings including `further`.
    fn behind(&self, further: &[Warning]) -> usize {
        let Some(context) = self.context.filter(|_| self.limits.has_warnings) else {
            return self.closing();
        };
        let mut warnings = context.warnings();
        let late = self.composites.into_iter().flat_map(CompositeValues::warnings_of_reply);
        further.iter().cloned().chain(late).for_each(|warning| warnings.push(warning));
        self.closing() + warnings.reply_bytes()
    }

    /// Returns `true` if a reply whose data has this length takes at most `most` bytes.
    fn fits(&self, length: usize, most: usize) -> bool {
        let behind = if self.has_no_warnings() { self.closing() } else { self.behind(&[]) };
        length.saturating_add(behind) <= most
    }

    fn has_no_warnings(&self) -> bool {
        let has_late = self.composites.is_some_and(CompositeValues::has_late_warnings);
        !has_late && self.context.is_none_or(Context::has_no_warnings)
    }

    /// Serializes a result again with its page cut to fit the budget. At least one row is kept.
    fn fit(
        &self,
        frame: Frame,
        write: impl Fn() -> Result<Vec<u8>, OperationError>,
    ) -> Result<LargeText, OperationError> {
        let limits = self.limits;
        let mut behind = self.behind(&[widest_cut()]);
        loop {
            let around = frame.bytes + behind;
            let (Some(bytes), Some(alone)) =
                (limits.page_bytes.checked_sub(around), limits.bytes.checked_sub(around))
            else {
                return write().map(LargeText::from);
            };
            let space = PageSpace {
                budget: limits.budget.saturating_sub(around),
                bytes,
                alone,
                depth: limits.depth.saturating_sub(frame.depth),
            };
            let (written, fitted) = fit_page(space, &write);
            match fitted {
                Some(FitResult::Cut(warning)) => {
                    let needed = self.behind(std::slice::from_ref(&warning));
                    if needed <= behind {
                        return Ok(LargeText { cut: Some(warning), ..written?.into() });
                    }
                    behind = needed;
                }
                Some(FitResult::Uncut(size)) => {
                    return Ok(LargeText { fitting_page_size: Some(size), ..written?.into() });
                }
                Some(FitResult::TooMany(size))
                    if written.is_err() || limits.page_bytes == limits.bytes =>
                {
                    let bytes = limits.bytes;
                    let error = too_large("response_size", bytes, bytes.saturating_add(1), "bytes");
                    let error = error.with_next_step(format_args!("Ask for a page of {size}"));
                    return Err(error.with_detail("fitting_page_size", size));
                }
                Some(FitResult::TooMany(_)) | None => return written.map(LargeText::from),
            }
        }
    }
}

#[cfg(test)]
mod tests;
