//! Implements the operations on places as discrete tools, with rmcp's macros.

use std::sync::Arc;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A place on the map.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Place {
    place_id: u64,
    name: String,
    rating: u8,
    address: Address,
}

/// An address.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Address {
    /// Street and number.
    street: String,
    /// Town.
    town: String,
    /// Position on the globe.
    position: Position,
}

/// A position on the globe.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// In degrees.
    latitude: f64,
    /// In degrees.
    longitude: f64,
}

/// The parameters of `create_place`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// Name of the place.
    name: String,
    /// From 1 to 5.
    rating: u8,
    /// Address of the place.
    address: Address,
}

/// The parameters of `update_place`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// Number of the place.
    place_id: u64,
    /// The new values, which are merged into the place.
    input: Map<String, Value>,
}

/// The parameters of `list_places`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// The lowest rating.
    min_rating: Option<u8>,
    /// Whether to sort by name.
    #[serde(default)]
    by_name: bool,
    /// How many at most.
    #[serde(default = "fifty")]
    first: usize,
}

fn fifty() -> usize {
    50
}

/// The parameters of `delete_place`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delete {
    /// Number of the place.
    place_id: u64,
}

/// The places, and the router of their tools.
#[derive(Debug)]
pub struct Server {
    tool_router: ToolRouter<Self>,
    places: super::Places<Place>,
}

#[tool_router]
impl Server {
    /// Builds the server without places.
    pub fn start() -> Arc<Self> {
        Arc::new(Self { tool_router: Self::tool_router(), places: super::Places::default() })
    }

    /// Add a place.
    #[tool]
    fn create_place(&self, Parameters(given): Parameters<Create>) -> Result<String, String> {
        let Create { name, rating, address } = given;
        json(&self.places.add(|place_id| Place { place_id, name, rating, address }))
    }

    /// Change a place.
    #[tool]
    fn update_place(&self, Parameters(given): Parameters<Update>) -> Result<String, String> {
        let mut merged = Err("there is no such place".to_owned());
        self.places.update(given.place_id, |place| {
            merged = merge(place, &given.input.into());
            if let Ok(merged) = &merged {
                *place = merged.clone();
            }
        });
        json(&merged?)
    }

    /// List places.
    #[tool]
    fn list_places(&self, Parameters(given): Parameters<List>) -> Result<String, String> {
        let mut places = self.places.all();
        places.retain(|place| given.min_rating.is_none_or(|least| place.rating >= least));
        if given.by_name {
            places.sort_by(|one, other| one.name.cmp(&other.name));
        }
        places.truncate(given.first);
        json(&places)
    }

    /// Delete a place.
    #[tool]
    fn delete_place(&self, Parameters(given): Parameters<Delete>) -> Result<String, String> {
        json(&self.places.remove(given.place_id).ok_or("there is no such place")?)
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("places", "0.0.0"))
    }
}

fn merge(place: &Place, input: &Value) -> Result<Place, String> {
    let mut value = serde_json::to_value(place).map_err(|error| error.to_string())?;
    json_patch::merge(&mut value, input);
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn json<T: Serialize>(value: &T) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}
