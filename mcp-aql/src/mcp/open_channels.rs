//! Opens the channels to people when an adapter is served.

use crate::adapter::Adapter;
use crate::main_error::Result;

/// Starts the operator console, if the adapter has one, and logs a warning about channels that reach no
/// person. The console runs until the returned value is dropped.
pub(super) async fn open_channels(adapter: &Adapter) -> Result<impl Send> {
    let console = adapter.start_console().await?;
    adapter.warn_of_channels();
    Ok(console)
}
