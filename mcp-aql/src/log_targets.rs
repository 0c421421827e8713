//! The log targets of libraries whose log lines quote requests and replies.

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
