//! Serves the aggregator on standard input and output: `aggregator CONFIGURATION`. Unlike the real
//! command, it waits until all servers have started, so that no measurement includes their start.

use mcp_aql_aggregator::{Aggregator, Config, plain};
use mcp_aql_aggregator_bench::Result;

fn main() -> Result {
    let configuration = std::env::args().nth(1).ok_or("aggregator CONFIGURATION")?;
    let config = Config::from_json(&configuration, &|_| None)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let aggregator = Aggregator::start(config);
        aggregator.settled().await;
        plain::serve_stdio(&aggregator).await?;
        aggregator.close().await;
        Ok(())
    })
}
