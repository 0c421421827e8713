//! Parcels. The field names are those of the service, so that an update can be forwarded unchanged.

use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

/// A parcel.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub(crate) struct Parcel {
    /// Identifier, assigned by the service.
    #[resource(id)]
    pub(crate) parcel_id: String,
    /// The sender's reference; unique among parcels.
    #[resource(read_only)]
    pub(crate) reference: String,
    /// Destination.
    pub(crate) recipient: Recipient,
    /// Weight in grams.
    #[param(minimum = 1)]
    pub(crate) weight_g: u32,
    /// Note for the carrier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(max_length = 200)]
    pub(crate) note: Option<String>,
    /// State of the delivery.
    #[resource(read_only)]
    pub(crate) status: Status,
    /// Carrier.
    #[resource(read_only)]
    pub(crate) carrier: String,
    /// Version, which differs after every change; send it as `if_match`.
    // The service sends the version in the `ETag` header, not in the body.
    #[resource(read_only)]
    #[serde(rename = "_etag", default, skip_serializing_if = "Option::is_none")]
    pub(crate) etag: Option<String>,
}

/// The destination of a parcel.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub(crate) struct Recipient {
    /// Name on the door.
    #[param(min_length = 1, max_length = 100)]
    pub(crate) name: String,
    /// Street and number.
    #[param(min_length = 1, max_length = 100)]
    pub(crate) street: String,
    /// City.
    #[param(min_length = 1, max_length = 100)]
    pub(crate) city: String,
    /// Phone number; required for parcels over 20 kg.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(pattern = "^[+]?[0-9 ]{3,20}$")]
    pub(crate) phone: Option<String>,
}

/// The state of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// Not picked up yet.
    Waiting,
    /// In transit.
    Moving,
    /// Delivered.
    Delivered,
}

/// The fields of a new parcel: the parameters of `create_parcel`, and the body of its request.
#[derive(Debug, Serialize, ParamGroup)]
pub(crate) struct NewParcel {
    /// Your reference; unique among parcels.
    #[param(pattern = "^[A-Za-z0-9-]{1,40}$")]
    pub(crate) reference: String,
    /// Destination.
    pub(crate) recipient: Recipient,
    /// Weight in grams.
    #[param(minimum = 1)]
    pub(crate) weight_g: u32,
    /// Note for the carrier.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(max_length = 200)]
    pub(crate) note: Option<String>,
}

/// A parcel in a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ParcelSummary {
    /// Identifier.
    pub(crate) parcel_id: String,
    /// The sender's reference.
    pub(crate) reference: String,
    /// State of the delivery.
    pub(crate) status: Status,
}

/// The last known position of a parcel.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Position {
    /// The place.
    pub(crate) place: String,
    /// Remaining distance in kilometres.
    pub(crate) km_to_go: u32,
}

/// The result of withdrawing a parcel.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Deleted {
    /// Identifier of the withdrawn parcel.
    pub(crate) parcel_id: String,
}
