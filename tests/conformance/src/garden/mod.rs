//! The garden, a correct adapter that stores a greenhouse in memory. Tests inject mistakes into it.

mod model;
mod operations;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Days, NaiveDate, Utc};
use mcp_aql::prelude::*;
use mcp_aql::query::{CursorKey, Edge, EdgeRequest, ElementRef, RelationshipSource};
use mcp_aql::store::MemoryState;
use mcp_aql::{AdapterBuilder, EndpointMode, SizeLimits};
use mcp_aql_conformance::Mode;
use model::{Climate, Lamp, Link, NewBed};
use serde_json::json;

pub use model::{Bed, Crop};

/// Initial number of beds.
const BEDS: u32 = 60;
/// Low limits make the tests of limits fast.
const LIMITS: SizeLimits = SizeLimits {
    max_request_size: 96 << 10,
    max_response_size: 1 << 20,
    max_string_length: 80 << 10,
    max_array_elements: 500,
    max_nesting_depth: 24,
    max_batch_operations: 100,
    result_budget: 64 << 10,
};
/// Element type of beds in graphs.
const TYPE: &str = "bed";

/// Options of the garden. Change them if you cannot inject a mistake by changing replies.
#[derive(Debug, Clone)]
pub struct GardenOptions {
    /// Applies the last changes to the adapter's builder.
    pub build: fn(AdapterBuilder) -> AdapterBuilder,
    /// Returns the served mode for the requested one.
    pub mode: fn(Option<Mode>) -> Mode,
    /// Changes a bed before it is updated.
    pub change: fn(&mut Bed),
    /// Changes a new bed before it is stored.
    pub store: fn(&mut Bed),
    /// Removes the bed with this identifier.
    pub remove: fn(&mut Vec<Bed>, &str),
    /// Changes the beds from which lists and searches select.
    pub list: fn(&mut Vec<Bed>),
}

impl Default for GardenOptions {
    fn default() -> Self {
        Self {
            build: |builder| builder,
            mode: |mode| mode.unwrap_or(Mode::Semantic),
            change: |_| {},
            store: |_| {},
            remove: |beds, bed_id| beds.retain(|bed| bed.bed_id != bed_id),
            list: |_| {},
        }
    }
}

/// The state, shared by all sessions in all modes.
#[derive(Clone)]
pub struct Garden {
    house: Arc<Mutex<House>>,
    options: GardenOptions,
    store: Arc<MemoryState>,
    cursor_key: CursorKey,
    adapters: Arc<Mutex<HashMap<Mode, Adapter>>>,
}

#[derive(Default)]
pub(crate) struct House {
    beds: Vec<Bed>,
    edges: Vec<Edge>,
    last: u32,
}

/// Returns the garden without mistakes.
pub fn garden() -> Garden {
    Garden::new(GardenOptions::default())
}

impl Garden {
    /// Creates a garden with these options.
    pub fn new(options: GardenOptions) -> Self {
        let garden = Self {
            house: Arc::default(),
            options,
            store: Arc::default(),
            cursor_key: CursorKey::random(),
            adapters: Arc::default(),
        };
        garden.open().plant();
        garden
    }

    /// Builds the adapter for a mode.
    ///
    /// # Errors
    ///
    /// Returns the error of the builder.
    pub fn adapter(&self, mode: Option<Mode>) -> mcp_aql::Result<Adapter> {
        let mode = (self.options.mode)(mode);
        let mut adapters = self.adapters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(adapter) = adapters.get(&mode) {
            return Ok(adapter.clone());
        }
        let builder = Adapter::builder("garden")
            .version(env!("CARGO_PKG_VERSION"))
            .instructions("Look at the beds with list_beds, then water them with execute_watering.")
            .without_config()
            .limits(LIMITS)
            .mode(match mode {
                Mode::Semantic => EndpointMode::Semantic,
                Mode::Single => EndpointMode::Single,
                Mode::All => EndpointMode::All,
            })
            .store(Arc::clone(&self.store))
            .cursor_key(self.cursor_key.clone())
            .operations(Self { adapters: Arc::default(), ..self.clone() });
        let adapter = (self.options.build)(builder).build()?;
        adapters.insert(mode, adapter.clone());
        Ok(adapter)
    }

    // No operation leaves a partial change, so the state is valid even after a panic.
    fn open(&self) -> MutexGuard<'_, House> {
        self.house.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of beds.
    fn count(&self) -> usize {
        self.open().beds.len()
    }

    /// Returns the beds for lists and searches.
    fn listed(&self) -> Vec<Bed> {
        let mut beds = self.open().beds.clone();
        (self.options.list)(&mut beds);
        beds
    }

    fn bed(&self, bed_id: &str) -> Result<Bed, OperationError> {
        self.open().find(bed_id).cloned()
    }

    fn create(&self, new: NewBed) -> Bed {
        self.open().make(new, Utc::now(), self.options.store)
    }

    fn change(
        &self,
        bed_id: &str,
        change: impl FnOnce(&mut Bed) -> Result<(), OperationError>,
    ) -> Result<Bed, OperationError> {
        let mut house = self.open();
        let stored = house.find(bed_id)?;
        let mut bed = stored.clone();
        change(&mut bed)?;
        (self.options.change)(&mut bed);
        bed.version += 1;
        bed.updated_at = Utc::now();
        *stored = bed.clone();
        Ok(bed)
    }

