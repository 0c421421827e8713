//! Measures pages: the time of the first page of a sorted collection, and the peak memory of a page.

use std::process::Command;

use mcp_aql_bench::in_turns;
use mcp_aql_bench::table::{Row, Target, Unit};
use serde_json::{Value, json};

use super::{Large, Outcome, compared, same};
use crate::sales::page;
use crate::{Result, Setup, loops};

/// Number of rows in the small collection.
const FEW: usize = 1_000;

fn ours(large: &Large, params: &Value) -> Result<Vec<u64>> {
    let page = page(params, &large.key, &large.sales)?;
    Ok(page.items.iter().map(|sale| sale.sale_id).collect())
}

pub(super) fn top(setup: &Setup, large: &Large) -> Result<Outcome> {
    let mut rows = Vec::new();
    let mut one = |name: &str, kind: &str, by_hand: &dyn Fn() -> Vec<u64>| -> Result {
        let params = json!({ "sort": { "field": name, "order": "desc" } });
        same(&ours(large, &params)?, &by_hand())?;
        rows.push(compared(
            setup,
            &format!("top-{name}"),
            &format!("top 20 by {kind}; bounded heap by hand"),
            1.5,
            || ours(large, &params),
            || Ok(by_hand()),
        )?);
        Ok(())
    };
    one("cents", "an integer", &|| loops::top(&large.sales, |sale| sale.cents))?;
    one("sold_at", "an instant", &|| loops::top(&large.sales, |sale| sale.sold_at))?;
    Ok(Outcome::Rows(rows))
}

/// Measures the peak in a separate process, because counting slows down every allocation.
fn peak(setup: &Setup, rows: usize) -> Result<f64> {
    let output = Command::new(&setup.page_memory).arg(rows.to_string()).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// Measures the peak memory from the request's bytes to the reply's, without the rows themselves.
pub(super) fn memory(setup: &Setup, _: &Large) -> Result<Outcome> {
    Ok(Outcome::Rows(vec![Row {
        name: "memory".to_owned(),
        what: format!("memory of a page, among {} rows; among {FEW}", setup.rows),
        unit: Unit::Bytes,
        // Allocations do not depend on the load of the machine, so few rounds are enough.
        turns: in_turns(setup.rounds.min(3), || peak(setup, setup.rows), || peak(setup, FEW))?,
        target: Target::AtMost(1.1),
    }]))
}
