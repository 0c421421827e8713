//! The limits of received messages.

/// The maximum length of a message in bytes. The protocol allows responses of up to 100 MB, but the memory
/// of the runner is limited. This covers the default limit of 10 MB with the overhead of JSON-RPC and
/// quoting.
pub(super) const MAX_MESSAGE_BYTES: usize = 24 << 20;
/// The maximum number of kept notifications and of unrequested messages.
pub(super) const MAX_UNREQUESTED: usize = 10_000;
/// The maximum size of unrequested messages, in bytes.
pub(super) const MAX_UNREQUESTED_BYTES: usize = 2 << 20;
