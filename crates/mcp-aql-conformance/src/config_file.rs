//! Loads and validates configuration files, and inserts environment variables into them.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::category::Mode;
use crate::checks;
use crate::config::{ConfigError, File};
use crate::files;
use crate::secrets::Secrets;
use crate::settings::MAX_TIME_LIMIT;
use crate::verbs::words_of;

impl File {
    /// Reads and parses a configuration file of at most 1 MiB.
    ///
    /// # Errors
    ///
    /// Returns [`ConfigError`] if the file cannot be read or its content is invalid.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        const MAX_BYTES: u64 = 1 << 20;
        let text = files::read(path, MAX_BYTES).map_err(|error| ConfigError::Unreadable {
            path: path.display().to_string(),
            reason: error.to_string(),
        })?;
        Self::parse(&text, |name| std::env::var(name).ok())
    }

    /// Parses a configuration.
    ///
    /// `${NAME}` in a string is replaced by the value that `variable` returns for `NAME`, so you can keep secrets out
    /// of the file.
    ///
    /// # Errors
    ///
    /// Returns [`ConfigError::Wrong`] if the content is invalid or a variable is missing.
    pub fn parse(
        text: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let mut value: Value =
            toml_edit::de::from_str(text).map_err(|error| ConfigError::Wrong(error.to_string()))?;
        let written = value.clone();
        let mut secrets = Vec::new();
        fill_in(&mut value, &variable, &mut secrets)?;
        let mut file: Self = serde_json::from_value(value).map_err(|_| {
            // Report the error of the original document: the filled-in one may contain secrets.
            ConfigError::Wrong(match serde_json::from_value::<Self>(written) {
                Err(error) => error.to_string(),
                Ok(_) => {
                    "a setting does not accept the value of the environment variable that it names"
                        .to_owned()
                }
            })
        })?;
        file.secrets.extend(secrets);
        file.reading_verbs = reading_verbs(&file)?;
        for (name, seconds) in [
            ("request_seconds", file.limits.request_seconds),
            ("run_seconds", file.limits.run_seconds),
        ] {
            if seconds.is_some_and(|seconds| !(1..=MAX_TIME_LIMIT.as_secs()).contains(&seconds)) {
                return Err(ConfigError::Wrong(format!(
                    "`{name}` is a number of seconds, 1 to {}",
                    MAX_TIME_LIMIT.as_secs()
                )));
            }
        }
        for (mode, reach) in &file.modes {
            if *mode == Mode::All {
                return Err(ConfigError::Wrong(
                    "`[modes.all]` is never used: write `[modes.semantic]` or `[modes.single]`"
                        .to_owned(),
                ));
            }
            if reach.command.is_empty() == reach.url.is_none() {
                return Err(ConfigError::Wrong(format!(
                    "`[modes.{mode}]` has either a `command`, a list of words, or a `url`"
                )));
            }
        }
        for left_out in &file.skip {
            if left_out.operation.is_some() == left_out.check.is_some() {
                return Err(ConfigError::Wrong(
                    "each `[[skip]]` names one `operation` or one `check`".to_owned(),
                ));
            }
            if let Some(check) = &left_out.check
                && !checks::all().any(|known| known.id == check)
            {
                let check = Secrets::new(file.secrets.clone()).masked(check);
                return Err(ConfigError::Wrong(format!("`{check}` is not a check")));
            }
        }
        Ok(file)
    }
}

/// Returns the configured verbs in lower case, the form used for comparing them with names of operations.
fn reading_verbs(file: &File) -> Result<BTreeSet<String>, ConfigError> {
    let verbs = file.reading_verbs.iter().map(|verb| match words_of(verb).as_slice() {
        [word] if *word == verb.to_lowercase() => Ok(word.clone()),
        _ => {
            let verb = Secrets::new(file.secrets.clone()).masked(verb);
            Err(ConfigError::Wrong(format!(
                "`{verb}` in `reading_verbs` is not one word: write the first word of the names, such as \
                 `render`, or whole names in `reading_operations`"
            )))
        }
    });
    verbs.collect()
}

/// Replaces `${NAME}` in all strings by environment variables and collects their values as secrets.
///
/// With the variable `BILLING_TEST_KEY`, this value is its content:
///
/// ```toml
/// [values]
/// api_key = "${BILLING_TEST_KEY}"
/// ```
fn fill_in(
    value: &mut Value,
    variable: &impl Fn(&str) -> Option<String>,
    secrets: &mut Vec<String>,
) -> Result<(), ConfigError> {
    match value {
        Value::String(text) => {
            let written = text.clone();
            while let Some((before, rest)) = text.split_once("${") {
                let Some((name, after)) = rest.split_once('}') else {
                    return Err(ConfigError::Wrong(format!(
                        "`{written}` has a `${{` without a closing `}}`"
                    )));
                };
                let Some(found) = variable(name) else {
                    return Err(ConfigError::Wrong(format!(
                        "the environment variable `{name}` is not set"
                    )));
                };
                // A value that contains `${` would be expanded again by the next iteration.
                if found.contains("${") {
                    return Err(ConfigError::Wrong(format!(
                        "the value of the variable `{name}` contains `${{`: set it to a value without \
                         references"
                    )));
                }
                *text = format!("{before}{found}{after}");
                secrets.push(found);
            }
            Ok(())
        }
        Value::Array(items) => {
            items.iter_mut().try_for_each(|item| fill_in(item, variable, secrets))
        }
        Value::Object(members) => {
            members.values_mut().try_for_each(|member| fill_in(member, variable, secrets))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::settings::{Settings, TimeLimits};

    #[test]
    fn reading_verbs_are_single_words_in_any_case() {
        let parse = |verb: &str| File::parse(&format!("reading_verbs = ['{verb}']"), |_| None);
        for verb in ["render", "Render", "RENDER"] {
            let verbs = parse(verb).unwrap().reading_verbs;
            assert_eq!(verbs.into_iter().collect::<Vec<_>>(), ["render"], "{verb}");
        }
        for verb in ["render_all", "renderAll", "render all", "render_", "render*", ""] {
            let error = parse(verb).unwrap_err().to_string();
            assert!(error.contains("is not one word"), "{verb}: {error}");
        }
    }

    #[test]
    fn errors_do_not_contain_values_of_variables() {
        let variable = |name: &str| (name == "KEY").then(|| "s3cret".to_owned());
        for text in [
            "allow = ['${KEY}']",
            "allow = ['create', '${KEY}']",
            "[limits]\nrequest_seconds = '${KEY}'",
            "[values]\na = '${KEY} ${'",
            "[[skip]]\ncheck = '${KEY}'\nreason = ''",
        ] {
            let error = File::parse(text, variable).expect_err(text).to_string();
            assert!(!error.contains("s3cret"), "{text}: {error}");
        }
        let forever = TimeLimits { request: Duration::ZERO, run: Duration::MAX };
        let limits = Settings::default().time_limits(forever).limits();
        assert!(
            !limits.request.is_zero()
                && tokio::time::Instant::now().checked_add(limits.run).is_some()
        );
        let file = File::parse("secrets = ['own']\n[values]\na = '<${KEY}>'", variable);
        assert_eq!(file.expect("it is right").secrets, ["own", "s3cret"]);
    }
}
