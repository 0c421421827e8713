//! Decode: reads a request without regard to the existing operations.

use super::Pipeline;
use crate::error::OperationError;
use crate::request::{Arguments, Refused, Request, decode, parse, too_large};

impl Pipeline {
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
    pub(super) fn decode(&self, arguments: Arguments) -> Result<Request, Refused> {
        decode(arguments, self.settings.batch, &self.settings.limits)
    }
}
