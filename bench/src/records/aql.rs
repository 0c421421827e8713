//! Implements the fifty operations as an mcp-aql adapter.

use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

use super::kinds::kinds;
use super::store::{Fault, Record, Store};

impl From<Fault> for OperationError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Missing { kind, id } => Self::not_found(kind, id),
            Fault::Changed { expected, actual } => Self::version_mismatch(expected, actual),
            Fault::Unchanged(_) => Self::new(ErrorCode::NotFoundResource, fault.to_string()),
        }
    }
}

macro_rules! adapter {
    ($(
        $(#[doc = $about:tt])+
        $Record:ident in $records:ident, $id:ident $id_doc:tt, $by:ident $by_doc:tt {
            $create:ident $create_doc:tt,
            $get:ident $get_doc:tt,
            $list:ident $list_doc:tt,
            $update:ident $update_doc:tt,
            $delete:ident $delete_doc:tt,
            required { $($(#[doc = $doc:tt])+ $field:ident: $type:ty,)+ }
            optional { $($(#[doc = $opt_doc:tt])+ $opt_field:ident: $opt_type:ty,)+ }
        }
    )+) => {
        $(
            $(#[doc = $about])+
            #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, UpdateInput)]
            pub struct $Record {
                #[doc = $id_doc]
                #[resource(id)]
                pub $id: u64,
                $($(#[doc = $doc])+ pub $field: $type,)+
                $($(#[doc = $opt_doc])+ pub $opt_field: Option<$opt_type>,)+
                /// Whether it was put away.
                #[resource(read_only)]
                pub archived: bool,
                /// Grows with every change.
                #[resource(read_only)]
                #[serde(rename = "_version")]
                pub version: u64,
            }

            impl Record for $Record {
                const KIND: &'static str = stringify!($Record);

                fn version(&mut self) -> &mut u64 {
                    &mut self.version
                }

                fn archived(&mut self) -> &mut bool {
                    &mut self.archived
                }
            }
        )+

        /// The records of all kinds.
        #[derive(Debug, Default)]
        pub struct Records {
            $($records: Store<$Record>,)+
        }

        #[operations]
        impl Records {
            $(
                #[doc = $create_doc]
                #[operation(category = "CREATE")]
                fn $create(
                    &self,
                    $($(#[doc = $doc])+ $field: $type,)+
                    $($(#[doc = $opt_doc])+ $opt_field: Option<$opt_type>,)+
                ) -> $Record {
                    self.$records.add(|$id| $Record {
                        $id,
                        $($field,)+
                        $($opt_field,)+
                        archived: false,
                        version: 1,
                    })
                }

                #[doc = $get_doc]
                #[operation(category = "READ")]
                fn $get(
                    &self,
                    #[doc = $id_doc] $id: u64,
                    /// Find it even if it was put away.
                    #[param(default = false)]
                    archived: bool,
                    /// Fail unless its version is greater than this one.
                    newer_than: Option<u64>,
                ) -> Result<$Record, Fault> {
                    self.$records.get($id, archived, newer_than)
                }

                #[doc = $list_doc]
                #[operation(category = "READ")]
                fn $list(
                    &self,
                    #[doc = $by_doc] $by: Option<String>,
                    /// Also those that were put away.
                    #[param(default = false)]
                    archived: bool,
                    /// How many at most.
                    #[param(default = 50)]
                    limit: u32,
                ) -> Vec<$Record> {
                    self.$records.list(archived, limit as usize, |record| {
                        $by.as_ref().is_none_or(|wanted| record.$by == *wanted)
                    })
                }

                #[doc = $update_doc]
                #[operation(category = "UPDATE")]
                fn $update(
                    &self,
                    #[doc = $id_doc] $id: u64,
                    input: Update<$Record>,
                    if_match: IfMatch<u64>,
                ) -> Result<$Record, Fault> {
                    let expected = if_match.expected().copied();
                    self.$records.update($id, expected, |record| input.merge_into(record))
                }

                #[doc = $delete_doc]
                #[operation(category = "DELETE")]
                fn $delete(
                    &self,
                    #[doc = $id_doc] $id: u64,
                    /// Put it away in place of removing it.
                    #[param(default = false)]
                    archive: bool,
                    if_match: IfMatch<u64>,
                ) -> Result<$Record, Fault> {
                    self.$records.delete($id, if_match.expected().copied(), archive)
                }
            )+
        }
    };
}

kinds!(adapter);

/// Builds the adapter with an empty store.
///
/// # Errors
///
/// Returns an error if the adapter cannot be built.
pub fn adapter() -> Result<Adapter, mcp_aql::BuildError> {
    Adapter::builder("records")
        .operations(Records::default())
        // The peer does not ask for confirmations either.
        .policy(mcp_aql::Policy::allow("delete_*"))
        .build()
}
