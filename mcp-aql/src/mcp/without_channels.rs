//! Stands in for the channels to people if the feature `safety` is off.

use std::future::{Ready, ready};

use crate::adapter::Adapter;
use crate::main_error::Result;

/// Does nothing.
pub(super) fn open_channels(_: &Adapter) -> Ready<Result> {
    ready(Ok(()))
}
