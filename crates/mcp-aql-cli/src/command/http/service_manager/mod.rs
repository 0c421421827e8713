//! Notifies the service manager of the state of the process, for services with `Type=notify` of systemd (sd_notify(3)).

#[cfg_attr(not(target_os = "linux"), path = "without_abstract_socket.rs")]
mod abstract_socket;

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The environment variable with the socket of the service manager: a path, or `@` and the name of an abstract socket.
const SOCKET_VARIABLE: &str = "NOTIFY_SOCKET";

/// Sends assignments to the service manager, if there is one. Each assignment is on its own line:
///
/// ```text
/// READY=1
/// STATUS=MCP on http://127.0.0.1:8787/mcp
/// ```
pub(super) fn notify(state: &str) {
    let Some(socket) = std::env::var_os(SOCKET_VARIABLE).filter(|name| !name.is_empty()) else {
        return;
    };
    if let Err(error) = send(&socket, state) {
        // The person must know about this, because the service manager stops a service that sends no notification.
        tracing::warn!(%error, "cannot notify the service manager through {SOCKET_VARIABLE}");
    }
}

fn send(socket: &OsStr, state: &str) -> io::Result<()> {
    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => abstract_socket::address(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    let sender = UnixDatagram::unbound()?;
    // A busy service manager must not block the caller.
    sender.set_nonblocking(true)?;
    sender.send_to_addr(state.as_bytes(), &address).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(by: &UnixDatagram) -> String {
        let mut buffer = [0; 64];
        let length = by.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }

    #[test]
    fn the_state_reaches_a_socket_with_a_path() {
        let path = std::env::temp_dir().join(format!("mcp-aql-notify-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let manager = UnixDatagram::bind(&path).unwrap();
        send(path.as_os_str(), "READY=1\nSTATUS=here").unwrap();
        assert_eq!(received(&manager), "READY=1\nSTATUS=here");
        std::fs::remove_file(&path).unwrap();
        assert!(send(path.as_os_str(), "READY=1").is_err());
    }

    #[test]
    fn the_state_reaches_an_abstract_socket() {
        let name = format!("mcp-aql-notify-{}", std::process::id());
        let socket = format!("@{name}");
        // Other systems have no abstract sockets.
        let Ok(address) = abstract_socket::address(name.as_bytes()) else {
            assert_ne!(std::env::consts::OS, "linux");
            return;
        };
        let manager = UnixDatagram::bind_addr(&address).unwrap();
        send(OsStr::new(&socket), "STOPPING=1").unwrap();
        assert_eq!(received(&manager), "STOPPING=1");
    }
}
