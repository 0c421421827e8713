//! Tests the measurements.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

mod smoke;
