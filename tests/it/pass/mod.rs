//! What compiles without a warning, in contrast to the cases in `tests/ui`. trybuild would build these, while it only checks
//! the others.

mod argument_types;
mod declared_danger;
mod everything_unusual;
