//! Measures a reply with only some fields of each row.

use serde_json::{Value, json};

use super::sales::{Sale, query};
use super::{Setup, compared, same};
use crate::Result;
use crate::table::Outcome;

const ROWS: usize = 100;
const SELECTED_FIELDS: [&str; 3] = ["sale_id", "status", "sold_at"];
/// Number of replies per turn.
const REPLIES: usize = 200;

/// Removes all but the selected fields of a row.
fn cut(mut row: Value) -> Value {
    if let Value::Object(members) = &mut row {
        members.retain(|name, _| SELECTED_FIELDS.contains(&name.as_str()));
    }
    row
}

/// Builds the same reply by hand: serializes whole rows and removes fields from the JSON.
fn by_json(sales: &[Sale]) -> Result<Vec<u8>> {
    let items: Vec<Value> =
        sales.iter().map(|sale| Ok(cut(serde_json::to_value(sale)?))).collect::<Result<_>>()?;
    Ok(serde_json::to_vec(&json!({ "items": items }))?)
}

pub(super) fn run(setup: &Setup) -> Result<Outcome> {
    let sales = setup.sales.get(..ROWS).ok_or("too few rows")?;
    let params = json!({ "fields": SELECTED_FIELDS, "first": ROWS });
    let query = query(&params, &setup.key)?;
    let ours = || {
        let page = query.run(sales).map_err(|error| format!("{error:?}"))?;
        Ok(serde_json::to_vec(&page)?)
    };
    let shown = |reply: &[u8]| -> Result<Value> {
        let reply: Value = serde_json::from_slice(reply)?;
        Ok(reply.get("items").cloned().unwrap_or_default())
    };
    same(&shown(&ours()?)?, &shown(&by_json(sales)?)?)?;
    let repeated = |each: &dyn Fn() -> Result<Vec<u8>>| {
        (0..REPLIES).map(|_| each()).collect::<Result<Vec<_>>>()
    };
    let mut row = compared(
        setup,
        "fields",
        "3 of 12 fields of 100 rows, found and written; through JSON",
        0.5,
        || repeated(&ours),
        || repeated(&|| by_json(sales)),
    )?;
    for turn in row.turns.ours.iter_mut().chain(&mut row.turns.peer) {
        *turn /= REPLIES as f64;
    }
    Ok(Outcome::Rows(vec![row]))
}
