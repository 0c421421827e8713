//! An operation: its static table, its function, and the function's view of a call.

mod arguments;
mod composite;
#[cfg_attr(not(feature = "limits"), expect(dead_code, reason = "only limits count usage"))]
mod context;
mod execution;
mod extensions;
mod parameter;
mod payload;
mod returns;
mod spec;
mod state;
mod table;
mod traits;
#[cfg_attr(
    not(feature = "limits"),
    expect(dead_code, unreachable_pub, reason = "only limits count usage")
)]
mod usage;

pub use arguments::Call;
#[cfg(feature = "query")]
pub(crate) use composite::{CompositeDescription, CompositeReader, CompositeValue};
pub(crate) use composite::{CompositeSpec, CompositeTable, CompositeValues, Composites};
pub use context::{CallScope, Context, ProgressSink};
pub use execution::ExecutionContext;
pub(crate) use execution::{Advance, ExecutionCall, ExecutionSink};
pub use extensions::Extensions;
pub(crate) use parameter::Parameter;
pub(crate) use payload::{Envelope, SUCCESS};
pub use payload::{Outcome, Payload};
pub use returns::{Fallible, OperationReturn, Plain};
pub use returns::{PlainForm, ReturnForm};
pub(crate) use spec::summary;
pub use spec::{DataKey, ExampleSpec, OperationSpec, ParameterEntry};
pub use state::State;
pub(crate) use state::StateMap;
pub(crate) use table::{Handler, RegisteredOperation, RenameParams, Run};
pub use traits::{Method, Operation, Operations, ParamGroup};
#[cfg_attr(
    not(feature = "limits"),
    expect(unreachable_pub, reason = "only limits count usage")
)]
pub use usage::Usage;
pub(crate) use usage::{UpstreamMemory, UsageRecorder};
