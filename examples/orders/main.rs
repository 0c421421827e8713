//! A shop's orders: shows how to offer the commands of a business as operations.
//!
//! ```console
//! $ cargo run -p orders -- call cancel_order '{"order_id":1,"reason":"Ordered twice"}'
//! ```

mod adapter;
mod model;

use mcp_aql::prelude::*;

#[tokio::main]
async fn main() -> mcp_aql::Result<()> {
    adapter::builder().build().run().await
}
