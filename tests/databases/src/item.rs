use chrono::{DateTime, NaiveDate, Utc};
use mcp_aql::prelude::*;
use mcp_aql::query::sql::sea_query::{Expr, ExprTrait as _};
use mcp_aql::query::sql::{Dialect, SqlTable, Storage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something with a field of every kind.
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
    /// Long text, perhaps.
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
    /// Where it stands.
    #[resource(filter, sort, group)]
    pub state: State,
    /// Where it stood.
    #[resource(filter, sort, group)]
    pub former: Option<State>,
    /// A place in a list.
    #[resource(filter, sort, group, numeric)]
    pub rank: Option<i64>,
    /// How large it is.
    #[resource(filter, sort, numeric)]
    pub size: i64,
    /// How well it did; named as what a search counts.
    #[resource(filter, sort, numeric)]
    pub score: i64,
    /// How heavy it is; perhaps no number.
    #[resource(filter, sort, numeric)]
    #[serde(deserialize_with = "number_or_none")]
    pub weight: f64,
    /// A share.
    #[resource(filter, sort)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// A ratio in 32 bits.
    #[resource(filter, sort, numeric)]
    pub ratio: f32,
    /// Whether it is done.
    #[resource(filter, group)]
    pub done: bool,
    /// Whether it was paid.
    #[resource(filter, group)]
    pub paid: Option<bool>,
    /// The last day.
    #[resource(filter, sort, group)]
    pub due: Option<NaiveDate>,
    /// When it was made.
    #[resource(filter, sort, group)]
    pub created: DateTime<Utc>,
    /// When it was closed; kept in milliseconds.
    #[resource(filter, sort)]
    pub closed: Option<DateTime<Utc>>,
    /// When it was seen; kept as text everywhere.
    #[resource(filter, sort)]
    pub seen: DateTime<Utc>,
    /// Where it is: one document.
    #[resource(nested)]
    pub place: Option<Place>,
    /// Whose it is: a column for each member.
    #[resource(nested)]
    pub team: Team,
    /// Anything.
    pub extra: Value,
}

/// JSON has a null for what is no number.
fn number_or_none<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// Where something stands.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Not begun.
    Open,
    /// Under way.
    InWork,
    /// Finished.
    Done,
    /// Given up.
    Abandoned,
}

/// Where something is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Resource)]
pub struct Place {
    /// The city.
    #[resource(filter, sort, group)]
    pub city: Option<String>,
    /// The floor.
    #[resource(filter, sort, numeric)]
    pub floor: i64,
    /// Whether one can get in.
    #[resource(filter)]
    pub open: bool,
    /// Since when.
    #[resource(filter, sort)]
    pub since: Option<DateTime<Utc>>,
    /// Its rooms.
    #[resource(filter)]
    pub rooms: Vec<String>,
}

/// Whose something is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Resource)]
pub struct Team {
    /// The name.
    #[resource(filter, sort, group)]
    pub name: String,
    /// Who leads it.
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

    /// Whether it was closed before the moment of all tests.
    #[computed(filter, group)]
    fn is_closed(&self) -> bool {
        self.closed.is_some_and(|closed| closed < crate::now())
    }

    /// The rank, turned around.
    #[computed(filter, sort)]
    fn turned(&self) -> Option<i64> {
        self.rank.map(|rank| -(rank / 2))
    }
}

/// The table of items.
pub fn table(dialect: Dialect) -> SqlTable<Item> {
    rest_in_memory(dialect)
        .folded("title", "title words")
        .folded("body", "body words")
        .folded("tags", "tags words")
        .expression("_computed.cents", |_| Expr::col("size").modulo(100))
        .expression("_computed.is_closed", |now| {
            let earlier = Expr::col("closed at").lt(now.at(Storage::UnixMillis));
            Expr::case(Expr::col("closed at").is_null(), false).finally(earlier).into()
        })
        .expression("_computed.turned", |_| Expr::val(0).sub(Expr::col("rank").div(2)))
}

/// The table without SQL for what is computed, and without columns for words.
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
    /// The folded texts, as their columns keep them.
    pub fn words(&self) -> [Option<String>; 3] {
        use mcp_aql::query::fold;
        let tags: String = self.tags.iter().map(|tag| fold(tag)).collect();
        [Some(fold(&self.title)), self.body.as_deref().map(fold), Some(tags)]
    }
}
