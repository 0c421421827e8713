//! Limits of received messages.

/// Maximum length of a message, in bytes.
///
/// The protocol allows responses of up to 100 MB, but the memory of the runner is limited. This value covers the
/// default limit of 10 MB with the overhead of JSON-RPC and quoting.
pub(super) const MAX_MESSAGE_BYTES: usize = 24 << 20;
/// Maximum number of kept notifications, and of unrequested messages.
pub(super) const MAX_UNREQUESTED: usize = 10_000;
/// Maximum size of unrequested messages, in bytes.
pub(super) const MAX_UNREQUESTED_BYTES: usize = 2 << 20;
