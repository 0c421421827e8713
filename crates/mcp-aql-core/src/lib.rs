//! The core of mcp-aql: tables of operations, the call pipeline, gates, executions, introspection, and the adapter
//! with its extension points.
//!
//! If you write an adapter, use the crate `mcp-aql`. It re-exports everything that you need. All other items are for
//! the crates of this workspace that extend an adapter, and they may change in every version.
//!
//! | to … | see |
//! |---|---|
//! | follow a call through its stages | the module `call` |
//! | describe an operation | [`table`], the module `operation` |
//! | add a capability to an adapter | the module `extension` |
//! | add a gate | the module `gatekeeper` |
//! | keep state | [`store`] |

// Generated code names the runtime `mcp_aql`. The unit tests of this crate use the macros, so they need this name,
// too.
#[cfg(test)]
extern crate self as mcp_aql;

mod adapter;
mod bounded_json;
mod call;
mod caller;
mod config;
mod error;
mod execution;
mod extension;
mod gatekeeper;
mod introspection;
/// The macros. They have a separate module, because the macro `operation` would share its name with a module.
pub mod macros {
    #[doc = include_str!("macro_docs/operation.md")]
    pub use mcp_aql_derive::operation;

    #[doc = include_str!("macro_docs/operations.md")]
    pub use mcp_aql_derive::operations;

    #[doc = include_str!("macro_docs/param_group.md")]
    pub use mcp_aql_derive::ParamGroup;

    #[doc = include_str!("macro_docs/operation_error.md")]
    pub use mcp_aql_derive::OperationError;

    #[doc = include_str!("macro_docs/create_input.md")]
    pub use mcp_aql_derive::CreateInput;

    #[doc = include_str!("macro_docs/update_input.md")]
    pub use mcp_aql_derive::UpdateInput;
}
mod observe;
mod operation;
mod paging;
pub mod rate_limits;
mod request;
mod response;
mod router;
mod schema;
mod services;
pub mod store;
mod text;
mod util;
mod vocab;

/// The vocabulary of the protocol: categories, error codes, levels, limits and reserved names.
pub mod protocol {
    pub use mcp_aql_protocol::{
        DANGER_PATTERNS, DangerLevel, EndpointPermissions, ErrorCode, PROTOCOL_VERSION,
        RESERVED_OPERATIONS, SemanticCategory, SizeLimits, TrustLevel, UnknownLevel,
    };
}
/// The tables of operations. The macros write them for you. Write them by hand only if your code generates operations
/// without the macros.
pub mod table {
    pub use crate::error::IntoOperationError;
    pub use crate::error::warning::Deprecation;
    pub use crate::operation::{
        Call, DataKey, DynamicOperation, DynamicParameter, ExampleSpec, IntoPreview, Operation,
        OperationEntry, OperationReturn, OperationSpec, Operations, Outcome, ParamGroup,
        ParameterEntry,
    };
    pub use crate::schema::spec::{
        ClaimSpec, DangerSpec, DefaultSpec, InputFieldSpec, InputSpec, LifecycleSpec, MapValueSpec,
        Merge, ParameterSpec, ParameterType, ReturnsSpec, SharedState, StateSpec,
    };
}
/// The types that a transport passes to [`Adapter::handle`] or receives from it.
pub mod transport {
    pub use crate::caller::call_origin::{ActiveSpan, CallOrigin, TraceContext, TransportKind};
    pub use crate::caller::elicitation::{
        AskUser, Elicitation, RepeatedCall, UserAnswer, UserQuestion,
    };
    pub use crate::operation::{CallScope, Cancellation, ProgressSink};
    pub use crate::request::Arguments;
    pub use crate::response::{ErrorDetail, PendingReply, Reply};
    pub use crate::router::{Endpoint, Family};
    pub use http::Extensions;
}

pub use adapter::{Adapter, AdapterBuilder};
pub use caller::session::Session;
pub use error::build_error::BuildError;
pub use error::main_error::{Error, Result};
pub use error::warning::{Severity, Warning};
pub use error::{OperationError, OrInternal};
pub use execution::ExecutionOptions;
pub use execution::concurrency::Concurrency;
pub use gatekeeper::Policy;
pub use macros::{OperationError, ParamGroup, UpdateInput, operation, operations};
pub use mcp_aql_protocol::{DangerLevel, ErrorCode, SemanticCategory, SizeLimits, TrustLevel};
pub use operation::update::{IfMatch, Update, UpdateInput};
pub use operation::{Context, ExecutionContext, Operations, ParamGroup, State};
pub use paging::Page;
pub use response::OperationResult;
pub use router::{EndpointMode, EndpointProfile};
pub use util::BoxFuture;
pub use util::clock::TimeSource;

pub use observe::audit;
pub use operation::{resource, update};
pub use schema::{constraint, encoding};

#[doc(hidden)]
pub mod __private;
#[doc(hidden)]
pub mod internal;
