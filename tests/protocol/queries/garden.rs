//! The collection for these tests: plants with a field of every kind and with every option.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use chrono::{DateTime, NaiveDate, Utc};
use mcp_aql::prelude::*;
use mcp_aql::query::SelectedFields;
use mcp_aql::{Adapter, AdapterBuilder};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::call;

/// A plant in the garden.
#[derive(Debug, Clone, Serialize, JsonSchema, Resource)]
#[resource(
    presets(brief = [name, bed.zone, _computed.age_days], place = [plant_id, bed]),
    default_sort(rank desc, name)
)]
pub(crate) struct Plant {
    /// Assigned on planting.
    #[resource(id, filter, sort)]
    pub(crate) plant_id: u32,
    /// Common name.
    #[resource(search, filter, sort)]
    pub(crate) name: String,
    /// Notes.
    #[resource(search, filter)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    /// Growth form.
    #[resource(filter, sort, group)]
    pub(crate) kind: Kind,
    /// State of health.
    #[resource(filter, sort, group)]
    pub(crate) health: Option<Health>,
    /// Priority if water is short.
    #[resource(filter, sort, numeric, group)]
    pub(crate) rank: u8,
    /// Leaves since last year.
    #[resource(filter, sort, numeric)]
    pub(crate) change: Option<i64>,
    /// In metres.
    #[resource(filter, sort, numeric)]
    pub(crate) height: f64,
    /// In kilograms.
    #[resource(filter, sort, numeric)]
    pub(crate) mass: Option<f32>,
    /// Rarity; few plants have it.
    #[resource(filter, group)]
    pub(crate) rare: bool,
    /// Free-form labels.
    #[resource(search, filter)]
    pub(crate) tags: Vec<String>,
    /// Fruits by year.
    #[resource(filter)]
    pub(crate) fruits: Vec<i32>,
    /// The day it came.
    #[resource(filter, sort, group)]
    pub(crate) planted: Option<NaiveDate>,
    /// Time of the last inspection.
    #[resource(filter, sort)]
    pub(crate) seen_at: DateTime<Utc>,
    /// Bed.
    #[resource(nested)]
    pub(crate) bed: Option<Bed>,
    /// Visits.
    pub(crate) visits: Vec<Visit>,
    /// Anything else.
    pub(crate) extra: BTreeMap<String, Value>,
}

/// The growth form of a plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Has a trunk.
    Tree,
    /// Has many stems.
    Shrub,
    /// Has no wood.
    Herb,
}

/// The health of a plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Health {
    /// Needs help.
    NotWell,
    /// Healthy.
    Fine,
    /// Thriving.
    AtItsBest,
}

/// A part of the garden.
#[derive(Debug, Clone, Serialize, JsonSchema, Resource)]
pub(crate) struct Bed {
    /// Zone.
    #[resource(search, filter, sort, group)]
    pub(crate) zone: String,
    /// Moisture in percent.
    #[resource(filter, sort, numeric)]
    pub(crate) moisture: Option<f64>,
    /// Soil.
    #[resource(nested)]
    pub(crate) soil: Soil,
}

/// The soil of a bed.
#[derive(Debug, Clone, Serialize, JsonSchema, Resource)]
pub(crate) struct Soil {
    /// Acidity.
    #[resource(filter, sort, numeric)]
    pub(crate) acidity: i16,
    /// Its colour.
    pub(crate) colour: String,
}

/// A visit.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Visit {
    /// Visitor.
    pub(crate) by: String,
    /// Duration.
    pub(crate) minutes: u32,
}

/// The day on which ages are computed.
pub(crate) const TODAY: NaiveDate = NaiveDate::from_ymd_opt(2031, 5, 6).expect("a day");

#[computed_fields]
impl Plant {
    /// Days since planting.
    #[computed(filter, sort, numeric)]
    pub(crate) fn age_days(&self) -> Option<i64> {
        Some((TODAY - self.planted?).num_days())
    }

