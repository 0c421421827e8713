//! English words that say nothing of what a text is about.

/// Sorted, so that it can be searched.
const STOP_WORDS: &[&str] = &[
    "a", "about", "above", "after", "again", "against", "all", "also", "although", "am", "among",
    "an", "and", "any", "are", "aren", "as", "at", "be", "because", "been", "before", "being",
    "below", "between", "both", "but", "by", "can", "cannot", "could", "couldn", "d", "did",
    "didn", "do", "does", "doesn", "doing", "don", "done", "during", "each", "either", "else",
    "etc", "ever", "every", "few", "for", "from", "had", "hadn", "has", "hasn", "have", "haven",
    "having", "he", "her", "here", "hers", "him", "his", "how", "however", "i", "if", "in", "into",
    "is", "isn", "it", "its", "itself", "just", "ll", "m", "may", "me", "might", "mine", "more",
    "most", "much", "must", "my", "neither", "no", "nor", "not", "of", "off", "on", "once", "only",
    "or", "other", "ought", "our", "ours", "out", "over", "own", "please", "re", "s", "same",
    "shall", "she", "should", "shouldn", "since", "so", "some", "such", "t", "than", "that", "the",
    "their", "theirs", "them", "then", "there", "these", "they", "this", "those", "though",
    "through", "thus", "to", "too", "under", "until", "up", "upon", "us", "ve", "very", "was",
    "wasn", "we", "were", "weren", "what", "when", "where", "whether", "which", "while", "who",
    "whom", "whose", "why", "will", "with", "within", "would", "wouldn", "yet", "you", "your",
    "yours",
];

/// Whether a word in lower case is one.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_found() {
        assert!(STOP_WORDS.is_sorted(), "or the search misses some");
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
        assert!(!is_stop_word("rust") && !is_stop_word(""));
    }
}
