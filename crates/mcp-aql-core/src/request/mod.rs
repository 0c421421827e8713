//! Decoding: reads a request without regard to the existing operations.

mod bytes;
mod decode;
mod encoding_error;
mod gauge;
mod json_reader;
mod json_tokens;
mod limits;

pub use bytes::{nesting, parse};
pub(crate) use decode::{Credentials, OperationInput, Refused, Request, decode};
pub use encoding_error::invalid_encoding;
pub(crate) use gauge::write_json;
pub use json_reader::{Arguments, read};
pub use json_reader::{Loss, read_value};
pub use json_tokens::readable;
pub use limits::too_large;
