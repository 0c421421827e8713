//! The core of mcp-aql: tables of operations, the pipeline of a call, gates, executions, introspection, and the
//! adapter with its extension points.
//!
//! Authors of adapters use the crate `mcp-aql`, which re-exports what they need. The other items of this crate
//! are for the crates of this workspace that extend an adapter, and may change in every version.
//!
//! | to … | see |
//! |---|---|
//! | follow a call through its stages | the module `call` |
//! | describe an operation | [`table`], [`operation`](mod@operation) |
//! | add a capability to an adapter | [`extension`] |
//! | add a gate | [`gatekeeper`] |
//! | keep state | [`store`] |

// Generated code names the runtime as `mcp_aql`, and the unit tests of this crate use the macros.
#[cfg(test)]
extern crate self as mcp_aql;

mod adapter;
mod call;
mod caller;
mod config;
mod error;
mod execution;
mod extension;
mod gatekeeper;
mod introspection;
/// The macros. They are in a module of their own, because the macro `operation` has the name of a module.
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
        DANGER_PATTERNS, DangerLevel, EndpointPermissions, ErrorCode, LimitOutOfRange,
        PROTOCOL_VERSION, RESERVED_OPERATIONS, SemanticCategory, SizeLimits, TrustLevel,
        UnknownLevel,
    };
}
/// The tables of operations. The macros write them; code that generates operations without the macros writes them
/// by hand.
pub mod table {
    pub use crate::error::IntoOperationError;
    pub use crate::error::warning::Deprecation;
    pub use crate::operation::{
        Call, DataKey, DynamicOperation, DynamicParameter, ExampleSpec, IntoPreview, Operation,
        OperationEntry, OperationReturn, OperationSpec, Operations, Outcome, ParamGroup,
        ParameterEntry,
    };
    pub use crate::schema::spec::{
        DangerSpec, DefaultSpec, InputFieldSpec, InputSpec, LifecycleSpec, MapValueSpec, Merge,
        ParameterSpec, ParameterType, ReturnsSpec, SharedState, StateSpec,
    };
}
/// What a transport passes to [`Adapter::handle`] and receives from it.
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
pub use util::clock::TimeSource;
pub use util::future::BoxFuture;

pub use observe::audit;
pub use operation::{resource, update};
pub use schema::{constraint, encoding};

#[doc(hidden)]
pub mod __private;
#[doc(hidden)]
pub mod internal;
