//! What a parcel is. The names are those of the service, so that an update can go out as it came in.

use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

/// A parcel.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, UpdateInput)]
pub(crate) struct Parcel {
    /// Identifier, assigned by the service.
    #[resource(id)]
    pub(crate) parcel_id: String,
    /// The sender's own word for it; no two parcels share one.
    #[resource(read_only)]
    pub(crate) reference: String,
    /// Where it goes.
    pub(crate) recipient: Recipient,
    /// Weight in grams.
    #[param(minimum = 1)]
    pub(crate) weight_g: u32,
    /// What the carrier should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(max_length = 200)]
    pub(crate) note: Option<String>,
    /// How far it is.
    #[resource(read_only)]
    pub(crate) status: Status,
    /// Who carries it.
    #[resource(read_only)]
    pub(crate) carrier: String,
    /// Changes with every change; give it back as `if_match`.
    // The service says it in a header.
    #[resource(read_only)]
    #[serde(rename = "_etag", default, skip_serializing_if = "Option::is_none")]
    pub(crate) etag: Option<String>,
}

/// Where a parcel goes.
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
    /// Whom to call; the service wants it for parcels over 20 kg.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(pattern = "^[+]?[0-9 ]{3,20}$")]
    pub(crate) phone: Option<String>,
}

/// How far a parcel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// Not picked up yet.
    Waiting,
    /// Under way.
    Moving,
    /// Where it should be.
    Delivered,
}

/// What a new parcel starts with: the parameters of `create_parcel`, and the body of its request.
#[derive(Debug, Serialize, ParamGroup)]
pub(crate) struct NewParcel {
    /// Your own word for it; no two parcels share one.
    #[param(pattern = "^[A-Za-z0-9-]{1,40}$")]
    pub(crate) reference: String,
    /// Where it goes.
    pub(crate) recipient: Recipient,
    /// Weight in grams.
    #[param(minimum = 1)]
    pub(crate) weight_g: u32,
    /// What the carrier should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(max_length = 200)]
    pub(crate) note: Option<String>,
}

/// A parcel in a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ParcelSummary {
    /// Identifier.
    pub(crate) parcel_id: String,
    /// The sender's own word for it.
    pub(crate) reference: String,
    /// How far it is.
    pub(crate) status: Status,
}

/// Where a parcel was last seen.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Position {
    /// The place.
    pub(crate) place: String,
    /// Kilometres to go.
    pub(crate) km_to_go: u32,
}

/// What remains of a withdrawn parcel.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Deleted {
    /// The parcel that is gone.
    pub(crate) parcel_id: String,
}
