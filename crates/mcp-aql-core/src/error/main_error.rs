//! The error returned by the `main` function of an adapter.

use std::fmt;

use crate::error::build_error::BuildError;

/// An error that occurred while an adapter was built or running.
///
/// `Debug` prints the same message as `Display`, so that `fn main() -> mcp_aql::Result<()>` prints a readable
/// sentence. Your own errors convert with `?` if they derive [`OperationError`](derive@crate::OperationError).
/// Convert all others with [`Error::other`].
///
/// ```
/// # fn main() -> mcp_aql::Result<()> {
/// let port: u16 = "8787".parse().map_err(mcp_aql::Error::other)?;
/// # assert_eq!(port, 8787);
/// # Ok(()) }
/// ```
#[non_exhaustive]
pub enum Error {
    /// The adapter cannot start.
    Build(BuildError),
    /// An I/O error.
    Io(std::io::Error),
    /// The other side does not speak MCP, or the connection failed.
    Transport(Box<dyn std::error::Error + Send + Sync>),
    /// The command-line arguments are invalid. The message names the valid ones.
    Usage(String),
    /// An error of your own code.
    Other(Box<dyn std::error::Error + Send + Sync>),
}

/// The result of an adapter's `main` function: `mcp_aql::Result<()>`.
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

impl Error {
    /// Wraps any error, or a message.
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Other(error.into())
    }

    #[doc(hidden)]
    pub fn transport(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Transport(error.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Build(error) => error.fmt(formatter),
            Self::Io(error) => error.fmt(formatter),
            Self::Usage(message) => formatter.write_str(message),
            Self::Transport(error) => write!(formatter, "the MCP connection failed: {error}"),
            Self::Other(error) => {
                error.fmt(formatter)?;
                let mut cause = error.source();
                while let Some(error) = cause {
                    write!(formatter, ": {error}")?;
                    cause = error.source();
                }
                Ok(())
            }
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Build(error) => Some(error),
            Self::Io(error) => Some(error),
            // The message includes the causes already.
            Self::Transport(_) | Self::Usage(_) | Self::Other(_) => None,
        }
    }
}

impl From<BuildError> for Error {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Box<dyn std::error::Error + Send + Sync>> for Error {
    fn from(error: Box<dyn std::error::Error + Send + Sync>) -> Self {
        Self::Other(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_reads_like_display() {
        let error = Error::other("the data base is locked");
        assert_eq!(format!("{error:?}"), "the data base is locked");
        let error = Error::from(std::io::Error::other("no"));
        assert_eq!(format!("{error:?}"), error.to_string());
    }
}
