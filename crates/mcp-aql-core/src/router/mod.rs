//! Routing: finds an operation by its name, and checks the endpoint.

mod profile;
mod registry;

pub use profile::{EndpointMode, EndpointProfile, Family};
pub use registry::Endpoint;
pub use registry::Entry;
pub(crate) use registry::Registry;
