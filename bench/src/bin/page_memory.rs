//! Prints the peak memory of a page query over a given number of rows: `page_memory ROWS`.
//!
//! The measurement starts with the request and ends with the reply. The output is in bytes.

use std::io::Write as _;

use mcp_aql::CollectionQuery;
use mcp_aql::prelude::*;
use mcp_aql::transport::{CallScope, Endpoint};
use mcp_aql_bench::queries::sales::{Sale, sales};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

struct Shop(Vec<Sale>);

#[operations]
impl Shop {
    /// Lists sales.
    #[operation(category = "READ")]
    fn list_sales(&self, query: CollectionQuery<Sale>) -> Result<Page<Sale>, OperationError> {
        query.run(&self.0)
    }
}

const REQUEST: &[u8] = br#"{
    "operation": "list_sales",
    "params": {
        "filter": { "status": "shipped", "cents": { "gte": 100000 } },
        "sort": { "field": "cents", "order": "desc" },
        "fields": ["sale_id", "status", "sold_at"],
        "first": 20
    }
}"#;

fn main() -> mcp_aql_bench::Result {
    let rows = std::env::args().nth(1).ok_or("page_memory ROWS")?.parse()?;
    let adapter = Adapter::builder("shop").operations(Shop(sales(rows))).build()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let page = || {
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let reply =
            runtime.block_on(adapter.handle(Endpoint::Unified, REQUEST, CallScope::default()));
        let peak = MEMORY.peak_usage().saturating_sub(before);
        if reply.code.is_some() || reply.text.matches("sold_at\":").count() != 20 {
            return Err(format!("an unexpected reply: {}", reply.text));
        }
        Ok(peak)
    };
    // Warm up, because one-time initializations must not count.
    page()?;
    writeln!(std::io::stdout(), "{}", page()?)?;
    Ok(())
}
