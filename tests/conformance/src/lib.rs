//! Test support for the conformance runner: a faultless adapter, and faults to inject.
#![forbid(unsafe_code)]

pub mod faults;
pub mod garden;
pub mod mutants;
mod proxy;
pub mod variants;

pub use faults::{Fault, Tamper};
pub use garden::{Garden, GardenOptions, garden};
pub use proxy::{Faulty, Proxy, Shared, Wire, serve_mutated};
