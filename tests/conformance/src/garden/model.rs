//! The types of the greenhouse. Their doc comments are part of introspection.

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
    /// The plants in the bed.
    #[resource(filter, sort, group)]
    pub crop: Crop,
    /// The number of rows.
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
    /// A note about the bed.
    #[resource(search)]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(max_length = 500)]
    pub note: Option<String>,
    /// The mail address of the contact person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(format = "email")]
    pub keeper: Option<String>,
    /// The climate above the bed.
    #[resource(nested)]
    pub climate: Climate,
    /// Free-form data; updates merge into it key by key.
    pub labels: Map<String, Value>,
    /// The day it was planted.
    #[resource(filter, sort)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planted: Option<NaiveDate>,
    /// The time of creation.
    #[resource(read_only, filter, sort)]
    pub created_at: DateTime<Utc>,
    /// The time of the last change.
    #[resource(read_only)]
    pub updated_at: DateTime<Utc>,
    /// The version, which grows with every change and is accepted as `if_match`.
    #[resource(read_only)]
    #[serde(rename = "_version")]
    pub version: u64,
}

#[computed_fields]
impl Bed {
    /// The length of all rows in metres.
    #[computed(filter, sort, numeric)]
    fn metres(&self) -> f64 {
        self.length * f64::from(self.rows)
    }

    /// Whether the air above the bed is dry.
    #[computed(filter, group)]
    fn is_dry(&self) -> bool {
        self.climate.humidity < 40
    }
}

/// The climate above a bed.
#[derive(
    Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, Resource, UpdateInput,
)]
pub struct Climate {
    /// The relative humidity in percent.
    #[resource(filter, sort, numeric)]
    #[param(minimum = 0, maximum = 100)]
    pub humidity: u8,
    /// The temperature in degrees Celsius.
    #[resource(filter, sort, numeric)]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = -10.0, maximum = 60.0)]
    pub temperature: Option<f64>,
    /// The lamp above the bed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lamp: Option<Lamp>,
}

/// A lamp above a bed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub struct Lamp {
    /// The power in watts.
    #[param(minimum = 1, maximum = 2000)]
    pub watts: u32,
    /// The colour of the light.
    #[param(min_length = 1, max_length = 30)]
    pub colour: String,
}

/// The plants in a bed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Crop {
    /// Tomatoes of any colour.
    Tomato,
    /// Leaf vegetables.
    Lettuce,
    /// Herbs of any kind.
    Herbs,
    /// No plants.
    Fallow,
}

/// The initial fields of a new bed: the parameters of `create_bed`.
#[derive(Debug, Clone, ParamGroup)]
pub(crate) struct NewBed {
    /// The text of the label.
    #[param(min_length = 1, max_length = 80)]
    pub(crate) name: String,
    /// The plants in the bed.
    #[param(default = "fallow")]
    pub(crate) crop: Crop,
    /// The number of rows.
    #[param(default = 4, minimum = 1, maximum = 40)]
    pub(crate) rows: u32,
    /// Length in metres.
    #[param(default = 2.5, minimum = 0.5, maximum = 100.0)]
    pub(crate) length: f64,
    /// Free-form labels.
    #[param(default = [], max_items = 10)]
    pub(crate) tags: Vec<String>,
    /// A note about the bed.
    #[param(max_length = 500)]
    pub(crate) note: Option<String>,
    /// The mail address of the contact person.
    #[param(format = "email")]
    pub(crate) keeper: Option<String>,
    /// The climate above the bed.
    #[param(default = { "humidity": 50 })]
    pub(crate) climate: Climate,
    /// Free-form data.
    #[param(default = {})]
    pub(crate) labels: Map<String, Value>,
    /// The day it was planted.
    pub(crate) planted: Option<NaiveDate>,
}

/// An effect of a bed on another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Effect {
    /// The bed shades the other.
    Shades,
    /// The water of the bed runs into the other.
    Waters,
}

/// A relationship of two beds.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Link {
    /// The bed.
    pub(crate) bed_id: String,
    /// The effect on the other bed.
    pub(crate) effect: Effect,
    /// The other bed.
    pub(crate) target_id: String,
}

/// A removed bed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Removed {
    /// The removed bed.
    pub(crate) bed_id: String,
}

/// A finished watering.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Watering {
    /// The bed that was watered.
    pub(crate) bed_id: String,
    /// The amount of water in litres.
    pub(crate) litres: u32,
}

/// A weather forecast.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Forecast {
    /// The place.
    pub(crate) place: String,
    /// The side of the house.
    pub(crate) side: Side,
    /// The temperature of each day.
    pub(crate) degrees: Vec<f64>,
    /// The unit of the temperatures.
    pub(crate) unit: String,
    /// The sensors of the forecast.
    pub(crate) sensors: Vec<u32>,
    /// Details of the forecast, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) remark: Option<String>,
}

/// A side of the house.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Side {
    /// The sunny side.
    South,
    /// The shaded side.
    North,
}

/// A place on the map of the house.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Point {
    /// The distance from the door in metres.
    pub(crate) x: f64,
    /// The distance from the wall in metres.
    pub(crate) y: f64,
}
