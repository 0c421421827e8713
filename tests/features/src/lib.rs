//! This library is empty. The tests of disabled features are in `compile_errors.rs` and `messages.rs`.
