//! What an operation is: its static table, the function behind it, and what that function sees of a
//! call.

mod arguments;
mod context;
mod danger;
mod execution;
mod parameter;
mod returns;
mod spec;
mod state;
mod table;
mod traits;
#[cfg(feature = "limits")]
mod usage;

pub(crate) use arguments::Argument;
pub use arguments::Call;
pub use context::{CallScope, Context, ProgressSink};
pub use danger::{DangerSpec, LifecycleSpec};
pub use execution::ExecutionContext;
pub(crate) use execution::{Advance, ExecutionCall, ExecutionSink};
pub use parameter::{DefaultSpec, ParameterEntry, ParameterSpec, SchemaFn};
pub use parameter::{optional, required};
pub(crate) use returns::Envelope;
pub(crate) use returns::SUCCESS;
pub use returns::{Fallible, OperationReturn, Outcome, Payload, Plain, ReturnsSpec};
pub use returns::{PlainForm, ReturnForm};
pub(crate) use spec::summary;
pub use spec::{DataKey, ExampleSpec, OperationSpec};
pub(crate) use state::StateMap;
pub use state::{SharedState, State, StateSpec};
pub(crate) use table::{Handler, Parameter, RegisteredOperation, Run};
pub use traits::{Method, Operation, Operations, ParamGroup, ParameterType};
#[cfg(feature = "limits")]
pub(crate) use usage::UpstreamMemory;
#[cfg(feature = "limits")]
pub use usage::Usage;
