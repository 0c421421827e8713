//! Measures the structure of this workspace: module cycles, dependencies between crates, lengths of functions and
//! files, conditional compilation, and phrases. `measure` computes all of them, and a test compares each with its
//! limit.

pub mod cycles;
pub mod edges;
pub mod measures;
pub mod names;
pub mod prose;
pub mod settings;
pub mod sizes;
pub mod source;
