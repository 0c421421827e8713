//! Assertions that run the conformance checks against an adapter in this process.

use mcp_aql_conformance::{MemoryTarget, Mode, Report, Runner, Settings};
use mcp_aql_core::{Adapter, BuildError, EndpointMode};

use crate::stdio::ServeStream as _;

/// Runs the conformance checks against an adapter in both endpoint modes. Panics with the report unless the adapter
/// reaches level 2.
///
/// **The checks call every operation** of all categories, with values generated from the parameter definitions. They
/// also update and delete the resources that they create. Calls with irreversible effects are not limited, so pass an
/// adapter with a separate store and separate services for the test. The limit on confirmation tokens is lifted during
/// the run.
///
/// Use [`assert_conforms_with`] to restrict the calls, to check level 1 only, or to provide values that cannot be
/// generated.
///
/// ```
/// use mcp_aql::prelude::*;
///
/// /// Double a number.
/// #[operation(category = "READ", rationale = "it computes and stores nothing")]
/// fn double(
///     /// The number.
///     #[param(minimum = 0, maximum = 1000)]
///     number: i64,
/// ) -> i64 {
///     number * 2
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> mcp_aql::Result<()> {
/// let adapter = Adapter::builder("numbers").operation(double {}).without_config().build()?;
/// mcp_aql::testing::assert_conforms(&adapter).await;
/// # Ok(()) }
/// ```
///
/// # Panics
///
/// Panics with the report if a MUST requirement fails or the level is not reached. Warnings are ignored.
pub async fn assert_conforms(adapter: &Adapter) {
    assert_conforms_with(adapter, Settings::default().allow_all()).await;
}

/// Runs the checks of [`assert_conforms`] with your own settings: the level, the categories of operations to run, and a
/// configuration file. By default, only READ operations run.
///
/// ```
/// use mcp_aql::prelude::*;
/// use mcp_aql::testing::{assert_conforms_with, conformance::{Category, File, Settings}};
///
/// /// Measure the length of a text.
/// #[operation(category = "READ")]
/// fn measure_text(
///     /// The text.
///     #[param(max_length = 1000)]
///     text: String,
/// ) -> usize {
///     text.chars().count()
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let adapter = Adapter::builder("texts").operation(measure_text {}).without_config().build()?;
/// let file = File::parse("[params.measure_text]\ntext = 'Ship it'", |_| None)?;
/// let settings = Settings::default().level(1).allow(Category::Create).file(file);
/// assert_conforms_with(&adapter, settings).await;
/// # Ok(()) }
/// ```
///
/// # Panics
///
/// Panics in the same cases as [`assert_conforms`].
#[expect(clippy::panic, reason = "that is what an assertion does")]
pub async fn assert_conforms_with(adapter: &Adapter, settings: Settings) {
    let report = match conformance_report(adapter, settings).await {
        Ok(report) => report,
        Err(problems) => panic!("the adapter cannot be put together in the other mode: {problems}"),
    };
    assert!(
        report.exit_code() != 1 && report.conformance_level >= report.requested_level,
        "the adapter does not conform\n\n{}",
        report.text(false)
    );
}

/// Runs the checks of [`assert_conforms`] and returns their report. Use this in tests that also reject warnings, or
/// that run the checks of a single category. A single category does not establish a level.
///
/// ```
/// # use mcp_aql::Adapter;
/// use mcp_aql::testing::{conformance::Settings, conformance_report};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> mcp_aql::Result<()> {
/// let adapter = Adapter::builder("empty").without_config().build()?;
/// let report = conformance_report(&adapter, Settings::default().category("wire")).await?;
/// assert_eq!(report.summary.failed + report.summary.warnings, 0, "{}", report.text(false));
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// Returns a [`BuildError`] if the adapter cannot be built in the other mode, for instance because its audit log can be
/// opened only once.
pub async fn conformance_report(
    adapter: &Adapter,
    settings: Settings,
) -> Result<Report, BuildError> {
    let first = adapter.in_mode(adapter.settings().mode)?;
    let semantic = adapter.in_mode(EndpointMode::Semantic)?;
    let single = adapter.in_mode(EndpointMode::Single)?;
    let target = MemoryTarget::new(adapter.parts().name.clone(), move |mode, stream| {
        let adapter = match mode {
            Some(Mode::Semantic) => &semantic,
            Some(Mode::Single) => &single,
            _ => &first,
        };
        let adapter = adapter.clone();
        // The runner reports how the connection ends, so the result is not needed here.
        tokio::spawn(async move { adapter.serve(stream).await });
    });
    Ok(Runner::new(target, settings.isolated()).run().await)
}
