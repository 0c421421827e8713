//! Measures a sum by group, with a filter.

use std::collections::{BTreeMap, HashMap};

use rusqlite::Connection;
use serde_json::{Value, json};

use super::loops::summed;
use super::sales::{Sale, Status, page};
use super::{Setup, compared, databases, same};
use crate::Result;
use crate::table::Outcome;

type Answer = BTreeMap<String, i64>;

fn ours(setup: &Setup, params: &Value) -> Result<Value> {
    let page = page(params, &setup.key, &setup.sales)?;
    Ok(serde_json::to_value(&page)?)
}

/// Returns the sums in a reply.
fn sums(reply: &Value) -> Result<Answer> {
    let sums = reply.pointer("/aggregations/total").ok_or("no sums")?;
    Ok(serde_json::from_value(sums.clone())?)
}

fn named<K: ToString>(sums: HashMap<K, i64>) -> Answer {
    sums.into_iter().map(|(key, sum)| (key.to_string(), sum)).collect()
}

fn theirs(connection: &Connection, group: &str, status: &str, cents: i64) -> Result<Answer> {
    let sql = format!(
        "SELECT {group}, sum(cents) FROM sales WHERE status = ? AND cents >= ? GROUP BY {group}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let sums = statement.query_map((status, cents), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(sums.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn run(setup: &Setup) -> Result<Outcome> {
    let database = databases::sqlite(&setup.sales)?;
    let (status, cents) = std::hint::black_box((Status::Delivered, 100_000));
    let status_name = databases::name(&status)?;
    let passes = |sale: &Sale| sale.status == status && sale.cents >= cents;
    let mut rows = Vec::new();
    let mut both = |group: &str, groups: &str, by_hand: &dyn Fn() -> Answer| -> Result {
        let params = json!({
            "filter": { "status": status, "cents": { "gte": cents } },
            "aggregate": { "total": { "sum": "cents", "group_by": group } },
        });
        let by_sqlite = || theirs(&database, group, &status_name, cents);
        let expected = sums(&ours(setup, &params)?)?;
        same(&expected, &by_hand())?;
        same(&expected, &by_sqlite()?)?;
        rows.push(compared(
            setup,
            &format!("group-{group}"),
            &format!("filter, {groups}, sum; loop by hand"),
            1.3,
            || sums(&ours(setup, &params)?),
            || Ok(by_hand()),
        )?);
        rows.push(compared(
            setup,
            &format!("group-{group}-sqlite"),
            &format!("filter, {groups}, sum; SQLite"),
            0.2,
            || sums(&ours(setup, &params)?),
            by_sqlite,
        )?);
        Ok(())
    };
    both("region", "12 groups", &|| {
        named(summed(&setup.sales, passes, |sale| sale.region.as_str()))
    })?;
    both("customer", "1000 groups", &|| {
        named(summed(&setup.sales, passes, |sale| sale.customer.as_str()))
    })?;
    Ok(Outcome::Rows(rows))
}
