//! The conformance runner over an adapter in this process.

use mcp_aql_conformance::{MemoryTarget, Mode, Report, Runner, Settings};

use crate::adapter::{Adapter, BuildError};
use crate::router::EndpointMode;

/// Runs the conformance runner's checks against an adapter, in both endpoint modes, and panics with what
/// was found unless the adapter shows level 2.
///
/// **Everything is called**: operations of all categories, with values made from what the adapter says of
/// its parameters, and what is created is changed and deleted again. Give it an adapter of the test's own,
/// over a store and services of the test's own. The number of confirmation tokens is not limited meanwhile.
/// [`assert_conforms_with`] lets less run, asks for level 1, and takes values that cannot be made up.
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
/// When a MUST failed, or the level is not shown: with the report as text. A warning is no reason.
pub async fn assert_conforms(adapter: &Adapter) {
    assert_conforms_with(adapter, Settings::default().allow_all()).await;
}

/// As [`assert_conforms`], as far as these settings go: the level, which categories of operations may run,
/// and what a configuration file would say. The settings allow READ operations alone, unless they say more.
///
/// ```
/// use mcp_aql::prelude::*;
/// use mcp_aql::testing::{assert_conforms_with, conformance::{Category, File, Settings}};
///
/// /// Tell how long a text is.
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
/// As [`assert_conforms`].
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

/// Runs the same checks, and gives their report: for a test that wants no warnings either, or that runs the
/// checks of one category alone, which shows no level.
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
/// [`BuildError`] when the adapter cannot be put together in the other mode: its audit log can be opened
/// once only, say.
pub async fn conformance_report(
    adapter: &Adapter,
    settings: Settings,
) -> Result<Report, BuildError> {
    let first = adapter.in_mode(adapter.inner.settings.mode)?;
    let semantic = adapter.in_mode(EndpointMode::Semantic)?;
    let single = adapter.in_mode(EndpointMode::Single)?;
    let target = MemoryTarget::new(adapter.inner.parts.name.clone(), move |mode, stream| {
        let adapter = match mode {
            Some(Mode::Semantic) => &semantic,
            Some(Mode::Single) => &single,
            _ => &first,
        };
        let adapter = adapter.clone();
        // How a connection ends is the runner's to see.
        tokio::spawn(async move { adapter.serve(stream).await });
    });
    Ok(Runner::new(target, settings).run().await)
}
