//! If a feature is off, each use of it is one compile error that names the feature.

#[test]
fn a_use_of_a_feature_that_is_off_is_one_error() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("ui/*.rs");
}
