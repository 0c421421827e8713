//! Splits a string into the same words as the index, for measurements.

use crate::text::Stemmer;

use super::fields;
use super::synonyms::related;

/// The stems of a string.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Words {
    /// The stems in the order of the string, without stop words.
    pub stems: Vec<String>,
}

impl Words {
    /// Returns the stems of everyday synonyms of these words, without duplicates.
    pub fn synonyms(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for other in self.stems.iter().flat_map(|stem| related(stem)) {
            if !found.contains(&other.stem) {
                found.push(other.stem.clone());
            }
        }
        found
    }
}

/// Returns the stems of a string, as an [`OperationIndex`](super::OperationIndex) reads them.
///
/// ```
/// let words = mcp_aql_rank::operations::words("getUserNames of the folder");
/// assert_eq!(words.stems, ["get", "user", "name", "folder"]);
/// assert!(words.synonyms().contains(&"fetch".to_owned()));
/// ```
pub fn words(text: &str) -> Words {
    Words { stems: fields::stems(text, Stemmer::english()) }
}
