//! Measures a filter on two fields. The result is the number of matching rows and the first page.

use chrono::{DateTime, Days, Utc};
use rusqlite::{Connection, ToSql};
use serde_json::{Value, json};

use super::loops::{PAGE, filtered};
use super::sales::{Sale, Status, page};
use super::{Setup, compared, databases, same};
use crate::Result;
use crate::table::Outcome;

type Answer = (u64, Vec<u64>);

fn ours(setup: &Setup, params: &Value) -> Result<Answer> {
    let page = page(params, &setup.key, &setup.sales)?;
    let first = page.items.iter().map(|sale| sale.sale_id).collect();
    Ok((page.page_info.total_count.unwrap_or_default(), first))
}

/// Runs the same filter in SQLite. One statement counts all matches. The other stops when the page is full.
fn theirs(connection: &Connection, condition: &str, values: &[&dyn ToSql]) -> Result<Answer> {
    let count = format!("SELECT count(*) FROM sales WHERE {condition}");
    let page = format!("SELECT sale_id FROM sales WHERE {condition} ORDER BY sale_id LIMIT {PAGE}");
    let count: i64 = connection.prepare_cached(&count)?.query_row(values, |row| row.get(0))?;
    let mut statement = connection.prepare_cached(&page)?;
    let first = statement.query_map(values, |row| row.get::<_, i64>(0))?;
    let first = first.map(|number| Ok(u64::try_from(number?)?)).collect::<Result<_>>()?;
    Ok((u64::try_from(count)?, first))
}

pub(super) fn run(setup: &Setup) -> Result<Outcome> {
    let database = databases::sqlite(&setup.sales)?;
    let mut rows = Vec::new();
    let mut both = |name: &str,
                    fields: &str,
                    params: &Value,
                    by_hand: &dyn Fn() -> Answer,
                    by_sqlite: &dyn Fn() -> Result<Answer>|
     -> Result {
        let ours = || ours(setup, params);
        let expected = ours()?;
        same(&expected, &by_hand())?;
        same(&expected, &by_sqlite()?)?;
        rows.push(compared(
            setup,
            &format!("filter-{name}"),
            &format!("filter, {fields}; loop by hand"),
            1.3,
            ours,
            || Ok(by_hand()),
        )?);
        rows.push(compared(
            setup,
            &format!("filter-{name}-sqlite"),
            &format!("filter, {fields}; SQLite"),
            0.2,
            ours,
            by_sqlite,
        )?);
        Ok(())
    };

    let (status, cents) = std::hint::black_box((Status::Shipped, 500_000));
    let choice = |sale: &Sale| sale.status == status && sale.cents >= cents;
    both(
        "choice",
        "choice and integer",
        &json!({ "filter": { "status": status, "cents": { "gte": cents } } }),
        &|| filtered(&setup.sales, choice),
        &|| {
            let status = databases::name(&status)?;
            theirs(&database, "status = ? AND cents >= ?", &[&status, &cents])
        },
    )?;

    let since: DateTime<Utc> = DateTime::UNIX_EPOCH + Days::new(18_750);
    let (region, since) = std::hint::black_box(("lakeland", since));
    both(
        "text",
        "text and instant",
        &json!({ "filter": { "region": region, "sold_at": { "gte": since } } }),
        &|| filtered(&setup.sales, |sale| sale.region == region && sale.sold_at >= since),
        &|| {
            let since = since.timestamp_millis();
            theirs(&database, "region = ? AND sold_at >= ?", &[&region, &since])
        },
    )?;
    Ok(Outcome::Rows(rows))
}
