//! The rate limits of an adapter.

use super::AdapterBuilder;
use crate::limits::{LimitsExtension, RateLimits};

impl AdapterBuilder {
    /// Sets rate limits and quotas, which are counted in the [store](Self::store). Default: none
    /// (REQ-RATE-01).
    pub fn rate_limits(self, limits: RateLimits) -> Self {
        self.extension(LimitsExtension(Some(limits)))
    }
}
