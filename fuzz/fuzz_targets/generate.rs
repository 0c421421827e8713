//! Parses bytes as the description of a schema and generates its adapter.
//!
//! The generated source must parse as Rust and must contain only items that belong to the tables. No name, comment or
//! default value of a column may inject code.
//!
//! An input has the name of the adapter, a form feed (`<FF>`) and the tables: `shop<FF>…`.
#![no_main]

#[path = "../../crates/mcp-aql-generate/src/generation/planned.rs"]
mod planned;

use libfuzzer_sys::fuzz_target;
use mcp_aql_generate::test_util::generate_described;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let (name, tables) = text.split_once('\u{c}').unwrap_or(("shop", &text));
    if let Ok(generated) = generate_described(name, tables) {
        planned::has_only_what_was_planned(&generated.source, &generated.remarks);
    }
});
