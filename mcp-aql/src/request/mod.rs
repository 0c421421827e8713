//! Decoding: reads a request without regard to the existing operations.

mod bytes;
mod decode;
mod encoding_error;
mod gauge;
mod json_reader;
mod json_tokens;
mod limits;

pub(crate) use bytes::{nesting, parse};
pub(crate) use decode::{Credentials, OperationInput, Refused, Request, decode};
pub(crate) use encoding_error::invalid_encoding;
pub(crate) use gauge::write_json;
pub(crate) use json_reader::{Arguments, read};
#[cfg(feature = "cli")]
pub(crate) use json_reader::{Loss, read_value};
#[cfg(feature = "http")]
pub(crate) use json_tokens::readable;
pub(crate) use limits::too_large;
