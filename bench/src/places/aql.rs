//! Implements the operations on places as an mcp-aql adapter.

use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

/// A place on the map.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
pub struct Place {
    /// Number of the place.
    #[resource(id)]
    place_id: u64,
    /// Name of the place.
    #[resource(search, sort)]
    name: String,
    /// From 1 to 5.
    #[resource(filter, sort, numeric)]
    #[param(minimum = 1, maximum = 5)]
    rating: u8,
    /// Address of the place.
    address: Address,
}

/// An address.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub struct Address {
    /// Street and number.
    street: String,
    /// Town.
    town: String,
    /// Position on the globe.
    position: Position,
}

/// A position on the globe.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub struct Position {
    /// In degrees.
    latitude: f64,
    /// In degrees.
    longitude: f64,
}

#[operations]
impl super::Places<Place> {
    /// Add a place.
    #[operation(category = "CREATE")]
    fn create_place(
        &self,
        /// Name of the place.
        name: String,
        /// From 1 to 5.
        #[param(minimum = 1, maximum = 5)]
        rating: u8,
        /// Address of the place.
        address: Address,
    ) -> Place {
        self.add(|place_id| Place { place_id, name, rating, address })
    }

    /// Change a place.
    #[operation(category = "UPDATE")]
    fn update_place(
        &self,
        /// Number of the place.
        place_id: u64,
        input: Update<Place>,
    ) -> Result<Place, OperationError> {
        self.update(place_id, |place| input.merge_into(place)).ok_or_else(|| missing(place_id))
    }

    /// List places.
    #[operation(category = "READ")]
    fn list_places(&self, query: CollectionQuery<Place>) -> Result<Page<Place>, OperationError> {
        query.run(self.all())
    }

    /// Delete a place.
    #[operation(category = "DELETE")]
    fn delete_place(
        &self,
        /// Number of the place.
        place_id: u64,
    ) -> Result<Place, OperationError> {
        self.remove(place_id).ok_or_else(|| missing(place_id))
    }
}

fn missing(place_id: u64) -> OperationError {
    OperationError::not_found("place", place_id)
}

/// Builds the adapter, without any places.
///
/// # Errors
///
/// Returns an error if the operations are inconsistent.
pub fn adapter() -> Result<Adapter, mcp_aql::BuildError> {
    Adapter::builder("places")
        .operations(super::Places::<Place>::default())
        // Every deletion requests a confirmation, so raise the limit.
        .confirmations_per_minute(10_000)
        .build()
}
