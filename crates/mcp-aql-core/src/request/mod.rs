//! Decoding: reads a request without regard to the existing operations. A call in its usual form is scanned, and only
//! the texts of its members are kept (`scanner.rs`, `indexed_arguments.rs`); every other request is parsed (`bytes.rs`,
//! `json_reader.rs`).

mod bytes;
mod decode;
mod encoding_error;
mod gauge;
mod indexed_arguments;
mod json_reader;
mod json_texts;
mod json_tokens;
mod limits;
mod scanner;

pub use bytes::{nesting, parse};
pub(crate) use decode::{Credentials, OperationInput, Refused, Request, decode};
pub use encoding_error::invalid_encoding;
pub(crate) use gauge::write_json;
pub use indexed_arguments::IndexedArguments;
pub(crate) use indexed_arguments::read_parameter;
pub use json_reader::{Arguments, read};
pub use json_reader::{Loss, read_value};
pub(crate) use json_texts::{json_in_text, read_texts};
pub use json_tokens::readable;
pub use limits::too_large;
pub use scanner::Scanner;
