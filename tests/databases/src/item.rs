//! The resource and the tables for tests of the SQL executor.

use chrono::{DateTime, NaiveDate, Utc};
use mcp_aql::prelude::*;
use mcp_aql::query::sql::sea_query::{Expr, ExprTrait as _};
use mcp_aql::query::sql::{Dialect, SqlTable, Storage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A resource with a field of every kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Resource)]
#[resource(
    presets(minimal = [item_id, title], standard = [item_id, title, state, place.city, _computed.cents]),
    default_sort(created desc)
)]
pub struct Item {
    /// Identifier.
    #[resource(id, filter, sort)]
    #[serde(rename = "item_id")]
    pub id: String,
    /// Short text.
    #[resource(search, filter, sort, group)]
    pub title: String,
    /// Optional long text.
    #[resource(search, filter, sort, group)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Labels.
    #[resource(search, filter)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Numbers.
    #[resource(filter)]
    pub numbers: Option<Vec<i64>>,
    /// Current state.
    #[resource(filter, sort, group)]
    pub state: State,
    /// Previous state.
    #[resource(filter, sort, group)]
    pub former: Option<State>,
    /// Position in a list.
    #[resource(filter, sort, group, numeric)]
    pub rank: Option<i64>,
    /// Size.
    #[resource(filter, sort, numeric)]
    pub size: i64,
    /// Score, which has the name of a column in search results.
    #[resource(filter, sort, numeric)]
    pub score: i64,
    /// Weight, which may be NaN.
    #[resource(filter, sort, numeric)]
    #[serde(deserialize_with = "number_or_none")]
    pub weight: f64,
    /// Share.
    #[resource(filter, sort)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Ratio in 32 bits.
    #[resource(filter, sort, numeric)]
    pub ratio: f32,
    /// Whether it is done.
    #[resource(filter, group)]
    pub done: bool,
    /// Whether it is paid.
    #[resource(filter, group)]
    pub paid: Option<bool>,
    /// Last day.
    #[resource(filter, sort, group)]
    pub due: Option<NaiveDate>,
    /// Time of creation.
    #[resource(filter, sort, group)]
    pub created: DateTime<Utc>,
    /// Time of closing, stored in milliseconds.
    #[resource(filter, sort)]
    pub closed: Option<DateTime<Utc>>,
    /// Time of the last visit, stored as text in every database.
    #[resource(filter, sort)]
    pub seen: DateTime<Utc>,
    /// Location, stored as one document.
    #[resource(nested)]
    pub place: Option<Place>,
    /// Owning team, stored in one column per member.
    #[resource(nested)]
    pub team: Team,
    /// Arbitrary JSON.
    pub extra: Value,
}

/// Deserializes `null` as NaN, because JSON has no NaN.
fn number_or_none<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// The state of an item.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Not started.
    Open,
    /// In progress.
    InWork,
    /// Finished.
    Done,
    /// Abandoned.
    Abandoned,
}

/// The location of an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Resource)]
pub struct Place {
    /// The city.
    #[resource(filter, sort, group)]
    pub city: Option<String>,
    /// The floor.
    #[resource(filter, sort, numeric)]
    pub floor: i64,
    /// Whether the location is open.
    #[resource(filter)]
    pub open: bool,
    /// Date of opening.
    #[resource(filter, sort)]
    pub since: Option<DateTime<Utc>>,
    /// Rooms.
    #[resource(filter)]
    pub rooms: Vec<String>,
}

/// The team that owns an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Resource)]
pub struct Team {
    /// The name.
    #[resource(filter, sort, group)]
    pub name: String,
    /// Name of the lead.
    #[resource(filter, sort)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lead: Option<String>,
}

#[computed_fields]
impl Item {
    /// The last two digits of the size.
    #[computed(filter, sort, group, numeric)]
    fn cents(&self) -> i64 {
        self.size % 100
    }

    /// Whether it was closed before the time of all tests.
    #[computed(filter, group)]
    fn is_closed(&self) -> bool {
        self.closed.is_some_and(|closed| closed < crate::now())
    }

    /// The negated rank.
    #[computed(filter, sort)]
    fn turned(&self) -> Option<i64> {
        self.rank.map(|rank| -(rank / 2))
    }
}

/// Returns the mapping of items to their table.
pub fn table(dialect: Dialect) -> SqlTable<Item> {
    rest_in_memory(dialect)
        .search_column("title", "title words")
        .search_column("body", "body words")
        .search_column("tags", "tags words")
        .expression("_computed.cents", |_| Expr::col("size").modulo(100))
        .expression("_computed.is_closed", |now| {
            let earlier = Expr::col("closed at").lt(now.to_expr(Storage::UnixMillis));
            Expr::case(Expr::col("closed at").is_null(), false).finally(earlier).into()
        })
        .expression("_computed.turned", |_| Expr::val(0).sub(Expr::col("rank").div(2)))
}

/// Returns the same mapping without SQL for computed fields and without columns of search words. Queries that need them
/// run in memory.
pub fn rest_in_memory(dialect: Dialect) -> SqlTable<Item> {
    SqlTable::new(dialect, "it\"ems")
        .column("item_id", "id")
        .column("closed", "closed at")
        .stored_as("closed", Storage::UnixMillis)
        .stored_as("seen", Storage::Text)
        .column("team.name", "team_name")
        .column("team.lead", "team \"lead\"")
        .scope(|_| Expr::col("deleted").eq(0))
}

impl Item {
    /// Returns the folded strings, as stored in their columns.
    pub fn words(&self) -> [Option<String>; 3] {
        use mcp_aql::query::fold_text;
        let tags: String = self.tags.iter().map(|tag| fold_text(tag)).collect();
        [Some(fold_text(&self.title)), self.body.as_deref().map(fold_text), Some(tags)]
    }
}
