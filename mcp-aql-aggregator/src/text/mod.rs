//! Text of upstreams and of queries: made clean, and cut into words.
//!
//! Nothing here fails: whatever the text, something sensible comes out, in time linear in its length.

mod clean;
mod fold;
mod keywords;
mod scan;
mod scripts;
mod stop;

#[cfg(test)]
pub(crate) use scan::key_of;
pub(crate) use scan::{Kind, Word, mix, scan};
pub(crate) use scripts::has_no_spaces;
pub(crate) use stop::{is_asking_word, is_stop_word};
#[allow(unused_imports, reason = "for the modules that clean results and fill templates")]
pub(crate) use {clean::clean, keywords::content_words};
