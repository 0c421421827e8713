//! Opens the channels to people when an adapter is served, if the feature `console` is off.

use std::future::{Ready, ready};

use crate::adapter::Adapter;
use crate::main_error::Result;

/// Logs a warning about channels that reach no person.
pub(super) fn open_channels(adapter: &Adapter) -> Ready<Result> {
    adapter.warn_of_channels();
    ready(Ok(()))
}
