//! Implements the fifty operations as discrete tools, with rmcp's macros.
//!
//! The server is as efficient as rmcp allows and as strict as mcp-aql. The router is built once, unknown arguments are
//! rejected, and the result is written as one content item.

use std::sync::Arc;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kinds::kinds;
use super::store::{Fault, Record, Store};

macro_rules! tools {
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
            #[derive(Debug, Clone, Serialize)]
            pub struct $Record {
                $id: u64,
                $($field: $type,)+
                $($opt_field: Option<$opt_type>,)+
                archived: bool,
                #[serde(rename = "_version")]
                version: u64,
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

            // The parameters of this kind's tools.
            mod $records {
                use super::*;

                #[derive(Debug, Deserialize, JsonSchema)]
                #[serde(deny_unknown_fields)]
                pub(super) struct Create {
                    $($(#[doc = $doc])+ pub(super) $field: $type,)+
                    $($(#[doc = $opt_doc])+ pub(super) $opt_field: Option<$opt_type>,)+
                }

                #[derive(Debug, Deserialize, JsonSchema)]
                #[serde(deny_unknown_fields)]
                pub(super) struct Get {
                    #[doc = $id_doc]
                    pub(super) $id: u64,
                    /// Find it even if it was put away.
                    #[serde(default)]
                    pub(super) archived: bool,
                    /// Fail unless its version is greater than this one.
                    pub(super) newer_than: Option<u64>,
                }

                #[derive(Debug, Deserialize, JsonSchema)]
                #[serde(deny_unknown_fields)]
                pub(super) struct List {
                    #[doc = $by_doc]
                    pub(super) $by: Option<String>,
                    /// Also those that were put away.
                    #[serde(default)]
                    pub(super) archived: bool,
                    /// How many at most.
                    #[serde(default = "fifty")]
                    pub(super) limit: u32,
                }

                #[derive(Debug, Deserialize, JsonSchema)]
                #[serde(deny_unknown_fields)]
                pub(super) struct Update {
                    #[doc = $id_doc]
                    pub(super) $id: u64,
                    $($(#[doc = $doc])+ pub(super) $field: Option<$type>,)+
                    $($(#[doc = $opt_doc])+ pub(super) $opt_field: Option<$opt_type>,)+
                    /// Version that it must still have.
                    pub(super) if_match: Option<u64>,
                }

                #[derive(Debug, Deserialize, JsonSchema)]
                #[serde(deny_unknown_fields)]
                pub(super) struct Delete {
                    #[doc = $id_doc]
                    pub(super) $id: u64,
                    /// Put it away in place of removing it.
                    #[serde(default)]
                    pub(super) archive: bool,
                    /// Version that it must still have.
                    pub(super) if_match: Option<u64>,
                }
            }
        )+

        /// The records of all kinds.
        #[derive(Debug)]
        pub struct Records {
            /// The router of the tools.
            pub tool_router: ToolRouter<Self>,
            $($records: Store<$Record>,)+
        }

        #[tool_router]
        impl Records {
            /// Builds the server with an empty store.
            pub fn server() -> Arc<Self> {
                Arc::new(Self {
                    tool_router: Self::tool_router(),
                    $($records: Store::default(),)+
                })
            }

            $(
                #[doc = $create_doc]
                #[tool]
                fn $create(
                    &self,
                    Parameters(given): Parameters<$records::Create>,
                ) -> Result<String, String> {
                    json(&self.$records.add(|$id| $Record {
                        $id,
                        $($field: given.$field,)+
                        $($opt_field: given.$opt_field,)+
                        archived: false,
                        version: 1,
                    }))
                }

                #[doc = $get_doc]
                #[tool]
                fn $get(
                    &self,
                    Parameters(given): Parameters<$records::Get>,
                ) -> Result<String, String> {
                    found(self.$records.get(given.$id, given.archived, given.newer_than))
                }

                #[doc = $list_doc]
                #[tool]
                fn $list(
                    &self,
                    Parameters(given): Parameters<$records::List>,
                ) -> Result<String, String> {
                    json(&self.$records.list(given.archived, given.limit as usize, |record| {
                        given.$by.as_ref().is_none_or(|wanted| record.$by == *wanted)
                    }))
                }

                #[doc = $update_doc]
                #[tool]
                fn $update(
                    &self,
                    Parameters(given): Parameters<$records::Update>,
                ) -> Result<String, String> {
                    found(self.$records.update(given.$id, given.if_match, |record| {
                        $(if let Some(value) = given.$field {
                            record.$field = value;
                        })+
                        $(if given.$opt_field.is_some() {
                            record.$opt_field = given.$opt_field;
                        })+
                    }))
                }

                #[doc = $delete_doc]
                #[tool]
                fn $delete(
                    &self,
                    Parameters(given): Parameters<$records::Delete>,
                ) -> Result<String, String> {
                    found(self.$records.delete(given.$id, given.if_match, given.archive))
                }
            )+
        }
    };
}

kinds!(tools);

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Records {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("records", "0.0.0"))
    }
}

/// The default maximum number of records in a list.
fn fifty() -> u32 {
    50
}

fn found<T: Serialize>(record: Result<T, Fault>) -> Result<String, String> {
    json(&record.map_err(|fault| fault.to_string())?)
}

fn json<T: Serialize>(value: &T) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}
