//! The rows of all measurements: a struct with twelve fields, and a deterministic generator.

use chrono::{DateTime, Days, NaiveDate, Utc};
use mcp_aql::query::CursorKey;
use mcp_aql::query::QueryOptions;
use mcp_aql::{CollectionQuery, Page, Resource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Result;
use crate::random::Random;

/// The progress of a sale.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Ordered.
    Ordered,
    /// Paid.
    Paid,
    /// Shipped.
    Shipped,
    /// Delivered.
    Delivered,
    /// Returned.
    Returned,
}

/// A sale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Resource)]
#[resource(default_sort(sale_id))]
pub struct Sale {
    /// Number of the sale.
    #[resource(id, filter, sort)]
    pub sale_id: u64,
    /// Customer, one of a thousand.
    #[resource(filter, sort, group)]
    pub customer: String,
    /// Region, one of twelve.
    #[resource(filter, sort, group)]
    pub region: String,
    /// Progress.
    #[resource(filter, sort, group)]
    pub status: Status,
    /// Number of pieces.
    #[resource(filter, sort, numeric)]
    pub quantity: u32,
    /// Price.
    #[resource(filter, sort, numeric)]
    pub cents: i64,
    /// Weight in kilograms.
    #[resource(filter, sort, numeric)]
    pub weight: f64,
    /// Promised day of delivery.
    #[resource(filter, sort)]
    pub due: NaiveDate,
    /// Time of the sale.
    #[resource(filter, sort)]
    pub sold_at: DateTime<Utc>,
    /// Tags.
    #[resource(filter)]
    pub tags: Vec<String>,
    /// Message of the customer.
    #[resource(filter)]
    pub note: Option<String>,
    /// Discount in cents.
    #[resource(filter, sort, numeric)]
    pub discount: Option<i32>,
}

const REGIONS: [&str; 12] = [
    "aegean", "alpine", "atlantic", "baltic", "coastal", "highland", "inland", "island",
    "lakeland", "northern", "southern", "western",
];
const TAGS: [&str; 6] = ["fragile", "gift", "heavy", "express", "insured", "used"];

/// Generates the first `count` sales of the collection, sorted by id.
pub fn sales(count: usize) -> Vec<Sale> {
    let mut random = Random::new(4);
    let first_day = NaiveDate::default() + Days::new(19_000);
    let first_instant = DateTime::UNIX_EPOCH + Days::new(18_500);
    let mut one = |number: usize| {
        let statuses =
            [Status::Ordered, Status::Paid, Status::Shipped, Status::Delivered, Status::Returned];
        Sale {
            sale_id: number as u64 + 1,
            customer: format!("customer-{:04}", random.below(1_000)),
            region: random.pick(&REGIONS).unwrap_or_default().to_owned(),
            status: random.pick(&statuses).unwrap_or(Status::Ordered),
            quantity: u32::try_from(random.below(20)).unwrap_or_default() + 1,
            cents: i64::try_from(random.below(1_000_000)).unwrap_or_default(),
            weight: random.below(10_000_000) as f64 / 1_024.0,
            due: first_day + Days::new(random.below(1_000) as u64),
            sold_at: first_instant
                + std::time::Duration::from_millis(random.below(500 * 86_400_000) as u64),
            tags: (0..random.below(4))
                .filter_map(|_| random.pick(&TAGS))
                .map(str::to_owned)
                .collect(),
            note: (random.below(4) == 0).then(|| format!("Ring twice at door {number}.")),
            discount: (random.below(3) == 0)
                .then(|| i32::try_from(random.below(5_000)).unwrap_or_default()),
        }
    };
    (0..count).map(&mut one).collect()
}

/// Parses a query.
pub(super) fn query(params: &Value, key: &CursorKey) -> Result<CollectionQuery<Sale>> {
    read(&QueryOptions::new(), params, key)
}

/// Parses a query that does not count the matching rows.
pub(super) fn uncounted(params: &Value, key: &CursorKey) -> Result<CollectionQuery<Sale>> {
    read(&QueryOptions::new().without_count(), params, key)
}

fn read(options: &QueryOptions, params: &Value, key: &CursorKey) -> Result<CollectionQuery<Sale>> {
    let params = params.as_object().cloned().unwrap_or_default();
    CollectionQuery::parse(options, params, key).map_err(|error| format!("{error:?}").into())
}

/// Parses a query and runs it.
pub(super) fn page(params: &Value, key: &CursorKey, rows: &[Sale]) -> Result<Page<Sale>> {
    query(params, key)?.run(rows).map_err(|error| format!("{error:?}").into())
}
