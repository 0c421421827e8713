//! Small complete adapters, each a cargo example target: `cargo run --example tasks`.
