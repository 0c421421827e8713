//! Stand-in for the service manager on systems without systemd.

/// Does nothing.
pub(super) fn notify(_state: &str) {}
