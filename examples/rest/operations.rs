//! The operations on parcels, and the HTTP requests that implement them.

use mcp_aql::prelude::*;
use serde::de::DeserializeOwned;

use crate::api::{self, Answer, ApiError, ParcelApi};
use crate::error::About;
use crate::model::{Deleted, NewParcel, Parcel, ParcelSummary, Position};

/// The operations on parcels. They share one HTTP client.
pub(crate) struct Parcels {
    api: ParcelApi,
}

impl Parcels {
    /// Creates the operations of a service.
    pub(crate) fn new(api: ParcelApi) -> Self {
        Self { api }
    }
}

// When a caller disconnects, the framework drops the future of a READ. This also drops the HTTP request and closes its
// connection. All other operations run until they are done or `--patience` ends, because after an aborted POST it is
// unknown if it took effect.

#[operations]
impl Parcels {
    /// Hand in a parcel.
    #[operation(category = "CREATE", example = {
        "reference": "order-17", "weight_g": 1200,
        "recipient": { "name": "Ada", "street": "Main Street 1", "city": "London" },
    })]
    async fn create_parcel(
        &self,
        #[param(group)] parcel: NewParcel,
    ) -> Result<Parcel, OperationError> {
        let body = serde_json::to_string(&parcel).map_err(OperationError::internal)?;
        let answer = self.api.post(&["parcels"], body).await;
        parcel_of(answer).map_err(|error| error.explain(About::parcel(&parcel.reference)))
    }

    /// List all parcels.
    #[operation(category = "READ")]
    async fn list_parcels(&self) -> Result<Vec<ParcelSummary>, OperationError> {
        let answer = self.api.get(&["parcels"]).await;
        json_of(answer).map_err(|error| error.explain(About::all()))
    }

    /// Get one parcel by its identifier.
    #[operation(category = "READ", example = { "parcel_id": "p-1" })]
    async fn get_parcel(
        &self,
        /// The parcel.
        // The value becomes part of a path, so the pattern is strict.
        #[param(pattern = "^p-[0-9]{1,9}$")]
        parcel_id: String,
    ) -> Result<Parcel, OperationError> {
        let answer = self.api.get(&["parcels", &parcel_id]).await;
        parcel_of(answer).map_err(|error| error.explain(About::parcel(&parcel_id)))
    }

    /// Request the position of a parcel from the carrier. Takes as long as the carrier does.
    #[operation(category = "READ", example = { "parcel_id": "p-1" })]
    async fn get_position(
        &self,
        context: Context,
        /// The parcel.
        #[param(pattern = "^p-[0-9]{1,9}$")]
        parcel_id: String,
    ) -> Result<Position, OperationError> {
        let answer = self.api.get(&["parcels", &parcel_id, "position"]).await;
        if let Err(ApiError::Refused(refusal)) = &answer {
            refusal.heed(&context).await?;
        }
        json_of(answer).map_err(|error| error.explain(About::parcel(&parcel_id)))
    }

    /// Change fields of a waiting parcel. Fields that `input` omits stay unchanged, `null` removes a value.
    #[operation(
        category = "UPDATE",
        example("change only the street",
            { "parcel_id": "p-4", "input": { "recipient": { "street": "Main Street 2" } } }),
        example("only if the parcel is unchanged",
            { "parcel_id": "p-4", "input": { "note": null }, "if_match": "1" }),
    )]
    async fn update_parcel(
        &self,
        /// The parcel.
        #[param(pattern = "^p-[0-9]{1,9}$")]
        parcel_id: String,
        input: Update<Parcel>,
        if_match: IfMatch<String>,
    ) -> Result<Parcel, OperationError> {
        let if_match = if_match.expected().map(String::as_str);
        // The value becomes part of a header. Reject it here if it could not be sent.
        if if_match.is_some_and(|version| !api::is_etag(version)) {
            let expectation = "must be the '_etag' of a parcel from a reply";
            return Err(OperationError::invalid_value("if_match", expectation));
        }
        // An `Update` already has the form of a merge patch. The service merges it.
        let patch = input.to_merge_patch().to_string();
        let answer = self.api.patch(&["parcels", &parcel_id], patch, if_match).await;
        parcel_of(answer).map_err(|error| match error.status() {
            Some(409) => under_way(error),
            _ => error.explain(About { parcel: Some(&parcel_id), prefix: "input.", if_match }),
        })
    }

    /// Withdraw a waiting parcel.
    #[operation(
        category = "DELETE",
        danger(
            level = "destructive",
            reasons = ["The parcel is returned to its sender"],
            confirmation_message = "Withdraw parcel '{parcel_id}'?",
        ),
        example = { "parcel_id": "p-4" },
    )]
    async fn delete_parcel(
        &self,
        /// The parcel.
        #[param(pattern = "^p-[0-9]{1,9}$")]
        parcel_id: String,
    ) -> Result<Deleted, OperationError> {
        match self.api.delete(&["parcels", &parcel_id]).await {
            Ok(_) => Ok(Deleted { parcel_id }),
            Err(error) if error.status() == Some(409) => Err(under_way(error)),
            Err(error) => Err(error.explain(About::parcel(&parcel_id))),
        }
    }
}

/// Converts a 409 for an existing parcel. Its meaning depends on the operation, so `error.rs` cannot map it.
fn under_way(error: ApiError) -> OperationError {
    OperationError::permission_denied("the parcel is no longer waiting; nothing was changed")
        .with_cause(error)
}

fn json_of<T: DeserializeOwned>(answer: Result<Answer, ApiError>) -> Result<T, ApiError> {
    answer?.json()
}

/// Deserializes a parcel and adds its version from the `ETag` header.
fn parcel_of(answer: Result<Answer, ApiError>) -> Result<Parcel, ApiError> {
    let mut answer = answer?;
    let etag = answer.etag.take();
    Ok(Parcel { etag, ..answer.json()? })
}
