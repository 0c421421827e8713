//! Measures of this workspace: module cycles, allowed crate edges, lengths of functions and files,
//! conditional compilation, phrases. `measure` prints them, and a test compares each with its limit.

pub mod cycles;
pub mod edges;
pub mod measures;
pub mod names;
pub mod prose;
pub mod sizes;
pub mod source;
