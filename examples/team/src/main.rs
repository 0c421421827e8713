//! The tickets of several teams, served over HTTP. Start it with `cargo run`; `README.md` shows how to call it.
//!
//! | file | contents |
//! |---|---|
//! | `model.rs` | projects and tickets |
//! | `tenant.rs` | the rules that separate the tenants |
//! | `operations.rs` | operations in addition to the generated ones |
//! | `database.rs` | the pools of sqlx |
//! | `issuer.rs` | tokens for development |

mod database;
mod issuer;
mod model;
mod operations;
mod tenant;

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use issuer::Issuer;
use mcp_aql::auth::Access;
use mcp_aql::observe::trace_layer;
use mcp_aql::prelude::*;
use mcp_aql::query::sql::SqlTable;
use mcp_aql::resource::{Database, SqlStore};
use mcp_aql::store::{PostgresState, SqliteState, StateStore};
use mcp_aql::{Adapter, HttpOptions};
use mcp_aql_sqlx::{SqlxPostgres, SqlxSqlite};
use model::{Project, Ticket};
use operations::TeamOperations;
use tenant::TenantRules;
use tokio::process::Child;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// The scopes of a team member. Each operation needs the scope of its category. Only the cleanup has its own.
const ALL_SCOPES: &str = "team:read team:create team:update team:delete team:execute team:cleanup";

/// The default address to listen on.
const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8787);

/// The tickets of several teams.
#[derive(Debug, Parser)]
#[command(name = "team", version)]
struct Arguments {
    /// Folder of the keys, and of the files of SQLite
    #[arg(long, default_value = "team-data", global = true)]
    data: PathBuf,
    /// URL of a PostgreSQL database [default: files of SQLite]
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, global = true)]
    database_url: Option<String>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve over HTTP; this is also done without a command
    Serve(ServeArguments),
    /// Print a token for development
    Token {
        /// Tenant of the caller
        #[arg(long, default_value = "acme")]
        tenant: String,
        /// Name of the caller
        #[arg(long, default_value = "ada")]
        subject: String,
        /// Scopes of the caller, with spaces between them
        #[arg(long, default_value = ALL_SCOPES)]
        scope: String,
    },
}

#[derive(Debug, clap::Args)]
struct ServeArguments {
    /// Address to listen on
    #[arg(long, default_value_t = DEFAULT_ADDRESS)]
    listen: SocketAddr,
    /// Number of processes; they listen on consecutive ports
    #[arg(long, default_value_t = 1)]
    processes: u8,
    /// Also accept requests with this `Host` header, such as those of a proxy; may be repeated
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// URL of the endpoint as clients write it, if it differs from the address
    #[arg(long, value_name = "URL")]
    resource: Option<String>,
    /// Listen on an address that other machines can reach
    #[arg(long)]
    allow_remote: bool,
}

impl Default for ServeArguments {
    fn default() -> Self {
        Self {
            listen: DEFAULT_ADDRESS,
            processes: 1,
            allow_host: Vec::new(),
            resource: None,
            allow_remote: false,
        }
    }
}

impl ServeArguments {
    /// Returns the options of the HTTP server, without the authenticator.
    fn http_options(&self) -> HttpOptions {
        let mut options = HttpOptions::new().allow_remote(self.allow_remote);
        for host in &self.allow_host {
            options = options.allow_host(host);
        }
        match &self.resource {
            Some(url) => options.resource(url),
            None => options,
        }
    }

