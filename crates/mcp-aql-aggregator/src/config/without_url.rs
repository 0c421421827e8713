//! Stand-in for the check of URLs if the feature `http` is off.

/// Rejects every URL.
pub(super) fn check_url(_: &str, _: &[String]) -> Result<(), String> {
    Err("this build does not support HTTP: enable the feature `http`".to_owned())
}
