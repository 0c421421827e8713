//! Words of a question that are values of parameters: paths and addresses.

/// A value that a question mentions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Literal<'t> {
    /// A path or the name of a file, and a word for its format.
    File { path: &'t str, format: Option<&'t str> },
    /// An address on the web.
    Address(&'t str),
}

/// Extensions of files, with a word for their format.
const FORMATS: &[(&str, &str)] = &[
    ("csv", "csv"),
    ("doc", "word"),
    ("docx", "word"),
    ("gif", "image"),
    ("html", "html"),
    ("jpeg", "image"),
    ("jpg", "image"),
    ("json", "json"),
    ("log", "log"),
    ("md", "markdown"),
    ("mp3", "audio"),
    ("mp4", "video"),
    ("pdf", "pdf"),
    ("png", "image"),
    ("ppt", "powerpoint"),
    ("pptx", "powerpoint"),
    ("svg", "svg"),
    ("txt", "text"),
    ("wav", "audio"),
    ("xls", "excel"),
    ("xlsx", "excel"),
    ("xml", "xml"),
    ("yaml", "yaml"),
    ("yml", "yaml"),
    ("zip", "zip"),
];

/// The last parts of frequent host names.
const DOMAINS: &[&str] = &[
    "ai", "cn", "co", "com", "de", "dev", "edu", "eu", "fr", "gov", "io", "jp", "net", "org", "uk",
];

/// Returns the literal that a word without white space is.
pub(super) fn literal(word: &str) -> Option<Literal<'_>> {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '~' | '.'));
    let bare = bare.trim_end_matches(['.', '/']);
    let (stem, extension) = bare.rsplit_once('.').unwrap_or((bare, ""));
    if bare.contains("://") || bare.starts_with("www.") {
        return Some(Literal::Address(bare));
    }
    let format = FORMATS.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension));
    let format = format.filter(|_| !stem.is_empty()).map(|(_, word)| *word);
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
        for (word, expected) in [
            ("/home/me/a.xlsx,", file("/home/me/a", Some("excel"))),
            ("\"letter.DOCX\"", file("letter", Some("word"))),
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
