//! What grows in the greenhouse.

use chrono::{DateTime, NaiveDate, Utc};
use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A bed of the greenhouse.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
#[resource(
    presets(
        minimal = [bed_id, name],
        standard = [bed_id, name, crop, rows, tags, climate.humidity],
    ),
    default_sort(name),
    relationships(
        shades = "The bed takes light from another.",
        waters = "Its water runs on into another.",
    ),
)]
pub struct Bed {
    /// Identifier, assigned on creation.
    #[resource(id, filter, sort)]
    pub bed_id: String,
    /// The text of the label.
    #[resource(search, filter, sort)]
    #[param(min_length = 1, max_length = 80)]
    pub name: String,
    /// What grows there.
    #[resource(filter, sort, group)]
    pub crop: Crop,
    /// How many rows it has.
    #[resource(filter, sort, group, numeric)]
    #[param(minimum = 1, maximum = 40)]
    pub rows: u32,
    /// Length in metres.
    #[resource(filter, sort, numeric)]
    #[param(minimum = 0.5, maximum = 100.0)]
    pub length: f64,
    /// Free-form labels.
    #[resource(search, filter)]
    #[param(max_items = 10)]
    pub tags: Vec<String>,
    /// What somebody noted.
    #[resource(search)]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(max_length = 500)]
    pub note: Option<String>,
    /// Whom to ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(format = "email")]
    pub keeper: Option<String>,
    /// The air above it.
    #[resource(nested)]
    pub climate: Climate,
    /// Free-form data; updates merge into it key by key.
    pub labels: Map<String, Value>,
    /// The day it was planted.
    #[resource(filter, sort)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planted: Option<NaiveDate>,
    /// When it was made.
    #[resource(read_only, filter, sort)]
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    #[resource(read_only)]
    pub updated_at: DateTime<Utc>,
    /// Grows with every change; give it back as `if_match`.
    #[resource(read_only)]
    #[serde(rename = "_version")]
    pub version: u64,
}

#[computed_fields]
impl Bed {
    /// Metres of all rows together.
    #[computed(filter, sort, numeric)]
    fn metres(&self) -> f64 {
        self.length * f64::from(self.rows)
    }

    /// The air above it holds little water.
    #[computed(filter, group)]
    fn is_dry(&self) -> bool {
        self.climate.humidity < 40
    }
}

/// The air above a bed.
#[derive(
    Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, Resource, UpdateInput,
)]
pub struct Climate {
    /// Percent of the water that the air could hold.
    #[resource(filter, sort, numeric)]
    #[param(minimum = 0, maximum = 100)]
    pub humidity: u8,
    /// Degrees Celsius.
    #[resource(filter, sort, numeric)]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = -10.0, maximum = 60.0)]
    pub temperature: Option<f64>,
    /// The lamp above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lamp: Option<Lamp>,
}

/// A lamp above a bed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub struct Lamp {
    /// How strong it is.
    #[param(minimum = 1, maximum = 2000)]
    pub watts: u32,
    /// The colour of its light.
    #[param(min_length = 1, max_length = 30)]
    pub colour: String,
}

/// What grows in a bed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Crop {
    /// Red or yellow.
    Tomato,
    /// Leaves.
    Lettuce,
    /// Many kinds of them.
    Herbs,
    /// Nothing yet.
    Fallow,
}

/// What a new bed starts with: the parameters of `create_bed`.
#[derive(Debug, Clone, ParamGroup)]
pub(crate) struct NewBed {
    /// The text of the label.
    #[param(min_length = 1, max_length = 80)]
    pub(crate) name: String,
    /// What grows there.
    #[param(default = "fallow")]
    pub(crate) crop: Crop,
    /// How many rows it has.
    #[param(default = 4, minimum = 1, maximum = 40)]
    pub(crate) rows: u32,
    /// Length in metres.
    #[param(default = 2.5, minimum = 0.5, maximum = 100.0)]
    pub(crate) length: f64,
    /// Free-form labels.
    #[param(default = [], max_items = 10)]
    pub(crate) tags: Vec<String>,
    /// What somebody noted.
    #[param(max_length = 500)]
    pub(crate) note: Option<String>,
    /// Whom to ask.
    #[param(format = "email")]
    pub(crate) keeper: Option<String>,
    /// The air above it.
    #[param(default = { "humidity": 50 })]
    pub(crate) climate: Climate,
    /// Free-form data.
    #[param(default = {})]
    pub(crate) labels: Map<String, Value>,
    /// The day it was planted.
    pub(crate) planted: Option<NaiveDate>,
}

/// How a bed can hang together with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Effect {
    /// The bed takes light from the other.
    Shades,
    /// Its water runs on into the other.
    Waters,
}

/// Two beds that hang together.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Link {
    /// The bed.
    pub(crate) bed_id: String,
    /// How.
    pub(crate) effect: Effect,
    /// The other bed.
    pub(crate) target_id: String,
}

/// What remains of a bed that was removed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Removed {
    /// The bed that is gone.
    pub(crate) bed_id: String,
}

/// A watering that came to its end.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Watering {
    /// The bed that was watered.
    pub(crate) bed_id: String,
    /// How much it got.
    pub(crate) litres: u32,
}

/// What was asked for, and what is to be expected.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Forecast {
    /// The place.
    pub(crate) place: String,
    /// Which side of the house.
    pub(crate) side: Side,
    /// Degrees Celsius, a day each.
    pub(crate) degrees: Vec<f64>,
    /// In which unit.
    pub(crate) unit: String,
    /// The sensors that were asked.
    pub(crate) sensors: Vec<u32>,
    /// More words, if they were wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remark: Option<String>,
}

/// A side of the house.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Side {
    /// Much sun.
    South,
    /// Little of it.
    North,
}

/// A place on the map of the house.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Point {
    /// Metres from the door.
    pub(crate) x: f64,
    /// Metres from the wall.
    pub(crate) y: f64,
}
