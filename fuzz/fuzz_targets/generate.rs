//! Parses text as the description of a schema, and writes the source of its adapter. The source must parse, and hold only
//! what the tables ask for, whatever their names, comments and defaults are.
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
