//! Measures pages: the time of the first page of a sorted collection, and the peak memory of a page.

use std::process::Command;

use serde_json::{Value, json};

use super::sales::page;
use super::{Setup, compared, loops, same};
use crate::table::{Outcome, Row, Target, Unit};
use crate::{Result, in_turns};

/// Number of rows in the small collection.
const FEW: usize = 1_000;

fn ours(setup: &Setup, params: &Value) -> Result<Vec<u64>> {
    let page = page(params, &setup.key, &setup.sales)?;
    Ok(page.items.iter().map(|sale| sale.sale_id).collect())
}

pub(super) fn top(setup: &Setup) -> Result<Outcome> {
    let mut rows = Vec::new();
    let mut one = |name: &str, kind: &str, by_hand: &dyn Fn() -> Vec<u64>| -> Result {
        let params = json!({ "sort": { "field": name, "order": "desc" } });
        same(&ours(setup, &params)?, &by_hand())?;
        rows.push(compared(
            setup,
            &format!("top-{name}"),
            &format!("top 20 by {kind}; bounded heap by hand"),
            1.5,
            || ours(setup, &params),
            || Ok(by_hand()),
        )?);
        Ok(())
    };
    one("cents", "an integer", &|| loops::top(&setup.sales, |sale| sale.cents))?;
    one("sold_at", "an instant", &|| loops::top(&setup.sales, |sale| sale.sold_at))?;
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
pub(super) fn memory(setup: &Setup) -> Result<Outcome> {
    Ok(Outcome::Rows(vec![Row {
        name: "memory".to_owned(),
        what: format!("memory of a page, among {} rows; among {FEW}", setup.sales.len()),
        unit: Unit::Bytes,
        // Allocations do not depend on the load of the machine, so few rounds are enough.
        turns: in_turns(
            setup.rounds.min(3),
            || peak(setup, setup.sales.len()),
            || peak(setup, FEW),
        )?,
        target: Target::AtMost(1.1),
    }]))
}
