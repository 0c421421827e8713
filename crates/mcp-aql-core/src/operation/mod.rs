//! An operation: its static table, its function, and the function's view of a call.

mod arguments;
mod cancellation;
mod composite;
mod context;
mod dynamic;
mod execution;
mod parameter;
mod payload;
mod preview;
mod reply_writer;
mod returns;
mod spec;
mod state;
mod table;
mod traits;
mod usage;

pub use arguments::Call;
pub use cancellation::Cancellation;
pub use composite::{
    BriefParameters, CompositeDescription, CompositeReader, CompositeValue, NestedName,
};
pub use composite::{CompositeSpec, CompositeTable, CompositeValues, Composites};
pub use context::{CallScope, Context, ProgressSink};
pub use dynamic::{DynamicOperation, DynamicParameter};
pub use execution::ExecutionContext;
pub use execution::{Advance, ExecutionCall, ExecutionSink};
pub use parameter::Parameter;
pub(crate) use payload::QUOTED_SUCCESS;
pub use payload::{Envelope, Outcome, Payload, SUCCESS};
pub use preview::{IntoPreview, Preview};
pub use reply_writer::ReplyWriter;
pub use returns::{Fallible, OperationReturn, Plain};
pub use returns::{PlainForm, ReturnForm};
pub(crate) use spec::summary;
pub use spec::{DataKey, ExampleSpec, OperationSpec, ParameterEntry};
pub use state::State;
pub(crate) use state::StateMap;
pub use table::{Handler, RegisteredOperation, RenameParams, Run};
pub use traits::{Operation, OperationEntry, Operations, ParamGroup, PreviewFunction};
pub use usage::Usage;
pub use usage::{UpstreamMemory, UsageRecorder};
