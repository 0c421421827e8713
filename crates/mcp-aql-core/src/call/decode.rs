//! Decode: reads a request without regard to the existing operations.

use super::Pipeline;
use crate::error::OperationError;
use crate::request::{
    Arguments, IndexedArguments, Refused, Request, decode, parse, read_texts, too_large,
};

impl Pipeline {
    /// Scans the bytes of tool arguments, if these have the usual form.
    pub(crate) fn scan<'a>(&self, arguments: &'a [u8]) -> Option<IndexedArguments<'a>> {
        let text = std::str::from_utf8(arguments).ok()?;
        // A longer text is refused before anything in it is read.
        (text.len() <= self.settings.limits.max_request_size)
            .then(|| IndexedArguments::scan(text))
            .flatten()
    }

    /// Reads the tool arguments from bytes. White space counts as part of the request.
    pub(crate) fn parse(&self, arguments: &[u8]) -> Result<Arguments, OperationError> {
        let limits = &self.settings.limits;
        if arguments.len() > limits.max_request_size {
            let (limit, size) = (limits.max_request_size, arguments.len());
            return Err(too_large("request_size", limit, size, "bytes"));
        }
        parse(arguments, limits)
    }

    /// Reads one operation or the items of a batch.
    pub(super) fn decode(&self, mut arguments: Arguments) -> Result<Request, Refused> {
        if self.settings.json_texts {
            read_texts(&mut arguments.members, &self.settings.limits);
        }
        decode(arguments, self.settings.batch, &self.settings.limits)
    }
}
