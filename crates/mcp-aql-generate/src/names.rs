//! Converts names of tables and columns into names in Rust.
//!
//! ```text
//! order_items → singular `order_item`, type `OrderItem`
//! ```

use heck::{ToSnakeCase as _, ToUpperCamelCase as _};

/// Nouns with an irregular plural. If you find a wrong singular, add the noun here.
const IRREGULAR: [(&str, &str); 6] = [
    ("people", "person"),
    ("children", "child"),
    ("men", "man"),
    ("women", "woman"),
    ("mice", "mouse"),
    ("feet", "foot"),
];

/// The endings of singular words that end in `s`.
const SINGULAR_ENDS: [&str; 3] = ["ss", "us", "is"];

/// Returns the singular of a snake_case name. Its last word is the noun.
pub(crate) fn singular_of(plural: &str) -> String {
    let (before, noun) = match plural.rfind('_') {
        Some(at) => plural.split_at(at + 1),
        None => ("", plural),
    };
    if let Some((_, singular)) = IRREGULAR.iter().find(|(plural, _)| *plural == noun) {
        return format!("{before}{singular}");
    }
    let kept = SINGULAR_ENDS.iter().any(|end| noun.ends_with(end));
    let singular = if kept || noun.len() < 3 {
        noun.to_owned()
    } else if let Some(stem) = noun.strip_suffix("ies").filter(|stem| stem.len() > 1) {
        format!("{stem}y")
    } else if let Some(stem) = noun.strip_suffix("es").filter(|stem| hisses(stem)) {
        stem.to_owned()
    } else {
        noun.strip_suffix('s').unwrap_or(noun).to_owned()
    };
    format!("{before}{singular}")
}

fn hisses(stem: &str) -> bool {
    ["ss", "x", "ch", "sh", "zz", "tus", "rus", "bus"].iter().any(|end| stem.ends_with(end))
}

/// Returns a snake_case name that starts with a letter.
pub(crate) fn snake(name: &str) -> String {
    public(name.to_snake_case())
}

/// Returns a CamelCase name that starts with a letter.
pub(crate) fn camel(name: &str) -> String {
    // Other characters are removed before the capitals are set, so that the result cannot be a keyword.
    let name: String = name.chars().filter(char::is_ascii).collect();
    let name: String =
        name.to_upper_camel_case().chars().filter(char::is_ascii_alphanumeric).collect();
    if name.starts_with(|first: char| first.is_ascii_alphabetic()) && name != "Self" {
        return name;
    }
    format!("V{name}")
}

/// The maximum length of a name. The names of operations add a verb to it, and replies shorten names with more than 64
/// characters.
const MAX_CHARACTERS: usize = 48;

fn public(name: String) -> String {
    let letters = name.chars().filter(|it| it.is_ascii_alphanumeric() || *it == '_');
    let name: String = letters.skip_while(|it| *it == '_').take(MAX_CHARACTERS).collect();
    let name = name.trim_end_matches('_').to_owned();
    if name.starts_with(|first: char| first.is_ascii_lowercase()) {
        name
    } else {
        format!("x{name}")
    }
}

/// Returns the name of a type. If the source itself uses the name, the name gets the ending `Row`.
pub(crate) fn type_name(name: &str) -> String {
    let name = camel(name);
    if RESERVED.contains(&name.as_str()) { format!("{name}Row") } else { name }
}

