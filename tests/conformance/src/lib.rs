//! What the conformance runner is tested with: an adapter without a fault, and faults to give it.
#![forbid(unsafe_code)]

pub mod faults;
pub mod garden;
pub mod mutants;
mod proxy;
pub mod variants;

pub use faults::{Fault, Tamper};
pub use garden::{Garden, GardenOptions, garden};
pub use proxy::{Faulty, Proxy, Shared, Wire, serve_mutated};
