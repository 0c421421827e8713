//! The operations of the greenhouse. Their doc comments are part of introspection.

use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use mcp_aql::encoding::Binary;
use mcp_aql::prelude::*;
use mcp_aql::query::SelectedFields;

use super::Garden;
use super::model::{Bed, Effect, Forecast, Link, NewBed, Point, Removed, Side, Watering};

/// Number of steps of a watering.
const STEPS: u32 = 5;
/// Duration of a step.
const STEP: Duration = Duration::from_millis(15);

#[operations]
impl Garden {
    /// Create a bed.
    #[operation(
        category = "CREATE",
        example = { "name": "By the door", "crop": "herbs", "planted": "2031-05-06" },
    )]
    fn create_bed(&self, #[param(group)] bed: NewBed) -> Bed {
        self.create(bed)
    }

    /// Get one bed by its identifier.
    #[operation(category = "READ", example = { "bed_id": "bed-7" })]
    fn get_bed(
        &self,
        /// The bed.
        bed_id: String,
        #[query(accept(preset))] fields: Fields<Bed>,
    ) -> Result<SelectedFields<Bed>, OperationError> {
        Ok(fields.of(self.bed(&bed_id)?))
    }

    /// List beds by their names.
    #[operation(
        category = "READ",
        example("what is dry, the longest first", {
            "filter": { "_computed.is_dry": true },
            "sort": { "field": "length", "order": "desc" },
            "first": 5,
        }),
        example("how many of each crop", {
            "aggregate": { "by_crop": { "group_by": "crop", "count": true } },
        }),
    )]
    fn list_beds(
        &self,
        #[query(accept(offset, page, preset))] query: CollectionQuery<Bed>,
    ) -> Result<Page<Bed>, OperationError> {
        query.run(self.listed())
    }

    /// Find beds by words of their names, tags and notes, the best match first.
    #[operation(category = "READ", example = { "query": "sunny", "first": 5 })]
    fn search_beds(&self, query: CollectionQuery<Bed>) -> Result<Page<Bed>, OperationError> {
        query.run(self.listed())
    }

    /// Change fields of a bed. Fields that `input` does not name keep their values, `null` removes.
    #[operation(
        category = "UPDATE",
        example = { "bed_id": "bed-7", "input": { "climate": { "humidity": 60 } } },
        example("only as I have read it", {
            "bed_id": "bed-7", "input": { "note": null }, "if_match": 1,
        }),
    )]
    fn update_bed(
        &self,
        /// The bed.
        bed_id: String,
        input: Update<Bed>,
        if_match: IfMatch<u64>,
    ) -> Result<Bed, OperationError> {
        self.change(&bed_id, |bed| {
            if_match.check(&bed.version)?;
            input.merge_into(bed);
            Ok(())
        })
    }

    /// Delete a bed permanently.
    #[operation(
        category = "DELETE",
        danger(
            level = "destructive",
            reasons = ["The bed and all that grows there is gone"],
            confirmation_message = "Delete bed '{bed_id}'?",
        ),
        example = { "bed_id": "bed-7" },
    )]
    fn delete_bed(
        &self,
        /// The bed.
        bed_id: String,
    ) -> Result<Removed, OperationError> {
        self.remove(&bed_id)?;
        Ok(Removed { bed_id })
    }

    /// Record the effect of a bed on another one.
    #[operation(
        category = "CREATE",
        rationale = "a relationship comes into being; gardeners say `link`",
        example = { "bed_id": "bed-7", "effect": "shades", "target_id": "bed-9" },
    )]
    fn link_beds(
        &self,
        /// The bed.
        bed_id: String,
        /// The effect on the other bed.
        effect: Effect,
        /// The other bed.
        target_id: String,
    ) -> Result<Link, OperationError> {
        self.link(Link { bed_id, effect, target_id })
    }

    /// Follow the effects of beds on each other.
    #[operation(category = "READ")]
    async fn query_relationships(
        &self,
        context: Context,
        query: RelationshipQuery<Bed>,
    ) -> Result<RelationshipGraph, OperationError> {
        query.run(self, &context).await
    }

    /// Water a bed.
    #[operation(
        category = "EXECUTE",
        lifecycle(cancel, retry, progress),
        example = { "bed_id": "bed-7", "litres": 12 },
    )]
    async fn execute_watering(
        &self,
        execution: ExecutionContext,
        /// The bed.
        bed_id: String,
        /// The amount of water in litres.
        #[param(default = 10, minimum = 1, maximum = 80)]
        litres: u32,
        /// Let the first attempt fail for lack of water.
        #[param(default = false)]
        fail: bool,
    ) -> Result<Watering, OperationError> {
        self.bed(&bed_id)?;
        for step in 1..=STEPS {
            tokio::select! {
                () = execution.cancelled() => break,
                () = tokio::time::sleep(STEP) => {}
            }
            execution.progress(step.into(), STEPS.into(), "watering").await;
            if fail && execution.attempt() == 1 {
                return Err(OperationError::permission_denied("the tank is empty"));
            }
        }
        Ok(Watering { bed_id, litres })
    }

    /// Get the weather forecast for the house.
    #[operation(category = "READ", example = {
        "place": "Home", "side": "north", "days": 2, "station": "5f1c0a52-8f4e-4d3b-9c3e-0a1b2c3d4e5f",
    })]
    fn get_forecast(
        &self,
        /// The name of the place.
        #[param(min_length = 2, max_length = 40)]
        place: String,
        /// The side of the house.
        #[param(default = "south")]
        side: Side,
        /// The number of days.
        #[param(default = 3, minimum = 1, maximum = 14)]
        days: u32,
        /// The altitude in metres.
        #[param(minimum = -430, maximum = 8849)]
        altitude: Option<f64>,
        /// The unit of the temperatures.
        #[param(default = "celsius", enum = ["celsius", "kelvin"])]
        unit: String,
        /// The former name of `days`.
        #[param(
            minimum = 1,
            maximum = 14,
            deprecated(replacement = "days", removal_date = "2031-05-06")
        )]
        span: Option<u32>,
        /// Postal code.
        #[param(pattern = "^[A-Z]{2}-[0-9]{4,6}$")]
        code: Option<String>,
        /// The first day.
        from: Option<NaiveDate>,
        /// The time of the forecast.
        known_at: Option<DateTime<Utc>>,
        /// The mail address of the requester.
        #[param(format = "email")]
        contact: Option<String>,
        /// The source of the measurements.
        #[param(format = "uri")]
        source: Option<String>,
        /// The weather station.
        #[param(format = "uuid")]
        station: Option<String>,
        /// The sensors to query.
        #[param(default = [1, 2], min_items = 1, max_items = 8)]
        sensors: Vec<u32>,
        /// Places inside the house.
        #[param(max_items = 4)]
        points: Option<Vec<Point>>,
        /// Return more details.
        #[param(default = false)]
        detailed: bool,
        /// The access key of the station.
        #[param(sensitive, min_length = 4, max_length = 64)]
        access_code: Option<String>,
    ) -> Forecast {
        let near = points.iter().flatten().map(|point| point.x.abs() + point.y.abs()).sum::<f64>();
        let known = [
            altitude.is_some(),
            code.is_some(),
            from.is_some(),
            known_at.is_some(),
            contact.is_some(),
            source.is_some(),
            station.is_some(),
            access_code.is_some(),
        ];
        let known = known.into_iter().filter(|known| *known).count();
        let zero = if unit == "kelvin" { 288.0 } else { 15.0 };
        Forecast {
            place,
            side,
            degrees: (0..span.unwrap_or(days)).map(|day| zero + f64::from(day) / 2.0).collect(),
            unit,
            sensors,
            remark: detailed.then(|| format!("{known} facts considered, {near} metres walked")),
        }
    }

    /// Get a picture of the house.
    #[operation(category = "READ")]
    fn get_picture(&self) -> Picture {
        Picture { image: Binary::new(b"\x00house\xff".to_vec(), "image/x-garden") }
    }

    /// Get the house.
    #[operation(category = "READ")]
    fn get_house(&self) -> House {
        House { name: "The greenhouse".to_owned(), beds: self.count() }
    }
}

/// The house as a whole.
#[derive(Debug, serde::Serialize, JsonSchema)]
pub(crate) struct House {
    /// The name of the house.
    name: String,
    /// The number of beds.
    beds: usize,
}

/// A picture.
#[derive(Debug, serde::Serialize, JsonSchema)]
pub(crate) struct Picture {
    /// The content of the image.
    image: Binary,
}
