//! Code without compiler warnings. As cases of trybuild, these files would have to be built and linked, but
//! the failing ones in `tests/ui` are only checked.

mod argument_types;
mod declared_danger;
mod everything_unusual;
