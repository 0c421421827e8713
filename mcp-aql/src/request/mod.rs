//! Decoding: what a request is made of, before anyone asks which operations exist.

mod bytes;
mod decode;
mod gauge;
mod limits;

pub(crate) use bytes::{invalid_encoding, parse};
pub(crate) use decode::{Credentials, OperationInput, Refused, Request, decode};
pub(crate) use gauge::write_json;
pub(crate) use limits::{check_response, too_large};
