//! Builds adapters again from the same parts with other settings.

use std::path::PathBuf;
use std::sync::Arc;

use super::assemble::assemble;
use super::config::{self, ConfigSource};
use super::{Adapter, BuildError, Parts, Settings};
use crate::router::EndpointMode;

/// Builds an adapter with the settings of the builder and a configuration.
pub(super) fn build_from(parts: Arc<Parts>, source: &ConfigSource) -> Result<Adapter, BuildError> {
    let mut problems = Vec::new();
    let settings = config::resolve(parts.settings.clone(), &parts.name, source, &mut problems);
    let adapter = assemble(parts, settings, problems)?;
    adapter.log_notices();
    Ok(adapter)
}

impl Adapter {
    /// Builds the same adapter with this configuration file, as if you had called
    /// [`AdapterBuilder::config_file`](super::AdapterBuilder::config_file).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`AdapterBuilder::build`](super::AdapterBuilder::build).
    pub fn with_config_file(&self, path: impl Into<PathBuf>) -> Result<Self, BuildError> {
        let adapter = build_from(Arc::clone(&self.inner.parts), &ConfigSource::File(path.into()))?;
        Ok(Self { extensions: self.extensions.clone(), ..adapter })
    }

    /// Builds the same adapter for the conformance runner: with the tools of another mode, its own services, and enough
    /// confirmation tokens for a whole run.
    #[doc(hidden)]
    pub fn in_mode(&self, mode: EndpointMode) -> Result<Self, BuildError> {
        /// A run of five minutes uses fewer tokens, with any number of operations.
        const PER_MINUTE: usize = 1_000_000;
        let mut settings = Settings { mode, ..Settings::clone(&self.settings) };
        settings.gate.per_minute = settings.gate.per_minute.max(PER_MINUTE);
        settings.gate.per_minute_without_session = None;
        let adapter = assemble(Arc::clone(&self.inner.parts), settings, Vec::new())?;
        Ok(Self { extensions: self.extensions.clone(), ..adapter })
    }
}
