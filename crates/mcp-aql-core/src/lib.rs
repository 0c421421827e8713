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

pub mod access;
pub mod adapter;
pub mod approvals;
pub mod argument;
pub mod audit;
pub mod build_error;
mod call;
pub mod call_event;
pub mod call_origin;
pub mod call_tracer;
mod catalog;
pub mod clock;
mod concurrency;
pub mod config_entry;
pub mod constraint;
pub mod elicitation;
pub mod encoding;
pub mod error;
pub mod execution;
pub mod extension;
pub mod file_access;
pub mod further_query;
pub mod future;
pub mod gatekeeper;
pub mod introspection;
#[cfg(feature = "limits")]
pub mod limits;
pub mod log_format;
pub mod log_targets;
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
pub mod main_error;
mod observers;
pub mod operation;
pub mod paging;
pub mod principal;
pub mod projection;
pub mod recorder;
mod redact;
pub mod request;
pub mod resource;
pub mod response;
pub mod router;
pub mod services;
pub mod session;
mod session_end;
pub mod shape;
pub mod spec;
pub mod store;
pub mod sync;
pub mod text;
pub mod tightening;
pub mod update;
pub mod user_directory;
mod validate;
pub mod vocab;
pub mod warning;

/// The vocabulary of the protocol: categories, error codes, levels, limits and reserved names.
pub mod protocol {
    pub use mcp_aql_protocol::{
        DANGER_PATTERNS, DangerLevel, EndpointPermissions, ErrorCode, LimitOutOfRange, Limits,
        PROTOCOL_VERSION, RESERVED_OPERATIONS, SemanticCategory, TrustLevel, UnknownLevel,
    };
}
/// The tables of operations. The macros write them; code that generates operations without the macros writes them
/// by hand.
pub mod table {
    pub use crate::error::IntoOperationError;
    pub use crate::operation::{
        Call, DataKey, DynamicOperation, DynamicParameter, ExampleSpec, IntoPreview, Operation,
        OperationEntry, OperationReturn, OperationSpec, Operations, Outcome, ParamGroup,
        ParameterEntry,
    };
    pub use crate::spec::{
        DangerSpec, DefaultSpec, InputFieldSpec, InputSpec, LifecycleSpec, MapValueSpec, Merge,
        ParameterSpec, ParameterType, ReturnsSpec, SharedState, StateSpec,
    };
    pub use crate::warning::Deprecation;
}
/// What a transport passes to [`Adapter::handle`] and receives from it.
pub mod transport {
    pub use crate::call_origin::{ActiveSpan, CallOrigin, TraceContext, TransportKind};
    pub use crate::elicitation::{AskUser, Elicitation, RepeatedCall, UserAnswer, UserQuestion};
    pub use crate::operation::{CallScope, Cancellation, ProgressSink};
    pub use crate::request::Arguments;
    pub use crate::response::{ErrorDetail, PendingReply, Reply};
    pub use crate::router::{Endpoint, Family};
    pub use http::Extensions;
}

pub use adapter::{Adapter, AdapterBuilder};
pub use build_error::BuildError;
pub use clock::TimeSource;
pub use concurrency::Concurrency;
pub use error::{OperationError, OrInternal};
pub use execution::ExecutionOptions;
pub use future::BoxFuture;
pub use gatekeeper::{Policy, Trust};
pub use macros::{OperationError, ParamGroup, UpdateInput, operation, operations};
pub use main_error::{Error, Result};
pub use mcp_aql_protocol::{DangerLevel, ErrorCode, Limits, SemanticCategory, TrustLevel};
pub use operation::{Context, ExecutionContext, Operations, ParamGroup, State};
pub use paging::Page;
pub use response::OperationResult;
pub use router::{EndpointMode, EndpointProfile};
pub use session::Session;
pub use update::{IfMatch, Update, UpdateInput};
pub use warning::{Severity, Warning};

#[doc(hidden)]
pub mod __private;
