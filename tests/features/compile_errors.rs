//! Tests that each use of a disabled feature causes exactly one compile error, and that it names the feature.

#[test]
fn a_use_of_a_feature_that_is_off_is_one_error() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("ui/*.rs");
}
