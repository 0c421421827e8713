//! Formats parts of sentences in messages.

use std::fmt::Display;

/// Lists names for a sentence: "`a`, `b` and `c`", or "none".
pub(crate) fn listed<T: Display>(names: impl IntoIterator<Item = T>) -> String {
    let mut names: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match (names.pop(), names.is_empty()) {
        (None, _) => "none".to_owned(),
        (Some(last), true) => last,
        (Some(last), false) => format!("{} and {last}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn lists_names_in_a_sentence() {
        assert_eq!(listed([""; 0]), "none");
        assert_eq!(listed(["a"]), "`a`");
        assert_eq!(listed(["a", "b", "c"]), "`a`, `b` and `c`");
    }
}
