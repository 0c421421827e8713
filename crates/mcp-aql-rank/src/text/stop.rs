//! English stop words, and words that only phrase a question.

/// Words without content, sorted for binary search.
const STOP_WORDS: &[&str] = &[
    "a", "about", "above", "after", "again", "against", "all", "also", "although", "am", "among",
    "an", "and", "any", "are", "aren", "as", "at", "be", "because", "been", "before", "being",
    "below", "between", "both", "but", "by", "can", "cannot", "could", "couldn", "d", "did",
    "didn", "do", "does", "doesn", "don", "during", "each", "either", "else", "etc", "ever",
    "every", "few", "for", "from", "had", "hadn", "has", "hasn", "have", "haven", "having", "he",
    "her", "here", "hers", "him", "his", "how", "however", "i", "if", "in", "into", "is", "isn",
    "it", "its", "itself", "just", "ll", "m", "may", "me", "might", "mine", "more", "most", "much",
    "must", "my", "neither", "no", "nor", "not", "of", "off", "on", "once", "only", "or", "other",
    "ought", "our", "ours", "out", "over", "own", "please", "re", "s", "same", "shall", "she",
    "should", "shouldn", "since", "so", "some", "such", "t", "than", "that", "the", "their",
    "theirs", "them", "then", "there", "these", "they", "this", "those", "though", "through",
    "thus", "to", "too", "under", "until", "up", "upon", "us", "ve", "very", "was", "wasn", "we",
    "were", "weren", "what", "when", "where", "whether", "which", "while", "who", "whom", "whose",
    "why", "will", "with", "within", "would", "wouldn", "yet", "you", "your", "yours",
];

/// Words that phrase a question or refer to a document, sorted for binary search. They seldom
/// matter much.
const ASKING_WORDS: &[&str] = &[
    "anybody",
    "anyone",
    "article",
    "articles",
    "available",
    "concern",
    "concerned",
    "concerning",
    "consider",
    "considered",
    "deal",
    "dealing",
    "deals",
    "describe",
    "described",
    "describes",
    "describing",
    "description",
    "detail",
    "details",
    "different",
    "discuss",
    "discussed",
    "discussing",
    "discussion",
    "example",
    "examples",
    "exist",
    "exists",
    "explain",
    "explained",
    "find",
    "finding",
    "found",
    "general",
    "get",
    "getting",
    "give",
    "given",
    "gives",
    "good",
    "help",
    "information",
    "instance",
    "interest",
    "interested",
    "involve",
    "involved",
    "involving",
    "kind",
    "kinds",
    "know",
    "known",
    "like",
    "list",
    "look",
    "looking",
    "made",
    "make",
    "making",
    "many",
    "mention",
    "mentioned",
    "need",
    "needed",
    "needs",
    "obtain",
    "obtained",
    "paper",
    "papers",
    "particular",
    "possible",
    "present",
    "presented",
    "provide",
    "provides",
    "question",
    "questions",
    "regard",
    "regarding",
    "related",
    "relevant",
    "report",
    "reports",
    "result",
    "results",
    "say",
    "see",
    "seen",
    "show",
    "showing",
    "shown",
    "shows",
    "something",
    "sort",
    "studies",
    "study",
    "tell",
    "thing",
    "things",
    "topic",
    "topics",
    "type",
    "types",
    "use",
    "used",
    "uses",
    "using",
    "various",
    "want",
    "wanted",
    "way",
    "ways",
    "work",
    "works",
    "write",
    "written",
];

/// Returns `true` if a word in lower case only phrases a question.
pub(crate) fn is_asking_word(word: &str) -> bool {
    ASKING_WORDS.binary_search(&word).is_ok()
}

/// Returns `true` if a word in lower case is a stop word.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_found() {
        assert!(STOP_WORDS.is_sorted() && ASKING_WORDS.is_sorted(), "or the search misses some");
        assert!(is_asking_word("find") && !is_asking_word("ferry"));
        assert!(!ASKING_WORDS.iter().any(|word| is_stop_word(word)), "one list is enough");
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
        assert!(!is_stop_word("rust") && !is_stop_word(""));
    }
}
