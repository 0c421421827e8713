//! `introspect`: operations, types and `_protocol`, rendered once when the adapter is built and
//! served as they are.

mod answer;
mod brief;
mod example;
mod operations;
mod protocol;
mod table;
mod types;

pub(crate) use answer::{Introspection, ListedOperation, introspect_failure};
pub(crate) use example::{repeats_the_table, sample_params};
pub(crate) use operations::{details, list_entry, list_entry_in_brief};
pub(crate) use protocol::{ProtocolFacts, protocol_head, protocol_of_part};
pub(crate) use table::SPEC;
pub(crate) use types::TypeRegistry;
#[cfg(feature = "cli")]
pub(crate) use types::protocol_type_names;
