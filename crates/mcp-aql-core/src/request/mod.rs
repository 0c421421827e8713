//! Decodes requests. This stage does not need to know the registered operations.
//!
//! A call in its usual form is scanned (`arguments.rs`, `scanner.rs`), because this is faster. Every other request is
//! parsed (`bytes.rs`, `json_reader.rs`). Both produce the same type.

mod arguments;
mod bytes;
mod decode;
mod json_reader;
mod json_tokens;
mod limits;
mod params;
mod scanner;

pub(crate) use arguments::Content;
pub use arguments::{Arguments, IndexedCall};
pub use bytes::parse;
pub(crate) use bytes::{depth_of, nesting};
pub(crate) use decode::{Credentials, Decoded, InvalidRequest, Request, decode_request};
pub use json_reader::{Loss, ParsedObject, invalid_encoding, read, read_value};
pub use json_tokens::readable;
pub use limits::too_large;
pub(crate) use params::{Params, json_in_text, read_texts};
pub use scanner::Scanner;
