//! Routing: name → operation, and whether it came in through the right door.

mod profile;
mod registry;

pub use profile::{EndpointMode, EndpointProfile, Family};
pub use registry::Endpoint;
pub(crate) use registry::{Entry, Registry};
