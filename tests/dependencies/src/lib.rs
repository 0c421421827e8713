//! Selects dependencies with all of their features. The manifest explains why.
