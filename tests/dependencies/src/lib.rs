//! Selects dependencies with all of their features, see the manifest.