    /// Passes the same options to another process that listens on `listen`.
    fn pass_to(&self, command: &mut tokio::process::Command, listen: SocketAddr) {
        command.args(["serve", "--listen", &listen.to_string()]);
        for host in &self.allow_host {
            command.args(["--allow-host", host]);
        }
        if let Some(url) = &self.resource {
            command.args(["--resource", url]);
        }
        if self.allow_remote {
            command.arg("--allow-remote");
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    // With this layer, the `tracing` spans of your operations become part of the traces.
    tracing_subscriber::registry().with(LevelFilter::INFO).with(log).with(trace_layer()).init();
    let arguments = Arguments::parse();
    let issuer = Issuer::open(&arguments.data)?;
    match &arguments.command {
        Some(Command::Token { tenant, subject, scope }) => {
            println!("{}", issuer.token(tenant, subject, scope));
            Ok(())
        }
        Some(Command::Serve(options)) => serve(&arguments, options, &issuer).await,
        None => {
            let token = issuer.token("acme", "ada", ALL_SCOPES);
            println!(
                "To call the service as Ada of the tenant Acme, in the folder of the example:\n"
            );
            println!("export TOKEN={token}");
            println!("./call.py create create_project '{{\"name\":\"Website\"}}'\n");
            serve(&arguments, &ServeArguments::default(), &issuer).await
        }
    }
}

/// Serves HTTP until the process is stopped.
async fn serve(
    arguments: &Arguments,
    options: &ServeArguments,
    issuer: &Issuer,
) -> Result<(), Box<dyn Error>> {
    let adapter = open(arguments).await?;
    let _others = start_others(arguments, options)?;
    let http = options.http_options().authenticator(issuer.authenticator());
    Ok(adapter.serve_http(options.listen, http).await?)
}

/// Starts the other processes on the following ports. Drop the returned values to stop them.
fn start_others(arguments: &Arguments, options: &ServeArguments) -> std::io::Result<Vec<Child>> {
    let start = |number: u8| {
        let port = options.listen.port().checked_add(number.into());
        let port = port.ok_or_else(|| {
            std::io::Error::other(
                "there are too few ports above this one: listen on a \
                lower port",
            )
        })?;
        let listen = SocketAddr::new(options.listen.ip(), port);
        let mut command = tokio::process::Command::new(std::env::current_exe()?);
        command.arg("--data").arg(&arguments.data);
        options.pass_to(&mut command, listen);
        // Use the environment, because other users of the machine can read the arguments of a process.
        command.envs(arguments.database_url.iter().map(|url| ("DATABASE_URL", url)));
        command.kill_on_drop(true).spawn()
    };
    (1..options.processes).map(start).collect()
}

/// Opens the database and the adapter's own state. The state is stored next to the data.
async fn open(arguments: &Arguments) -> Result<Adapter, Box<dyn Error>> {
    if let Some(url) = &arguments.database_url {
        let state = PostgresState::connect(url)?.schema("team_state");
        adapter(SqlxPostgres::new(database::postgres(url).await?), state).await
    } else {
        let state = SqliteState::open(arguments.data.join("state.db"));
        let pool = database::sqlite(&arguments.data.join("team.db")).await?;
        adapter(SqlxSqlite::new(pool), state).await
    }
}

async fn adapter<D: Database + Clone>(
    database: D,
    state: impl StateStore,
) -> Result<Adapter, Box<dyn Error>> {
    let projects =
        SqlTable::<Project>::new(D::DIALECT, "project").search_column("name", "name_words");
    let tickets =
        SqlTable::<Ticket>::new(D::DIALECT, "ticket").search_column("title", "title_words");
    let resources = (
        SqlStore::new(projects, database.clone()).with_rules(TenantRules::new()),
        SqlStore::new(tickets, database.clone()).with_rules(TenantRules::new()),
    );
    let adapter = Adapter::builder("team")
        .version(env!("CARGO_PKG_VERSION"))
        // All processes must share this key. Otherwise each would reject the cursors of the others.
        .cursor_key(database::cursor_key(&database).await?)
        .resources(resources)
        .operations(TeamOperations { database })
        // Reject calls without a token. The rules of the tenants rely on it.
        .access(Access::new().require_principal(true))
        .time_limit(Duration::from_secs(10))
        .store(state)
        .opentelemetry_from_env()
        .build()?;
    Ok(adapter)
}
