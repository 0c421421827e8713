//! Tests that the book contains all chapters, and that they show the code that is tested.

use std::fs;
use std::path::{Path, PathBuf};

/// The chapters without samples. Some of them are generated.
const WITHOUT_SAMPLES: [&str; 5] = [
    "SUMMARY.md",
    "configuration-keys.md",
    "conformance-checks.md",
    "spec-coverage.md",
    "what-a-model-sees.md",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

#[test]
fn every_chapter_is_compiled_and_listed() {
    let (compiled, summary) = (read("book/lib.rs"), read("book/src/SUMMARY.md"));
    let mut chapters = 0;
    for entry in fs::read_dir(root().join("book/src")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".md") {
            continue;
        }
        chapters += 1;
        let is_listed = name == "SUMMARY.md" || summary.contains(&format!("({name})"));
        assert!(is_listed, "{name} is not in SUMMARY.md");
        let is_compiled = compiled.contains(&format!("\"src/{name}\""));
        assert!(
            is_compiled || WITHOUT_SAMPLES.contains(&name.as_str()),
            "{name} is not in `chapters!`, so nothing compiles its samples"
        );
    }
    assert!(chapters > WITHOUT_SAMPLES.len());
}

#[test]
fn the_readers_in_other_languages_are_the_code_that_is_tested() {
    let chapter = read("book/src/other-languages.md");
    for (language, extension) in [("python", "py"), ("typescript", "ts")] {
        let tested = read(&format!("examples/other-languages/{language}/protocol.{extension}"));
        let begin = format!("<!-- {language} -->\n```{language}\n");
        let shown = between(&chapter, &begin, "```\n");
        assert!(tested.contains(shown), "{language}: the chapter shows other code");
    }
}

/// The recipe for sqlx cannot be compiled with the other samples, because they contain the SQLite of rusqlite.
#[test]
fn the_recipe_for_sqlx_is_the_code_that_is_tested() {
    let (tested, chapter) =
        (read("crates/mcp-aql-sqlx/tests/it/pool.rs"), read("book/src/recipes.md"));
    let begin = "// The code of the book begins here.\n";
    let tested = between(&tested, begin, "// The code of the book ends here.");
    assert_eq!(between(&chapter, "<!-- sqlx -->\n```rust,ignore\n", "```"), tested);
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(begin).unwrap();
    rest.split_once(end).unwrap().0
}
