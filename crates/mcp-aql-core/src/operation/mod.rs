//! Operations: their static tables, their functions, and what a function can access during a call.

mod call;
mod cancellation;
mod composite;
mod context;
mod dynamic;
mod execution;
pub(crate) mod further_query;
mod parameter;
mod preview;
mod reply_writer;
pub mod resource;
mod returns;
mod spec;
mod state;
mod table;
mod traits;
pub mod update;
mod usage;

pub use call::{Call, Handler, Run};
pub(crate) use call::{PreviewFunction, missing_claim};
pub use cancellation::Cancellation;
pub use composite::{
    BriefParameters, CompositeDescription, CompositeReader, CompositeSpec, CompositeTable,
    CompositeValue, NestedName,
};
pub(crate) use composite::{CompositeValues, Composites};
pub use context::{CallScope, Context, ProgressSink};
pub use dynamic::{DynamicOperation, DynamicParameter};
pub(crate) use execution::{Advance, ExecutionSink};
pub use execution::{ExecutionCall, ExecutionContext};
pub use parameter::Parameter;
pub use preview::{IntoPreview, Preview};
pub use reply_writer::{Envelope, Outcome, Payload};
pub(crate) use reply_writer::{ReplyWriter, SUCCESS};
pub use returns::{Fallible, OperationReturn, Plain, PlainForm, ReturnForm};
pub(crate) use spec::summary;
pub use spec::{DataKey, ExampleSpec, OperationSpec, ParameterEntry};
pub use state::State;
pub(crate) use state::StateMap;
pub use table::RegisteredOperation;
pub(crate) use table::RenameParams;
pub use traits::{Operation, OperationEntry, Operations, ParamGroup};
pub use usage::Usage;
pub(crate) use usage::{UpstreamMemory, UpstreamResponse, UsageRecorder};