    fn remove(&self, bed_id: &str) -> Result<(), OperationError> {
        let mut house = self.open();
        house.find(bed_id)?;
        (self.options.remove)(&mut house.beds, bed_id);
        let gone = ElementRef::new(TYPE, bed_id);
        house.edges.retain(|edge| edge.source != gone && edge.target != gone);
        Ok(())
    }

    fn link(&self, link: Link) -> Result<Link, OperationError> {
        let mut house = self.open();
        for bed_id in [&link.bed_id, &link.target_id] {
            house.find(bed_id)?;
        }
        let effect = match link.effect {
            model::Effect::Shades => "shades",
            model::Effect::Waters => "waters",
        };
        let edge = edge(&link.bed_id, effect, &link.target_id);
        if house.edges.contains(&edge) {
            return Err(OperationError::already_exists("link", &link.bed_id));
        }
        house.edges.push(edge);
        Ok(link)
    }
}

impl RelationshipSource for Garden {
    type Error = OperationError;

    async fn edges(&self, at: EdgeRequest<'_>) -> Result<Vec<Edge>, OperationError> {
        let edges = self.open().edges.clone();
        edges.edges(at).await
    }

    async fn check_root(&self, root: &ElementRef) -> Result<(), OperationError> {
        if root.element_type != TYPE {
            return Err(OperationError::not_found(&root.element_type, &root.element_name));
        }
        self.bed(&root.element_name).map(drop)
    }
}

impl House {
    fn find(&mut self, bed_id: &str) -> Result<&mut Bed, OperationError> {
        let found = self.beds.iter_mut().find(|bed| bed.bed_id == bed_id);
        found.ok_or_else(|| OperationError::not_found(TYPE, bed_id))
    }

    fn make(&mut self, new: NewBed, now: DateTime<Utc>, store: fn(&mut Bed)) -> Bed {
        self.last += 1;
        let mut bed = Bed {
            bed_id: format!("bed-{}", self.last),
            name: new.name,
            crop: new.crop,
            rows: new.rows,
            length: new.length,
            tags: new.tags,
            note: new.note,
            keeper: new.keeper,
            climate: new.climate,
            labels: new.labels,
            planted: new.planted,
            created_at: now,
            updated_at: now,
            version: 1,
        };
        store(&mut bed);
        self.beds.push(bed.clone());
        bed
    }

    /// Creates the initial beds. They all differ, and some fields are empty in some of them.
    fn plant(&mut self) {
        const CROPS: [Crop; 4] = [Crop::Tomato, Crop::Lettuce, Crop::Herbs, Crop::Fallow];
        const TAGS: [&str; 5] = ["sunny", "wet", "new", "by the door", "for the kitchen"];
        let first_day = NaiveDate::default() + Days::new(20_000);
        for number in 0..BEDS {
            let at = |step: u32, of: u32| (number * step + number / 3) % of;
            let crop = CROPS.iter().copied().nth(at(1, 4) as usize).unwrap_or(Crop::Fallow);
            let tags = TAGS.iter().enumerate().filter(|(place, _)| at(3, 1 << 5) >> place & 1 == 1);
            let new = NewBed {
                name: format!(
                    "Bed {:02} {}",
                    at(7, 100),
                    if number % 2 == 0 { "left" } else { "right" }
                ),
                crop,
                rows: 1 + at(5, 12),
                length: 0.5 + f64::from(at(11, 40)) / 4.0,
                tags: tags.map(|(_, tag)| (*tag).to_owned()).collect(),
                note: (number % 3 == 0).then(|| format!("Sunny in month {}", 1 + number % 12)),
                keeper: (number % 5 == 0).then(|| format!("keeper{}@example.org", number % 7)),
                climate: Climate {
                    humidity: u8::try_from(20 + at(9, 60)).unwrap_or_default(),
                    temperature: (number % 4 != 0).then(|| 15.0 + f64::from(at(2, 20)) / 2.0),
                    lamp: (number % 6 == 0)
                        .then(|| Lamp { watts: 100 + number, colour: "white".to_owned() }),
                },
                labels: [("row".to_owned(), json!(number % 10))].into_iter().collect(),
                planted: (crop != Crop::Fallow).then(|| first_day + Days::new(number.into())),
            };
            let at = DateTime::from_timestamp(1_735_700_000 + i64::from(number) * 3_600, 0);
            self.make(new, at.unwrap_or_default(), |_| {});
        }
        for (source, effect, target) in [
            (1, "shades", 2),
            (2, "shades", 3),
            (3, "waters", 4),
            (4, "waters", 1),
            (5, "waters", 6),
            (5, "shades", 7),
            (7, "waters", 8),
        ] {
            let name = |number| format!("bed-{number}");
            self.edges.push(edge(&name(source), effect, &name(target)));
        }
    }
}

fn edge(source: &str, effect: &str, target: &str) -> Edge {
    Edge::new(ElementRef::new(TYPE, source), effect, ElementRef::new(TYPE, target))
}
