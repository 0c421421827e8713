//! Text of servers and queries: cleaning and splitting into words.
//!
//! All functions are total and take time linear in the length of the text.

mod clean;
mod fold;
mod keywords;
mod scan;
mod scripts;
mod stop;

#[cfg(test)]
pub(crate) use scan::key_of;
pub(crate) use scan::{Word, WordKind, mix, scan};
pub(crate) use scripts::has_no_spaces;
pub(crate) use stop::{is_asking_word, is_stop_word};
#[allow(unused_imports, reason = "used by the modules that clean results and fill templates")]
pub(crate) use {clean::clean, keywords::content_words};
