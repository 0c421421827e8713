//! The log targets of calls, and of libraries whose log lines quote requests and replies.

/// The target of the log lines of calls: their outcome, and at the level `DEBUG` their parameters, secrets
/// masked.
pub const CALLS: &str = "mcp_aql::call";

/// Whether each call has a line in the log. The transports then record where calls come from.
pub fn logs_calls() -> bool {
    tracing::enabled!(target: CALLS, tracing::Level::INFO)
}

/// The prefixes of the log targets of libraries that carry requests, replies or statements. At levels below
/// `WARN`, these libraries log them unmasked, including sensitive parameters and confirmation tokens. The
/// commands never show these lines, even if a filter names the target.
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
