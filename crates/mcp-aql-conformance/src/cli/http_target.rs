//! The target of `--url`.

use std::sync::Arc;

use mcp_aql_conformance::{ConfigError, File, Target, UrlTarget};

/// Creates the target with the headers of the configuration file and of the command line.
pub(super) fn at_url(
    url: &str,
    file: &File,
    headers: &[String],
) -> Result<Arc<dyn Target>, ConfigError> {
    let mut target = UrlTarget::new(url)?;
    for (name, value) in &file.headers {
        target = target.header(name, value)?;
    }
    for header in headers {
        let Some((name, value)) = header.split_once(':') else {
            // The header may be a secret, so the message does not include it.
            return Err(ConfigError::Wrong(
                "a `--header` has no colon: write `--header 'Name: value'`".to_owned(),
            ));
        };
        target = target.header(name.trim(), value.trim())?;
    }
    Ok(Arc::new(target))
}
