//! The options of the operator console, its channel, and the number of reachable consoles.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_aql_core::BoxFuture;

use super::{ChannelError, HumanChannel, HumanRequest, OperatorName};

/// The name of the console in the audit log.
pub(crate) const CONSOLE_NAME: &str = "console";

/// Options of the operator console, a web page on the loopback interface.
///
/// ```
/// use std::time::Duration;
/// use mcp_aql::operator::ConsoleOptions;
///
/// let options = ConsoleOptions::new()
///     .port(8686)
///     .state_dir("/var/lib/guard")
///     .login_command("guard console")
///     .session_timeout(Duration::from_secs(15 * 60));
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct ConsoleOptions {
    pub(crate) port: u16,
    pub(crate) state_dir: Option<PathBuf>,
    pub(crate) login_command: Option<String>,
    pub(crate) session_timeout: Duration,
    pub(crate) print_login_link: bool,
    operator_name: Option<String>,
    pub(crate) stay_signed_in: bool,
    pub(crate) audit_log: Option<PathBuf>,
}

impl Default for ConsoleOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl ConsoleOptions {
    /// Creates options with the defaults: any free port, and a login link on the terminal.
    pub fn new() -> Self {
        Self {
            port: 0,
            state_dir: None,
            login_command: None,
            session_timeout: Duration::from_secs(60 * 60),
            print_login_link: true,
            operator_name: None,
            stay_signed_in: false,
            audit_log: None,
        }
    }

    /// Sets the port of `127.0.0.1`. Default: 0, for any free port.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Sets a directory for a file with which [`Console::login_links`](crate::operator::Console::login_links) creates
    /// more login links. Only the owner of the file can read it.
    ///
    /// Default: none. In this case, people can sign in only with the link on the terminal and with the links of
    /// [`Console::link`](crate::operator::Console::link).
    pub fn state_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.state_dir = Some(folder.into());
        self
    }

    /// Sets the command that prints a login link, implemented with
    /// [`Console::login_links`](crate::operator::Console::login_links). The page shows the command to explain how to
    /// sign in.
    pub fn login_command(mut self, command: impl Into<String>) -> Self {
        self.login_command = Some(command.into());
        self
    }

    /// Sets how long a browser stays signed in without a request. An open page sends a request every second, so only
    /// closed pages time out. Default: one hour.
    pub fn session_timeout(mut self, after: Duration) -> Self {
        self.session_timeout = after;
        self
    }

    /// Sets whether browsers stay signed in after a restart of the process, until their
    /// [session](Self::session_timeout) times out. Default: off.
    ///
    /// This needs a [`state_dir`](Self::state_dir): hashes of the credentials are stored there, in a file for its owner
    /// only. It also needs a fixed [`port`](Self::port), because a browser is signed in to one port.
    pub fn stay_signed_in(mut self, on: bool) -> Self {
        self.stay_signed_in = on;
        self
    }

    /// Sets the file with the adapter's audit log, so that the page shows its last 200 entries. They include entries of
    /// other processes and entries from before the start of this one.
    ///
    /// Default: none. In this case, the page shows the entries that this process has written.
    pub fn audit_log(mut self, path: impl Into<PathBuf>) -> Self {
        self.audit_log = Some(path.into());
        self
    }

    /// Sets the name of the operator who signs in with a link on the terminal or a link of
    /// [`Console::link`](crate::operator::Console::link).
    ///
    /// The audit log records the name as `operator` with each decision. It must have 1 to 64 visible characters.
    /// Default: the user account of this process.
    pub fn operator_name(mut self, name: impl Into<String>) -> Self {
        self.operator_name = Some(name.into());
        self
    }

    /// Returns the name of the operator.
    pub(crate) fn name(&self) -> io::Result<OperatorName> {
        match &self.operator_name {
            Some(name) => OperatorName::new(name),
            None => Ok(OperatorName::of_account()),
        }
    }

    /// Sets whether to print a login link on the terminal from which the process was started. Default: on.
    ///
    /// The link is never printed to standard output or standard error, because an agent may read them.
    pub fn print_login_link(mut self, on: bool) -> Self {
        self.print_login_link = on;
        self
    }
}

/// The settings of the operator console.
#[derive(Clone, Default)]
pub(crate) struct ConsoleSettings {
    /// The options. `None` without a console.
    pub(crate) options: Option<ConsoleOptions>,
    /// The running consoles.
    pub(crate) running: ConsoleCount,
}

/// The channel of the console. It does nothing for a request, because the page polls for requests.
#[derive(Debug)]
pub(crate) struct ConsoleChannel(pub(crate) ConsoleCount);

impl HumanChannel for ConsoleChannel {
    fn name(&self) -> &'static str {
        CONSOLE_NAME
    }

    fn present<'a>(&'a self, _: &'a HumanRequest) -> BoxFuture<'a, Result<(), ChannelError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn can_present(&self) -> bool {
        self.0.is_reachable()
    }
}

/// The number of reachable consoles of an adapter.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConsoleCount(Arc<AtomicUsize>);

impl ConsoleCount {
    /// Counts a console until the returned value is dropped.
    pub(crate) fn enter(&self) -> ReachableConsole {
        self.0.fetch_add(1, Ordering::Relaxed);
        ReachableConsole(self.clone())
    }

    /// Returns `true` if people can sign in to at least one console.
    pub(crate) fn is_reachable(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// One counted console.
pub(crate) struct ReachableConsole(ConsoleCount);

impl Drop for ReachableConsole {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
