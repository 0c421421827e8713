//! Selects dependencies with all of their features, so that all checks build them once. The manifest explains the
//! details.
