//! The samples of the book and of the README, compiled and run by `cargo test`.
//!
//! A new chapter gets a line here; the check `structure` fails if one is missing.

macro_rules! chapters {
    ($($name:ident: $file:literal,)*) => {
        $(
            #[doc = include_str!($file)]
            mod $name {}
        )*
    };
}

chapters! {
    readme: "../README.md",
    introduction: "src/introduction.md",
    getting_started: "src/getting-started.md",
    resources: "src/resources.md",
    operations: "src/operations.md",
    parameters: "src/parameters.md",
    updates: "src/updates.md",
    querying: "src/querying.md",
    errors: "src/errors.md",
    warnings: "src/warnings.md",
    gates: "src/gates.md",
    asking: "src/asking.md",
    executions: "src/executions.md",
    safety_loop: "src/safety-loop.md",
    guard: "src/guard.md",
    rates: "src/rates.md",
    state: "src/state.md",
    context: "src/context.md",
    modes: "src/modes.md",
    concurrency: "src/concurrency.md",
    configuration: "src/configuration.md",
    command_line: "src/command-line.md",
    authentication: "src/authentication.md",
    embedding: "src/embedding.md",
    robustness: "src/robustness.md",
    deployment: "src/deployment.md",
    recipes: "src/recipes.md",
    coming_from_rmcp: "src/coming-from-rmcp.md",
    coming_from_fastmcp: "src/coming-from-fastmcp.md",
    observability: "src/observability.md",
    testing: "src/testing.md",
    conformance: "src/conformance.md",
    conformance_reports: "src/conformance-reports.md",
    other_languages: "src/other-languages.md",
    aggregator: "src/aggregator.md",
    macros: "src/macros.md",
    limits: "src/limits.md",
    performance: "src/performance.md",
    tokens: "src/tokens.md",
    naming: "src/naming.md",
    features: "src/features.md",
    comparison: "src/comparison.md",
    limitations: "src/limitations.md",
}
