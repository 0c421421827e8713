//! Stands in for the limits on calls if the feature `limits` is off.

use std::sync::Arc;

use super::Limits;
use crate::adapter::Settings;
use crate::router::{EndpointProfile, Entry};
use crate::services::Services;

/// Returns no limits.
pub(super) fn limits(
    _: &[Entry],
    _: &EndpointProfile,
    _: &Settings,
    _: &Arc<Services>,
    _: &mut Vec<String>,
) -> Limits {
    Limits::default()
}
