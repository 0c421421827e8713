//! The addresses of abstract sockets on systems that have none.

use std::io;
use std::os::unix::net::SocketAddr;

/// Returns an error.
pub(super) fn address(_name: &[u8]) -> io::Result<SocketAddr> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no abstract sockets"))
}
