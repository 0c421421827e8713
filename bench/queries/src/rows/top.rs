//! Measures the first page of a sorted collection.

use serde_json::{Value, json};

use super::{Large, Outcome, compared, same};
use crate::loops::top;
use crate::sales::page;
use crate::{Result, Setup};

fn ours(large: &Large, params: &Value) -> Result<Vec<u64>> {
    let page = page(params, &large.key, &large.sales)?;
    Ok(page.items.iter().map(|sale| sale.sale_id).collect())
}

pub(super) fn run(setup: &Setup, large: &Large) -> Result<Outcome> {
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
    one("cents", "an integer", &|| top(&large.sales, |sale| sale.cents))?;
    one("sold_at", "an instant", &|| top(&large.sales, |sale| sale.sold_at))?;
    Ok(Outcome::Rows(rows))
}
