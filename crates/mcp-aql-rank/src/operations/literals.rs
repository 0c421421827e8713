//! Recognizes values of parameters in a question: paths and addresses.

/// A value in a question, such as a path or a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Literal<'t> {
    /// A path or the name of a file, with its format.
    File { path: &'t str, format: Option<Format> },
    /// An address on the web.
    Address(&'t str),
}

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Format {
    /// A word for the format.
    pub(super) word: &'static str,
    /// If `true`, the file contains plain text.
    pub(super) is_text: bool,
}

/// Extensions of plain-text files, with a word for their format.
const TEXT_FORMATS: &[(&str, &str)] = &[
    ("csv", "csv"),
    ("html", "html"),
    ("json", "json"),
    ("log", "log"),
    ("md", "markdown"),
    ("py", "code"),
    ("rs", "code"),
    ("sql", "sql"),
    ("svg", "svg"),
    ("toml", "toml"),
    ("ts", "code"),
    ("txt", "text"),
    ("xml", "xml"),
    ("yaml", "yaml"),
    ("yml", "yaml"),
];

/// Extensions of other files, with a word for their format. A plain-text file cannot replace them.
const BINARY_FORMATS: &[(&str, &str)] = &[
    ("doc", "word"),
    ("docx", "word"),
    ("gif", "image"),
    ("jpeg", "image"),
    ("jpg", "image"),
    ("mp3", "audio"),
    ("mp4", "video"),
    ("pdf", "pdf"),
    ("png", "image"),
    ("ppt", "powerpoint"),
    ("pptx", "powerpoint"),
    ("wav", "audio"),
    ("xls", "excel"),
    ("xlsx", "excel"),
    ("zip", "zip"),
];

/// Top-level domains of frequent host names.
const DOMAINS: &[&str] = &[
    "ai", "cn", "co", "com", "de", "dev", "edu", "eu", "fr", "gov", "io", "jp", "net", "org", "uk",
];

impl Format {
    fn of(extension: &str) -> Option<Self> {
        let find = |formats: &[(&str, &'static str)]| {
            let found = formats.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension));
            found.map(|(_, word)| *word)
        };
        let text = find(TEXT_FORMATS).map(|word| Self { word, is_text: true });
        text.or_else(|| find(BINARY_FORMATS).map(|word| Self { word, is_text: false }))
    }
}

/// Returns the literal for a word without whitespace, or `None` if it is an ordinary word.
///
/// ```text
/// /home/me/a.xlsx  → file `/home/me/a` with format `excel`
/// example.com      → address
/// node.js          → none
/// ```
pub(super) fn literal(word: &str) -> Option<Literal<'_>> {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '~' | '.'));
    let bare = bare.trim_end_matches(['.', '/']);
    let (stem, extension) = bare.rsplit_once('.').unwrap_or((bare, ""));
    if bare.contains("://") || bare.starts_with("www.") {
        return Some(Literal::Address(bare));
    }
    let format = Format::of(extension).filter(|_| !stem.is_empty());
    let rooted = ["/", "~/", "./", "../"].iter().any(|root| bare.starts_with(root));
    if rooted && bare.contains(char::is_alphanumeric) || format.is_some() {
        let path = if format.is_some() { stem } else { bare };
        return Some(Literal::File { path, format });
    }
    (!stem.is_empty() && DOMAINS.contains(&extension)).then_some(Literal::Address(bare))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_addresses_are_recognized() {
        let file = |path, format| Some(Literal::File { path, format });
        let binary = |word| Some(Format { word, is_text: false });
        let text = |word| Some(Format { word, is_text: true });
        for (word, expected) in [
            ("/home/me/a.xlsx,", file("/home/me/a", binary("excel"))),
            ("\"letter.DOCX\"", file("letter", binary("word"))),
            ("plan.md.", file("plan", text("markdown"))),
            ("/srv/git/.", file("/srv/git", None)),
            ("~/notes", file("~/notes", None)),
            ("https://example.org/x.", Some(Literal::Address("https://example.org/x"))),
            ("example.com?", Some(Literal::Address("example.com"))),
            ("node.js", None),
            ("and/or", None),
            ("/", None),
            ("file.", None),
            (".md", None),
            ("…", None),
        ] {
            assert_eq!(literal(word), expected, "{word}");
        }
    }
}
