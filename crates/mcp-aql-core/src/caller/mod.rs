//! The caller of an operation: its session, its identity, its transport, and questions to its user.

pub(crate) mod call_origin;
pub(crate) mod elicitation;
pub(crate) mod principal;
pub(crate) mod session;
