//! The macros cannot use the runtime, so they have lists of their own. Each is held equal here.

use mcp_aql::constraint::Format;
use mcp_aql::query::QueryOptions;
use mcp_aql::{DANGER_PATTERNS, DangerLevel, ErrorCode, RESERVED_OPERATIONS, SemanticCategory};

/// The text of a list's source, which is all that a test can see of a macro crate.
const CODES: &str = include_str!("../mcp-aql-derive/src/support/codes.rs");
const FORMATS: &str = include_str!("../mcp-aql-derive/src/support/format.rs");
const CATEGORIES: &str = include_str!("../mcp-aql-derive/src/support/category.rs");
const QUERIES: &str = include_str!("../mcp-aql-derive/src/operation/query_attr.rs");
const DANGER: &str = include_str!("../mcp-aql-derive/src/support/danger.rs");
const NAMES: &str = include_str!("../mcp-aql-derive/src/support/names.rs");

fn count(source: &str, what: &str) -> usize {
    source.lines().filter(|line| line.trim_start().starts_with(what)).count()
}

#[test]
fn error_codes() {
    // REQ-ERR-01
    for code in ErrorCode::ALL {
        let entry = format!("(\"{code}\", \"{code:?}\"),");
        assert!(CODES.contains(&entry), "{entry}");
    }
    assert_eq!(count(CODES, "(\""), ErrorCode::ALL.len());
}

#[test]
fn formats() {
    // REQ-INT-13
    for format in Format::ALL {
        let entry = format!("name: \"{}\", variant: \"{format:?}\"", format.as_str());
        assert!(FORMATS.contains(&entry), "{entry}");
    }
    assert_eq!(count(FORMATS, "Format { name: \""), Format::ALL.len());
}

#[test]
fn categories() {
    // REQ-EPT-02
    for category in SemanticCategory::ALL {
        let entry = format!("Self::{category:?} => \"{}\",", category.as_str());
        assert!(CATEGORIES.contains(&entry), "{entry}");
    }
}

#[test]
fn danger_levels() {
    // REQ-DNG-01, REQ-DNG-02
    for level in DangerLevel::ALL {
        for entry in [
            format!("Self::{level:?} => \"{level}\","),
            format!("Self::{level:?} => \"{level:?}\","),
        ] {
            assert!(DANGER.contains(&entry), "{entry}");
        }
    }
    // They are compared by their order.
    let variants: Vec<_> = DangerLevel::ALL.iter().map(|level| format!("{level:?},")).collect();
    let declared = format!("enumDangerLevel{{{}}}", variants.concat());
    let all: Vec<_> = DangerLevel::ALL.iter().map(|level| format!("Self::{level:?}")).collect();
    let listed = format!("ALL:[Self;{}]=[{}];", all.len(), all.join(","));
    for entry in [declared, listed] {
        assert!(dense(DANGER).contains(&entry), "{entry}");
    }
    for category in SemanticCategory::ALL {
        let level = DangerLevel::of_category(category);
        let entry = format!("(Category::{category:?}, DangerLevel::{level:?}),");
        assert!(DANGER.contains(&entry), "{entry}");
    }
}

#[test]
fn danger_patterns() {
    // REQ-DNG-08
    let groups: Vec<_> = DANGER_PATTERNS
        .iter()
        .map(|(level, patterns)| {
            let patterns: Vec<_> = patterns.iter().map(|it| format!("\"{it}\"")).collect();
            format!("(DangerLevel::{level:?},&[{}])", patterns.join(","))
        })
        .collect();
    let list = format!("constDANGER_PATTERNS:&[(DangerLevel,&[&str])]=&[{}];", groups.join(","));
    assert!(dense(DANGER).contains(&list), "{list}");
}

/// A source without white space and without the commas behind which a list ends.
fn dense(source: &str) -> String {
    let source: String = source.split_whitespace().collect();
    source.replace(",]", "]").replace(",)", ")")
}

#[test]
fn reserved_names() {
    // REQ-CLS-10
    for name in RESERVED_OPERATIONS {
        assert!(NAMES.contains(&format!("    \"{name}\",\n")), "{name}");
    }
    assert_eq!(
        count(NAMES.split("];").next().unwrap_or_default(), "\""),
        RESERVED_OPERATIONS.len()
    );
}

#[test]
fn sizes_of_pages() {
    // REQ-PAG-08
    let options = QueryOptions::new();
    for entry in [
        format!("const PAGE_SIZE: usize = {};", options.page_size),
        format!("const MAX_PAGE_SIZE: usize = {};", options.max_page_size),
        format!("const PAGE_SIZES: RangeInclusive<usize> = 1..={};", QueryOptions::CAP),
    ] {
        assert!(QUERIES.contains(&entry), "{entry}");
    }
}
