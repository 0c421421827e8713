//! Decoding: what a request is made of, before anyone asks which operations exist.

mod bytes;
mod decode;
mod gauge;
mod json_reader;
mod json_tokens;
mod limits;

pub(crate) use bytes::{invalid_encoding, nesting, parse};
pub(crate) use decode::{Credentials, OperationInput, Refused, Request, decode};
pub(crate) use gauge::write_json;
pub(crate) use json_reader::{Arguments, read};
#[cfg(feature = "cli")]
pub(crate) use json_reader::{Loss, read_value};
#[cfg(feature = "http")]
pub(crate) use json_tokens::readable;
pub(crate) use limits::too_large;
