//! The versions of records.

use chrono::{DateTime, Utc};
use mcp_aql_core::internal::operation::Call;
use mcp_aql_core::internal::schema::ParameterSpec;
use mcp_aql_core::{OperationError, ParamGroup};

/// The type of a field `_version` or `_etag`. Every change of the resource sets it.
///
/// Source: MCP-AQL §9.3.2 (REQ-CON-02).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the version of a resource with ready operations",
    label = "not a version",
    note = "a version is a whole number such as `u64`, or a `DateTime<Utc>`; implement `Version` for a type of your own"
)]
pub trait Version {
    /// Sets the next version.
    fn advance(&mut self);
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Version for $number {
            fn advance(&mut self) {
                *self = self.wrapping_add(1);
            }
        }
    )*};
}

numbers!(u32, u64, i32, i64);

impl Version for DateTime<Utc> {
    fn advance(&mut self) {
        // Two changes can happen within one tick of the clock.
        let next = self.checked_add_signed(chrono::TimeDelta::microseconds(1));
        *self = Utc::now().max(next.unwrap_or(DateTime::<Utc>::MIN_UTC));
    }
}

/// The parameter `if_match` of a resource without a version: no parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoVersion;

impl ParamGroup for NoVersion {
    const PARAMETERS: &'static [ParameterSpec] = &[];

    fn decode(_call: &mut Call) -> Result<Self, OperationError> {
        Ok(Self)
    }
}
