//! The operator console: a web page on the loopback interface, in which operators decide.

mod audit_tail;
mod console_file;
mod login_link;
mod request_guard;
mod response;
mod routes;
mod session_file;
mod sessions;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::{TimeDelta, Utc};
use mcp_aql_core::{BoxFuture, Error, Result};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::console_file::ConsoleFile;
pub use self::console_file::ConsoleLink;
use self::login_link::{Key, Links, ON_DEMAND_TTL, STARTUP_TTL};
use self::session_file::SessionFile;
use self::sessions::Sessions;
use crate::human_channel::{
    CONSOLE_NAME, ChannelError, ConsoleChannel, ConsoleCount, ConsoleOptions, HumanChannel,
    HumanRequest, Operator, OperatorName, ReachableConsole, terminal,
};
use crate::safety_loop::{ApprovalQueue, SafetyCore, SafetyLoop};

/// The maximum number of connections. An HTTP server reserves this many file descriptors for the console.
const MAX_CONNECTIONS: usize = 64;
/// The time limit for a browser to send a request, to read the response, and to keep a connection idle.
const BROWSER_TIMEOUT: Duration = Duration::from_secs(30);

impl SafetyLoop {
    /// Shows requests in the operator console, a web page.
    ///
    /// The page is available while the adapter is served over standard input and output or over HTTP. In other
    /// programs, start a [`Console`](crate::operator::Console) with
    /// [`Adapter::operator`](crate::operator::OperatorAccess::operator).
    #[must_use]
    pub fn console(mut self, options: ConsoleOptions) -> Self {
        if self.console.options.replace(options).is_none() {
            let channel = ConsoleChannel(self.console.running.clone());
            return self.channel(channel);
        }
        self
    }
}

/// The operator console: a web page that shows the state of an adapter and accepts decisions.
///
/// The console listens on a port of `127.0.0.1` until you drop this value. An operator needs a one-time link to sign
/// in. The page works without a network, in current browsers, and with the keyboard alone.
///
/// You rarely need to start it yourself: [`SafetyLoop::console`](crate::safety_loop::SafetyLoop::console) runs it while
/// the adapter is served.
///
/// ```no_run
/// use mcp_aql::operator::{Console, ConsoleOptions, Operator};
///
/// # async fn sample(operator: Operator) -> mcp_aql::Result<()> {
/// let console = Console::start(operator, ConsoleOptions::new()).await?;
/// eprintln!("the operator console listens on {}", console.address());
/// # Ok(()) }
/// ```
///
/// Source: MCP-AQL §8.8.6 (REQ-OOB-13).
pub struct Console {
    shared: Arc<Shared>,
    address: SocketAddr,
    // This field is dropped first, because the console counts as reachable while the file exists.
    _record: Option<ConsoleFile>,
    _stop: DropGuard,
    _reached: Option<ReachableConsole>,
}

/// The state that all requests share.
struct Shared {
    operator: Operator,
    port: u16,
    key: Key,
    links: Links,
    sessions: Sessions,
    login_command: Option<String>,
    /// Path of the audit log. The page shows its last entries.
    audit_log: Option<PathBuf>,
    /// The name in the links that this process creates.
    name: OperatorName,
}

impl Shared {
    fn link(&self, lifetime: TimeDelta) -> io::Result<String> {
        let link = self.key.link(self.port, Utc::now(), lifetime, &self.name);
        link.map_err(io::Error::other)
    }
}

impl Console {
    /// Starts a console for this operator.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the port is in use, the state directory is not writable, or an option is invalid.
    pub async fn start(operator: Operator, options: ConsoleOptions) -> Result<Self> {
        let mut console = Self::listening(operator, &options).await?;
        if options.print_login_link {
            console.announce(&options).await?;
        }
        // The caller can create links, so the console is reachable in any case.
        console.reached();
        Ok(console)
    }

    /// Marks the console as reachable: people can sign in.
    fn reached(&mut self) {
        self._reached = self.shared.operator.0.reach().map(ConsoleCount::enter);
    }

    async fn listening(operator: Operator, options: &ConsoleOptions) -> Result<Self> {
        let name = options.name()?;
        if options.stay_signed_in && (options.state_dir.is_none() || options.port == 0) {
            let problem = "`stay_signed_in` of the operator console needs a `state_dir` and a `port`: a browser stays signed in to one port";
            return Err(Error::Io(io::Error::new(io::ErrorKind::InvalidInput, problem)));
        }
        let listener = listen(options.port).await?;
        let address = listener.local_addr()?;
        let key = Key::random().map_err(io::Error::other)?;
        let record = match &options.state_dir {
            None => None,
            Some(folder) => {
                Some(ConsoleFile::write(folder, address.port(), &key).map_err(|error| {
                    told(&error, format_args!("'{}' cannot be written to", folder.display()))
                })?)
            }
        };
        let kept = options.state_dir.as_ref().filter(|_| options.stay_signed_in);
        let sessions = kept.map(|folder| SessionFile::new(folder, address.port()));
        let shared = Arc::new(Shared {
            operator,
            port: address.port(),
            key,
            links: Links::default(),
            sessions: Sessions::new(options.session_timeout, sessions),
            login_command: options.login_command.clone(),
            audit_log: options.audit_log.clone(),
            name,
        });
        let stopped = CancellationToken::new();
        let router = routes::router(Arc::clone(&shared));
        let bounds = (MAX_CONNECTIONS, BROWSER_TIMEOUT);
        tokio::spawn(mcp_aql_server::serve_connections(listener, router, bounds, stopped.clone()));
        tracing::info!(%address, "the operator console listens");
        let stop = stopped.drop_guard();
        Ok(Self { shared, address, _record: record, _stop: stop, _reached: None })
    }

