//! Stand-in for abstract sockets on systems other than Linux.

use std::io;
use std::os::unix::net::SocketAddr;

/// Returns an error, because this system has no abstract sockets.
pub(super) fn address(_name: &[u8]) -> io::Result<SocketAddr> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no abstract sockets"))
}
