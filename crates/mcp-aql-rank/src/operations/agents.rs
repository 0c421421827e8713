//! Finds the verbs in names such as `document_reader`, `pdf_merger` or `calculator`.

use crate::text::Stemmer;

use super::synonyms::is_verb;

/// Returns the stem of the verb behind a stem such as `reader` or `getter`.
pub(super) fn verb_of_agent(stem: &str, stemmer: Stemmer) -> Option<String> {
    let root = stem.strip_suffix("er").or_else(|| stem.strip_suffix("or"))?;
    let doubled = root
        .char_indices()
        .next_back()
        .filter(|(at, last)| root.get(..*at).is_some_and(|before| before.ends_with(*last)));
    let single = doubled.and_then(|(at, _)| root.get(..at));
    let candidates = [Some(root.to_owned()), Some(format!("{root}e")), single.map(str::to_owned)];
    candidates.into_iter().flatten().map(|verb| stemmer.stem(&verb)).find(|verb| is_verb(verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_read_as_verbs() {
        let stemmer = Stemmer::english();
        for (stem, expected) in [
            ("reader", Some("read")),
            ("merger", Some("merg")),
            ("getter", Some("get")),
            ("splitter", Some("split")),
            ("paper", None),
            ("server", None),
            ("er", None),
            ("größer", None),
        ] {
            assert_eq!(verb_of_agent(stem, stemmer).as_deref(), expected, "{stem}");
        }
    }
}
