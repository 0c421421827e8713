//! The interface for the other crates of this workspace, in addition to the public one.
//!
//! Every item may change or go in any version: authors of adapters use the crate `mcp-aql`.

pub mod adapter {
    #[cfg(any(test, feature = "test-util"))]
    pub use crate::adapter::config_test_util;
    pub use crate::adapter::{
        HttpSettings, Settings, check_value, default_description_budget, flag_defaults, flag_keys,
    };
}
pub mod caller {
    pub use crate::caller::call_origin::{ActiveSpan, CallOrigin, TraceContext, TransportKind};
    pub use crate::caller::elicitation::{RepeatedCall, UserQuestion};
    pub use crate::caller::principal::Principal;
}
pub mod config {
    pub use crate::config::access::Access;
    pub use crate::config::file_access::{
        ForbiddenAccess, SettingPath, exposures, is_private, open_regular, private_file,
        private_folder, read_settings,
    };
    pub use crate::config::key::{Flag, Key, ProjectRule, ValueKind};
    pub use crate::config::setting::{Setting, SettingSource};
    pub use crate::config::tightening::Tightening;
    pub use crate::config::user_directory;
}
pub mod error {
    pub use crate::error::IntoOperationError;
    pub use crate::error::warning::LateWarning;
}
pub mod execution {
    pub use crate::execution::{EndScope, created_at};
}
pub mod extension {
    pub use crate::extension::{
        Extension, ExtensionOperation, ExtensionParts, PreparedExtension, RegisteredAdapter,
        Service, StartedExtension,
    };
}
pub mod gatekeeper {
    pub use crate::gatekeeper::approvals::{ApprovalClaim, ApprovalRequest, Approvals};
    pub use crate::gatekeeper::{
        Certification, Condition, Gate, GatePlan, GateRequest, GateStage, Permission,
        PermissionPlan, Ticket, Trust, TrustChange, TrustError, ValidationReport, fill_with,
    };
}
pub mod introspection {
    pub use crate::introspection::{TypeRegistry, protocol_types};
}
pub mod observe {
    pub use crate::observe::call_event::{CallEvent, CallOutcome};
    pub use crate::observe::call_tracer::{CallSpan, CallStart, CallTracer};
    pub use crate::observe::logging::{CALLS, LogFormat, QUOTING_TARGETS, logs_calls};
    pub use crate::observe::recorder::{Recorder, StoreAccess};
}
pub mod operation {
    pub use crate::operation::update::{DocumentEdit, DocumentMember};
    pub use crate::operation::{
        BriefParameters, Call, CallScope, Cancellation, CompositeDescription, CompositeReader,
        CompositeSpec, CompositeTable, CompositeValue, DataKey, Envelope, ExampleSpec,
        ExecutionCall, Handler, NestedName, OperationEntry, OperationSpec, Outcome, Parameter,
        ParameterEntry, Plain, Preview, ProgressSink, RegisteredOperation, Run,
    };
}
pub mod paging {
    pub use crate::paging::{
        CURSOR_CONTROLS, Contradiction, CursorKey, EXPECTED_CURSOR, PageInfo, Pagination,
        QueryParts, RowCursors, clamped, refused_cursor,
    };
}
pub mod request {
    pub use crate::request::{
        Arguments, IndexedCall, Loss, ParsedObject, Scanner, invalid_encoding, parse, read,
        read_value, readable, too_large,
    };
}
pub mod response {
    pub use crate::response::{ErrorDetail, Reply};
}
pub mod router {
    pub use crate::router::{Endpoint, Entry, Family};
}
pub mod schema {
    pub use crate::schema::Argument;
    pub use crate::schema::instant::unsupported_instant;
    pub use crate::schema::projection::{
        COMPUTED, DisplayedRow, FieldIndex, OpenPath, OpenPaths, Projected, Projection,
        ReportedFields, Selection, View, has_part,
    };
    pub use crate::schema::shape;
    pub use crate::schema::spec::{
        DangerSpec, ParameterSpec, ParameterType, ReturnsSpec, SchemaFn,
    };
}
pub mod services {
    pub use crate::services::Services;
}
pub mod text {
    pub use crate::text::{clean, const_eq, leaks_internals, parsed_json};
}
pub mod util {
    pub use crate::util::{clock, erased, lock, poll_once, read_lock, spawn, write_lock};
}
pub mod vocab {
    pub use crate::vocab::{hex, json_type, new_id, new_uuid, plain_value, quote};
}
