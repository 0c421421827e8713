//! Each use of what a feature adds is one error that names the feature, where the feature is off.

#[test]
fn a_use_of_a_feature_that_is_off_is_one_error() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("ui/*.rs");
}
