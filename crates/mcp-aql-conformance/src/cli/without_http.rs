//! Stand-in for the target of `--url` in a build without HTTP.

use std::sync::Arc;

use mcp_aql_conformance::{ConfigError, File, Target};

/// Returns an error that names the missing feature.
pub(super) fn at_url(
    url: &str,
    _file: &File,
    _headers: &[String],
) -> Result<Arc<dyn Target>, ConfigError> {
    Err(ConfigError::Wrong(format!(
        "the URL `{url}` needs HTTP, which is not built in: build with the cargo feature `http`"
    )))
}
