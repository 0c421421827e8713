//! Log targets of calls, and of libraries whose log lines quote requests and replies.

/// Log target of calls. Their outcome is logged, and at the level `DEBUG` also their parameters with secrets masked.
pub const CALLS: &str = "mcp_aql::call";

/// Returns `true` if each call is logged. The transports only record where calls come from in this case.
pub fn logs_calls() -> bool {
    tracing::enabled!(target: CALLS, tracing::Level::INFO)
}

/// Prefixes of the log targets of libraries that transport requests, replies or statements.
///
/// At levels below `WARN`, these libraries log them unmasked, including sensitive parameters and confirmation tokens.
/// The commands never show these lines, even if a filter names the target.
pub const QUOTING_TARGETS: [&str; 15] = [
    "rmcp",
    "hyper",
    "h2",
    "h3",
    "tower",
    "axum",
    "reqwest",
    "rustls",
    "tonic",
    "tungstenite",
    "tokio_tungstenite",
    "tokio_postgres",
    "sqlx",
    "mongodb",
    "redis",
];
