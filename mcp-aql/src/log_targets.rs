//! Libraries whose log lines quote the requests and replies that pass through them.

/// The prefixes of the log targets of libraries that carry requests, replies or statements. Beyond
/// warnings they log them as they are, sensitive parameters and confirmation tokens in clear: the
/// commands never show these lines, even where a filter names the target.
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
