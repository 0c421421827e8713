//! Finds the secrets in a configuration and masks them in output.
//!
//! - [`is_secret_name`]: recognizes the names of secrets, such as `API_KEY`.
//! - [`PossibleSecret`]: a value of a configuration. Its functions `of_…` collect values from
//!   command lines, variables, headers and URLs.
//! - [`Masker`]: replaces secrets in every encoding in which they may occur.
//!
//! ```
//! use mcp_aql_client::secrets::{Masker, PossibleSecret};
//!
//! let found = PossibleSecret::of_command_line(["--token", "tok-1234", "--port", "8080"]);
//! let secrets = found.iter().filter(|value| value.is_secret);
//! let masker = Masker::new(secrets.map(|value| &*value.text));
//! assert_eq!(masker.mask("tok-1234 on 8080, tok%2D1234"), "*** on 8080, ***");
//! ```

mod forms;
mod masker;
mod names;
mod sources;

pub use masker::Masker;
pub use names::is_secret_name;
pub use sources::{PossibleSecret, percent_decoded};