/// The types that the source uses, and those of Rust's prelude. If you let the source use another type, add it here.
const RESERVED: &[&str] = &[
    "Adapter",
    "AsMut",
    "AsRef",
    "Box",
    "ByOperator",
    "Clone",
    "CollectionQuery",
    "Context",
    "Copy",
    "Create",
    "CreateInput",
    "DateTime",
    "Debug",
    "Default",
    "Deserialize",
    "Dialect",
    "DoubleEndedIterator",
    "Drop",
    "Eq",
    "Err",
    "ErrorCode",
    "ExactSizeIterator",
    "ExecutionContext",
    "Extend",
    "Fields",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "FromIterator",
    "Future",
    "IfMatch",
    "Into",
    "IntoFuture",
    "IntoIterator",
    "Iterator",
    "JsonSchema",
    "NaiveDate",
    "None",
    "Ok",
    "OperationError",
    "OperatorAccess",
    "Option",
    "OrInternal",
    "Ord",
    "Page",
    "PageInfo",
    "ParamGroup",
    "PartialEq",
    "PartialOrd",
    "PostgresDatabase",
    "RelationshipGraph",
    "RelationshipQuery",
    "Resource",
    "Result",
    "RunAdapter",
    "RusqliteDatabase",
    "Send",
    "Serialize",
    "ServeHttp",
    "ServeStdio",
    "ServeStream",
    "Session",
    "Severity",
    "Some",
    "SqlStore",
    "SqlTable",
    "State",
    "String",
    "Sync",
    "ToOwned",
    "ToString",
    "TryFrom",
    "TryInto",
    "Unpin",
    "Update",
    "UpdateInput",
    "Utc",
    "Value",
    "Vec",
    "Warning",
    "WithOpenTelemetry",
    "WithResources",
    "WithRules",
    "WithSafetyLoop",
];

/// Returns a name as an identifier of Rust, with `r#` if it is a keyword.
pub(crate) fn identifier(name: &str) -> String {
    if KEYWORDS.contains(&name) { format!("r#{name}") } else { name.to_owned() }
}

/// The keywords of Rust that become valid identifiers with `r#`.
const KEYWORDS: [&str; 48] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// Returns a comment of the database as documentation lines. Returns `None` for a blank comment.
pub(crate) fn lines(comment: &str) -> Option<String> {
    let line = |line: &str| line.replace(mcp_aql_text::is_hidden, " ").trim().to_owned();
    let lines: Vec<_> = comment.split(['\n', '\r']).map(line).collect();
    let text = lines.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Returns a name as a sentence: `Order items.` for `order_items`.
pub(crate) fn sentence(name: &str) -> String {
    let words = snake(name).replace('_', " ");
    let mut letters = words.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::{RESERVED, camel, identifier, lines, sentence, singular_of, snake, type_name};

    #[test]
    fn the_singular_of_a_table_follows_from_its_last_word() {
        for (plural, singular) in [
            ("orders", "order"),
            ("order_items", "order_item"),
            ("categories", "category"),
            ("addresses", "address"),
            ("boxes", "box"),
            ("houses", "house"),
            ("people", "person"),
            ("status", "status"),
            ("statuses", "status"),
            ("order", "order"),
            ("bus", "bus"),
        ] {
            assert_eq!(singular_of(plural), singular);
        }
    }

    #[test]
    fn names_that_the_source_imports_are_reserved() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../mcp-aql/src/prelude.rs");
        let prelude = std::fs::read_to_string(path).unwrap();
        let lines = prelude.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code = lines.collect::<Vec<_>>().join("\n");
        let words = code.split(|letter: char| !letter.is_alphanumeric());
        let types = words.filter(|word| word.starts_with(|first: char| first.is_ascii_uppercase()));
        let missing: Vec<_> = types.filter(|name| !RESERVED.contains(name)).collect();
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn names_become_names_of_rust() {
        const LONG: &str = "a_very_long_name_with_a_very_long_name_with_a__very_long";
        for (name, field, kind) in [
            ("createdAt", "created_at", "CreatedAt"),
            ("Order ID", "order_id", "OrderId"),
            ("2nd_name", "x2nd_name", "V2ndName"),
            ("größe", "gre", "Gre"),
            ("_", "x", "V"),
            ("self", "self", "VSelf"),
            ("日本self", "self", "VSelf"),
            ("日本type", "type", "Type"),
            (
                LONG,
                "a_very_long_name_with_a_very_long_name_with_a_ve",
                "AVeryLongNameWithAVeryLongNameWithAVeryLong",
            ),
        ] {
            assert_eq!((snake(name).as_str(), camel(name).as_str()), (field, kind));
        }
        assert_eq!(identifier("type"), "r#type");
        assert_eq!(sentence("customer_name"), "Customer name.");
        assert_eq!(type_name("options"), "Options");
        assert_eq!(type_name("option"), "OptionRow");
        assert_eq!(lines(" \u{202e}a\r\nb\u{7}\n").as_deref(), Some("a\n\nb"));
        assert_eq!(lines("\r \u{200b}"), None);
    }
}
