//! The operation `introspect`. It describes operations, types and the adapter itself (`_protocol`).
//!
//! Lists are rendered once when the adapter is built, and full entries on first use.

mod answer;
mod brief;
pub(crate) mod catalog;
mod example;
mod json_schema;
mod object_forms;
mod operations;
mod parameter_info;
mod protocol;
mod protocol_types;
mod query;
mod search;
mod table;
mod type_details;
mod types;
mod unrepresentable_types;

pub(crate) use answer::{Introspection, ListedOperation, ListedType, Source};
pub(crate) use brief::signature;
pub(crate) use example::{other_than_text_keys, repeats_the_table, sample_params};
pub(crate) use operations::{
    description_with_parameters, details, list_entry, list_entry_in_brief, summary,
};
pub(crate) use protocol::{ProtocolFacts, protocol_head, protocol_of_part};
pub use protocol_types::protocol_types;
pub(crate) use search::document;
pub(crate) use table::SPEC;
pub use types::TypeRegistry;