    /// Text of the sign.
    #[computed]
    pub(crate) fn sign(&self) -> String {
        format!("{} ({})", self.name, self.plant_id)
    }

    /// Taller than a person.
    #[computed(filter, group)]
    pub(crate) fn is_tall(&self) -> bool {
        self.height > 2.0
    }
}

#[computed_fields]
impl Bed {
    /// Needs no water.
    #[computed(filter)]
    fn is_wet(&self) -> bool {
        self.moisture.is_some_and(|moisture| moisture > 30.0)
    }
}

/// Selects plants by zone.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Selector {
    /// In this zone.
    zone: Option<String>,
    /// Not in this zone.
    not_zone: Option<String>,
}

#[derive(Clone)]
pub(crate) struct Garden(Arc<Mutex<Vec<Plant>>>);

impl Garden {
    pub(crate) fn new(plants: Vec<Plant>) -> Self {
        Self(Arc::new(Mutex::new(plants)))
    }

    pub(crate) fn with<R>(&self, take: impl FnOnce(&mut Vec<Plant>) -> R) -> R {
        take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

type Found = Result<Page<Plant>, OperationError>;

#[operations]
impl Garden {
    /// List the plants.
    #[operation(category = "READ")]
    fn list_plants(
        &self,
        #[query(accept(offset, page, preset, order))] query: CollectionQuery<Plant>,
    ) -> Found {
        self.with(|plants| query.run(&*plants))
    }

    /// Search the plants.
    #[operation(category = "READ")]
    fn search_plants(&self, query: CollectionQuery<Plant>) -> Found {
        self.with(|plants| query.run(&*plants))
    }

    /// Find plants in a zone, or outside one. `query` is a selector object: `zone` names the zone, `not_zone` excludes
    /// one. Both are combined, and applied before `filter`.
    #[operation(category = "READ", example = {
        "query": { "not_zone": "north" }, "sort": { "field": "height" }, "fields": "brief", "first": 5,
    })]
    fn query_plants(
        &self,
        /// The selector.
        query: Selector,
        controls: CollectionQuery<Plant>,
    ) -> Found {
        self.with(|plants| {
            controls.run(plants.iter().filter(|plant| {
                let zone = plant.bed.as_ref().map(|bed| &bed.zone);
                query.zone.as_ref().is_none_or(|wanted| zone == Some(wanted))
                    && query.not_zone.as_ref().is_none_or(|unwanted| zone != Some(unwanted))
            }))
        })
    }

    /// List plants on small pages, without a total count.
    #[operation(category = "READ")]
    fn list_slowly(
        &self,
        #[query(text = "optional", page_size = 2, max_page_size = 3, without_count)]
        query: CollectionQuery<Plant>,
    ) -> Found {
        self.with(|plants| query.run(&*plants))
    }

    /// Get a plant.
    #[operation(category = "READ")]
    fn get_plant(
        &self,
        /// Which one.
        plant_id: u32,
        #[query(accept(preset))] fields: Fields<Plant>,
    ) -> Result<SelectedFields<Plant>, OperationError> {
        self.with(|plants| plants.iter().find(|plant| plant.plant_id == plant_id).cloned())
            .map(|plant| fields.of(plant))
            .ok_or_else(|| OperationError::not_found("plant", plant_id))
    }
}

pub(crate) fn builder(garden: Garden) -> AdapterBuilder {
    Adapter::builder("garden").operations(garden).without_config()
}

/// Returns an adapter for these plants, and the garden that holds them. Use it if your test changes plants.
pub(crate) fn adapter_of(plants: Vec<Plant>) -> (Adapter, Garden) {
    let garden = Garden::new(plants);
    (builder(garden.clone()).build().expect("the garden is sound"), garden)
}

/// A shared garden. Use it if your test does not change it.
pub(crate) static GARDEN: LazyLock<Adapter> = LazyLock::new(|| adapter_of(plants()).0);

/// Lists the shared garden.
pub(crate) fn list(params: Value) -> Value {
    call(&GARDEN, "list_plants", params)
}

