//! Decode: parses a request and checks its sizes. It does not need to know the registered operations.

use super::Pipeline;
use crate::error::OperationError;
use crate::request::{
    Content, Decoded, IndexedCall, InvalidRequest, ParsedObject, decode_request, parse, read_texts,
    too_large,
};

/// A request that cannot be decoded.
pub(crate) enum DecodeError {
    /// The JSON is malformed or too large to be parsed.
    Unreadable(OperationError),
    /// The JSON is not a valid request.
    Invalid(InvalidRequest),
}

impl From<OperationError> for DecodeError {
    fn from(error: OperationError) -> Self {
        Self::Unreadable(error)
    }
}

impl Pipeline {
    /// Decodes a request or the items of a batch. White space counts towards the size of the request. JSON beyond the
    /// limit is not parsed at all.
    pub(super) fn decode<'a>(&self, content: Content<'a>) -> Result<Decoded<'a>, DecodeError> {
        let limits = &self.settings.limits;
        let call = match content {
            Content::Object(object) => return self.decode_object(object),
            Content::Call(call) => call,
            Content::Json(json) if json.len() > limits.max_request_size => {
                let (limit, size) = (limits.max_request_size, json.len());
                return Err(too_large("request_size", limit, size, "bytes").into());
            }
            Content::Json(json) => match std::str::from_utf8(json).ok().and_then(IndexedCall::scan)
            {
                Some(call) => call,
                None => return self.decode_object(parse(json, limits)?),
            },
        };
        match call.request(limits) {
            Ok(request) => Ok(Decoded::One(request)),
            Err(call) => self.decode_object(call.parse(limits)?),
        }
    }

    fn decode_object(&self, mut object: ParsedObject) -> Result<Decoded<'static>, DecodeError> {
        if self.settings.json_texts {
            // The strings of single parameters follow in `call/validate`, because only the operation's table shows
            // which parameters accept an object or a list.
            read_texts(&mut object.members, &self.settings.limits);
        }
        decode_request(object, self.settings.batch, &self.settings.limits)
            .map_err(DecodeError::Invalid)
    }
}
