//! Measures the peak memory of a query to 10 servers, each with 100 results of 1 KB:
//! `query_memory SERVER`.
//!
//! The measurement starts with the client's request line and ends with the reply line. It includes
//! the servers' responses, the parsed results, and ranking.

use std::io::Write as _;
use std::path::Path;

use mcp_aql_aggregator::{Aggregator, Config, plain};
use mcp_aql_aggregator_bench::Result;
use mcp_aql_aggregator_bench::programs::{INITIALIZE, INITIALIZED, answer, configuration, query};
use peak_alloc::PeakAlloc;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const SERVERS: usize = 10;
/// Number of warm-up queries, and of measured queries. The warm-up makes one-time allocations. The
/// highest measured peak is the result.
const QUERIES: (usize, usize) = (3, 20);

fn main() -> Result {
    let server = std::env::args().nth(1).ok_or("query_memory SERVER")?;
    let scripts: Vec<_> =
        (0..SERVERS).map(|seed| format!("--results 100 --fill 1000:{seed}")).collect();
    let configuration = configuration(Path::new(&server), scripts.iter().map(String::as_str));
    let config = Config::from_json(&configuration, &|_| None)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let peak = runtime.block_on(async {
        let aggregator = Aggregator::start(config);
        aggregator.settled().await;
        let (client, theirs) = tokio::io::duplex(1 << 16);
        let (read, write) = tokio::io::split(theirs);
        let serving = aggregator.clone();
        let serving = tokio::spawn(async move { plain::serve(&serving, read, write).await });
        let peak = peak(client).await?;
        aggregator.close().await;
        serving.await??;
        Ok::<_, mcp_aql_aggregator_bench::Error>(peak)
    })?;
    writeln!(std::io::stdout(), "{peak}")?;
    Ok(())
}

async fn peak(client: DuplexStream) -> Result<usize> {
    let (read, mut write) = tokio::io::split(client);
    let mut lines = BufReader::new(read);
    // Allocate the client's own buffer first, so that it does not count.
    let mut line = Vec::with_capacity(1 << 20);
    write.write_all(INITIALIZE.as_bytes()).await?;
    receive(&mut lines, &mut line).await?;
    write.write_all(INITIALIZED.as_bytes()).await?;
    let query = query();
    let mut most = 0;
    for time in 0..QUERIES.0 + QUERIES.1 {
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        write.write_all(query.as_bytes()).await?;
        receive(&mut lines, &mut line).await?;
        let peak = MEMORY.peak_usage().saturating_sub(before);
        let (answer, statuses) = answer(std::str::from_utf8(&line)?)?;
        let count = answer.pointer("/metadata/totalResultsRaw");
        if statuses.len() != SERVERS || count != Some(&(100 * SERVERS).into()) {
            return Err(format!("results are missing: {answer}").into());
        }
        if time >= QUERIES.0 {
            most = most.max(peak);
        }
    }
    Ok(most)
}

async fn receive(lines: &mut BufReader<ReadHalf<DuplexStream>>, line: &mut Vec<u8>) -> Result {
    line.clear();
    lines.read_until(b'\n', line).await?;
    Ok(())
}