/// Returns the ids of the plants on a page, in order.
#[track_caller]
pub(crate) fn ids(reply: &Value) -> Vec<u64> {
    assert_eq!(reply["success"], true, "{reply}");
    let items = reply["data"]["items"].as_array().expect("a page has items");
    items.iter().map(|item| item["plant_id"].as_u64().expect("a number")).collect()
}

/// Returns the ids of the plants that a filter finds, in ascending order.
#[track_caller]
pub(crate) fn found(filter: Value) -> Vec<u64> {
    ids(&list(json!({ "filter": filter, "sort": { "field": "plant_id" } })))
}

pub(crate) fn plant(plant_id: u32, name: &str) -> Plant {
    Plant {
        plant_id,
        name: name.to_owned(),
        note: None,
        kind: Kind::Herb,
        health: None,
        rank: 1,
        change: None,
        height: 0.5,
        mass: None,
        rare: false,
        tags: Vec::new(),
        fruits: Vec::new(),
        planted: None,
        seen_at: instant("2031-05-01T12:00:00Z"),
        bed: None,
        visits: Vec::new(),
        extra: BTreeMap::new(),
    }
}

pub(crate) fn bed(zone: &str, moisture: Option<f64>, acidity: i16) -> Option<Bed> {
    let soil = Soil { acidity, colour: "brown".to_owned() };
    Some(Bed { zone: zone.to_owned(), moisture, soil })
}

pub(crate) fn day(text: &str) -> NaiveDate {
    text.parse().expect("a day")
}

pub(crate) fn instant(text: &str) -> DateTime<Utc> {
    text.parse().expect("an instant")
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

pub(crate) fn plants() -> Vec<Plant> {
    vec![
        Plant {
            note: Some("Old apple tree by the gate".to_owned()),
            kind: Kind::Tree,
            health: Some(Health::AtItsBest),
            rank: 3,
            change: Some(-40),
            height: 4.5,
            mass: Some(120.5),
            rare: true,
            tags: words("fruit old"),
            fruits: vec![80, 120],
            planted: Some(day("2001-03-01")),
            seen_at: instant("2031-05-06T07:00:00Z"),
            bed: bed("north", Some(33.5), 6),
            visits: vec![
                Visit { by: "ann".to_owned(), minutes: 5 },
                Visit { by: "bob".to_owned(), minutes: 7 },
            ],
            extra: BTreeMap::from([("lamp".to_owned(), json!({ "watts": 5 }))]),
            ..plant(1, "Boskoop")
        },
        Plant {
            kind: Kind::Shrub,
            health: Some(Health::NotWell),
            rank: 2,
            change: Some(15),
            height: 1.25,
            tags: words("berry"),
            fruits: vec![300],
            planted: Some(day("2029-10-12")),
            seen_at: instant("2031-05-06T06:30:00.250Z"),
            bed: bed("south", None, 5),
            ..plant(2, "Café currant")
        },
        Plant {
            rank: 3,
            change: Some(0),
            height: 0.3,
            mass: Some(0.25),
            tags: words("kitchen fruit"),
            planted: Some(day("2030-04-02")),
            bed: bed("north", Some(20.0), 7),
            ..plant(3, "Apple mint")
        },
        Plant {
            note: Some("The apple of the eye".to_owned()),
            health: Some(Health::Fine),
            height: -0.0,
            ..plant(4, "rosemary")
        },
        Plant { kind: Kind::Tree, height: 12.0, rare: true, ..plant(5, "Yew") },
        Plant {
            kind: Kind::Shrub,
            rank: 2,
            change: Some(15),
            height: 1.25,
            fruits: vec![-1],
            planted: Some(day("2029-10-12")),
            bed: bed("null", Some(0.0), 5),
            ..plant(6, "Barberry")
        },
        Plant { health: Some(Health::Fine), mass: Some(f32::NAN), ..plant(7, "Apple") },
    ]
}
