//! The samples of the book and of the README, compiled and run by `cargo test`.
//!
//! A new chapter gets a line here; the test below fails if one is missing.

macro_rules! chapters {
    ($($name:ident: $file:literal,)*) => {
        $(
            #[doc = include_str!($file)]
            mod $name {}
        )*

        /// The files whose samples are compiled.
        #[cfg(test)]
        const FILES: &[&str] = &[$($file),*];
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// The chapters without samples. Two of them are generated.
    const WITHOUT_SAMPLES: [&str; 5] = [
        "src/SUMMARY.md",
        "src/configuration-keys.md",
        "src/conformance-checks.md",
        "src/spec-coverage.md",
        "src/what-a-model-sees.md",
    ];

    #[test]
    fn every_chapter_is_compiled_and_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
        let summary = std::fs::read_to_string(format!("{folder}/SUMMARY.md")).unwrap();
        let mut chapters = BTreeSet::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") {
                assert!(
                    name == "SUMMARY.md" || summary.contains(&format!("({name})")),
                    "{name} is not in SUMMARY.md"
                );
                chapters.insert(format!("src/{name}"));
            }
        }
        for chapter in &chapters {
            let known = super::FILES.contains(&chapter.as_str())
                || WITHOUT_SAMPLES.contains(&chapter.as_str());
            assert!(known, "{chapter} is not in `chapters!`, so nothing compiles its samples");
        }
    }

    #[test]
    fn the_readers_in_other_languages_are_the_code_that_is_tested() {
        let chapter = include_str!("src/other-languages.md");
        for (language, tested) in [
            ("python", include_str!("../examples/other-languages/python/protocol.py")),
            ("typescript", include_str!("../examples/other-languages/typescript/protocol.ts")),
        ] {
            let begin = format!("<!-- {language} -->\n```{language}\n");
            let (_, rest) = chapter.split_once(&begin).unwrap();
            let (shown, _) = rest.split_once("```\n").unwrap();
            assert!(tested.contains(shown), "{language}: the chapter shows other code");
        }
    }

    /// The recipe for sqlx cannot be compiled here, because this crate contains the SQLite of rusqlite.
    #[test]
    fn the_recipe_for_sqlx_is_the_code_that_is_tested() {
        let between = |text: &'static str, begin, end| {
            let (_, rest) = text.split_once(begin).unwrap();
            rest.split_once(end).unwrap().0
        };
        let tested = include_str!("../crates/mcp-aql-sqlx/tests/it/pool.rs");
        let tested = between(
            tested,
            "// The code of the book begins here.\n",
            "// The code of the book ends here.",
        );
        let shown =
            between(include_str!("src/recipes.md"), "<!-- sqlx -->\n```rust,ignore\n", "```");
        assert_eq!(shown, tested);
    }
}
