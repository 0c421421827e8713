//! `introspect`: operations, types and `_protocol`, rendered once when the adapter is built and
//! served as they are.

mod answer;
mod example;
mod operations;
mod protocol;
mod table;
mod types;

pub(crate) use answer::{Introspection, ListedOperation, introspect_failure};
pub(crate) use example::sample_params;
pub(crate) use operations::{details, list_entry};
pub(crate) use protocol::{ProtocolFacts, protocol_head};
pub(crate) use table::SPEC;
pub(crate) use types::TypeRegistry;
#[cfg(feature = "cli")]
pub(crate) use types::protocol_type_names;
