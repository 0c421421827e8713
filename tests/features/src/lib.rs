//! Empty: the tests of features that are off are in `compile_errors.rs` and `messages.rs`.
