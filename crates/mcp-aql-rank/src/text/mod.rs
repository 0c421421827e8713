//! Splitting strings into words, stems, words without content, and cleaning.
//!
//! All functions accept any string and take time linear in its length.

#[cfg(feature = "texts")]
mod clean;
#[cfg(feature = "texts")]
mod fold;
#[cfg(feature = "texts")]
mod keywords;
mod scan;
mod scripts;
mod segment;
mod simple;
mod stem;
mod stop;
#[cfg(feature = "texts")]
mod unicode;

#[cfg(all(test, feature = "texts"))]
pub(crate) use scan::key_of;
#[cfg(feature = "texts")]
pub(crate) use scan::mix;
pub(crate) use scan::{Word, WordKind};
#[cfg(feature = "texts")]
pub(crate) use scripts::has_no_spaces;
pub(crate) use simple::scan_simply;
pub(crate) use stem::Stemmer;
pub(crate) use stop::{is_asking_word, is_stop_word};
#[cfg(feature = "texts")]
pub(crate) use unicode::scan;
#[cfg(feature = "texts")]
pub use {clean::clean, keywords::content_words};
