//! Splits strings into words, stems the words, recognizes words without content, and cleans strings.
//!
//! All functions accept any string and take time linear in its length.

#[cfg(feature = "texts")]
mod clean;
#[cfg(feature = "texts")]
mod keywords;
mod scan;
mod segment;
mod simple;
mod stop;
#[cfg(feature = "texts")]
mod unicode;

use frostem::Algorithm;

#[cfg(all(test, feature = "texts"))]
pub(crate) use scan::key_of;
#[cfg(feature = "texts")]
pub(crate) use scan::mix;
pub(crate) use scan::{Word, WordKind};
pub(crate) use simple::scan_simply;
pub(crate) use stop::{is_asking_word, is_stop_word};
#[cfg(feature = "texts")]
pub(crate) use unicode::scan;
#[cfg(feature = "texts")]
pub use {clean::clean, keywords::content_words};

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
