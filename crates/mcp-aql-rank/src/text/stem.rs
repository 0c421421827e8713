//! The stems of English words.

use frostem::Algorithm;

/// Maximum length in bytes of a word to stem.
const MAX_STEMMED_BYTES: usize = 32;

/// The English Snowball stemmer. Words of other alphabets are left as they are.
#[derive(Clone, Copy)]
pub(crate) struct Stemmer(frostem::Stemmer);

impl Stemmer {
    pub(crate) fn english() -> Self {
        Self(frostem::Stemmer::new(Algorithm::English))
    }

    /// Returns a word in lower case, without `_` and without its English ending: `Tasks` → `task`.
    pub(crate) fn stem(self, word: &str) -> String {
        let mut plain = word.to_lowercase();
        plain.retain(|c| c != '_');
        if plain.len() <= MAX_STEMMED_BYTES && plain.bytes().all(|byte| byte.is_ascii_lowercase()) {
            self.0.stem(&plain).into_owned()
        } else {
            plain
        }
    }
}