    /// Returns the address of the console.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Creates a one-time login link that expires after two minutes. It signs in the
    /// [operator](ConsoleOptions::operator_name) of the options. Show it to people only.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the system's random number generator fails.
    pub fn link(&self) -> Result<String> {
        Ok(self.shared.link(ON_DEMAND_TTL)?)
    }

    /// Returns one-time login links to all running consoles with this [state directory](ConsoleOptions::state_dir),
    /// from newest to oldest.
    ///
    /// Use this in a command for operators. The links sign in the user account of this process. The files of ended
    /// consoles are removed.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory or a file in it cannot be read. A missing directory has no consoles.
    ///
    /// ```no_run
    /// use mcp_aql::operator::Console;
    ///
    /// # fn main() -> std::io::Result<()> {
    /// for link in Console::login_links("/var/lib/guard")? {
    ///     println!("process {}: {}", link.process, link.url);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn login_links(state_dir: impl AsRef<Path>) -> io::Result<Vec<ConsoleLink>> {
        console_file::links(state_dir.as_ref(), &OperatorName::of_account())
    }

    /// Returns links as [`login_links`](Self::login_links) does, for an operator with this name.
    ///
    /// The audit log records the name as `operator` with each decision after signing in. A person who can read the
    /// state directory can choose any name, so the name is a statement for the log and not a proof of identity.
    ///
    /// # Errors
    ///
    /// Returns the same errors as `login_links`, and [`InvalidInput`](io::ErrorKind::InvalidInput) if the name does not
    /// have 1 to 64 visible characters.
    pub fn login_links_for(
        state_dir: impl AsRef<Path>,
        operator: &str,
    ) -> io::Result<Vec<ConsoleLink>> {
        console_file::links(state_dir.as_ref(), &OperatorName::new(operator)?)
    }

    /// Prints a link on the terminal. Returns `true` if there is a terminal.
    async fn announce(&self, options: &ConsoleOptions) -> Result<bool> {
        let link = self.shared.link(STARTUP_TTL)?;
        let text = format!(
            "\nLogin link of the operator console, valid once within ten minutes:\n  {link}\n"
        );
        let printed = terminal::print(text).await;
        if let Err(error) = &printed {
            match (&options.login_command, &options.state_dir) {
                (Some(command), Some(_)) => {
                    tracing::info!(%error, command, "no terminal to print a login link on: run the command to get \
                                                     one");
                }
                (None, Some(_)) => {
                    tracing::info!(%error, "no terminal to print a login link on: call `Console::login_links` to \
                                            get one");
                }
                (_, None) => tracing::warn!(
                    %error,
                    "no terminal to print a login link on, and no state directory: only the program itself can \
                     create one"
                ),
            }
        }
        Ok(printed.is_ok())
    }
}

impl std::fmt::Debug for Console {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Console").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Starts the operator console of a safety loop, if one is configured. It runs until the returned value is dropped.
///
/// The console counts as reachable if a link was printed, or if the state directory allows people to create one.
pub async fn start_console(core: &Arc<SafetyCore>) -> Result<Option<Console>> {
    let Some(options) = &core.console.options else { return Ok(None) };
    let operator = Operator(Arc::new(ApprovalQueue(Arc::clone(core))));
    let mut console = Console::listening(operator, options).await?;
    let printed = options.print_login_link && console.announce(options).await?;
    if printed || options.state_dir.is_some() {
        console.reached();
    }
    Ok(Some(console))
}

/// Does nothing for a request, because the page polls for requests.
impl HumanChannel for Console {
    fn name(&self) -> &'static str {
        CONSOLE_NAME
    }

    fn present<'a>(&'a self, _: &'a HumanRequest) -> BoxFuture<'a, Result<(), ChannelError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

async fn listen(port: u16) -> Result<TcpListener> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => Error::Io(io::Error::new(
            error.kind(),
            format!(
                "the operator console cannot use {address}, because another program listens there, perhaps \
                 another process of this adapter: set another port, or no port to use any free one"
            ),
        )),
        _ => told(&error, format_args!("the operator console cannot use {address}")),
    })
}

fn told(error: &io::Error, what: std::fmt::Arguments<'_>) -> Error {
    Error::Io(io::Error::new(error.kind(), format!("{what}: {error}")))
}

#[cfg(test)]
mod demo;
#[cfg(test)]
mod tests;
