//! What an operation is: its static table, the function behind it, and what that function sees of a
//! call.

mod arguments;
mod composite;
mod context;
mod execution;
mod returns;
mod spec;
mod state;
mod table;
mod traits;
#[cfg(feature = "limits")]
mod usage;

pub use arguments::Call;
pub(crate) use composite::{CompositeDescription, CompositeReader, CompositeValue, CompositeValues, Composites, LateWarning};
pub use composite::{CompositeSpec, CompositeTable};
pub use context::{CallScope, Context, ProgressSink};
pub use execution::ExecutionContext;
pub(crate) use execution::{Advance, ExecutionCall, ExecutionSink};
pub(crate) use returns::Envelope;
pub(crate) use returns::SUCCESS;
pub use returns::{Fallible, OperationReturn, Outcome, Payload, Plain};
pub use returns::{PlainForm, ReturnForm};
pub(crate) use spec::summary;
pub use spec::{DataKey, ExampleSpec, OperationSpec, ParameterEntry};
pub use state::State;
pub(crate) use state::StateMap;
pub(crate) use table::{Handler, Parameter, RegisteredOperation, Run};
pub use traits::{Method, Operation, Operations, ParamGroup};
#[cfg(feature = "limits")]
pub(crate) use usage::UpstreamMemory;
#[cfg(feature = "limits")]
pub use usage::Usage;
