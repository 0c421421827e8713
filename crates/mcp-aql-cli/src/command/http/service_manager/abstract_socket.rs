//! The addresses of abstract sockets. Only Linux has abstract sockets.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::SocketAddr;

/// Returns the address of the abstract socket with this name.
pub(super) fn address(name: &[u8]) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(name)
}
