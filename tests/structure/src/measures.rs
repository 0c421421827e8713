//! Defines all measures and their limits.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::edges::{CRATES, edges, forbidden};
use crate::prose::Limit;
use crate::source::{Crate, read_crate};
use crate::{cycles, names, prose, settings, sizes};

/// Maximum length of a function, in lines.
const MAX_FUNCTION_LINES: usize = 60;
/// Maximum length of a file without its tests, in lines.
const MAX_FILE_LINES: usize = 400;
/// A file below this length, without its tests, is small.
const SMALL_FILE_LINES: usize = 40;
/// Maximum number of small files. A subject spread over many of them is hard to follow.
const MAX_SMALL_FILES: usize = 60;
/// Maximum number of `cfg` attributes outside of tests, except on `mod` and `use` items.
const MAX_CONDITIONS: usize = 20;
/// Maximum number of names at the root of `mcp-aql`.
const MAX_ROOT_NAMES: usize = 60;

/// Maximum number of features of `mcp-aql`.
const MAX_FEATURES: usize = 12;
/// Maximum number of settings. The number may only fall.
const MAX_SETTINGS: usize = 191;
/// Maximum number of public modules of the core: what the facade re-exports as a module, and two hidden ones.
const MAX_CORE_MODULES: usize = 8;

/// A measured property of the workspace, with its limit.
pub struct Measure {
    /// Describes the property.
    pub title: String,
    /// The measured value.
    pub value: f64,
    /// The largest accepted value, or the smallest one.
    pub limit: Limit,
    /// The locations that count, worst first.
    pub locations: Vec<String>,
}

impl Measure {
    fn count(title: &str, limit: usize, locations: Vec<String>) -> Self {
        Self {
            title: title.to_owned(),
            value: number(locations.len()),
            limit: Limit::AtMost(number(limit)),
            locations,
        }
    }

    fn longest(title: &str, limit: usize, mut counts: Vec<sizes::Count>) -> Self {
        counts.sort_by_key(|count| std::cmp::Reverse(count.number));
        let value = counts.first().map_or(0, |count| count.number);
        let over = counts.into_iter().filter(|count| count.number > limit);
        let locations =
            over.map(|count| format!("{} lines: {}", count.number, count.location)).collect();
        Self {
            title: title.to_owned(),
            value: number(value),
            limit: Limit::AtMost(number(limit)),
            locations,
        }
    }

    fn small_files(counts: Vec<sizes::Count>) -> Self {
        let mut small: Vec<_> =
            counts.into_iter().filter(|count| count.number < SMALL_FILE_LINES).collect();
        small.sort_by(|a, b| (a.number, &a.location).cmp(&(b.number, &b.location)));
        // A module that is declared once for each platform is read twice.
        small.dedup_by(|a, b| a.location == b.location);
        let files = small.iter().map(|count| format!("{} lines: {}", count.number, count.location));
        Self::count("files of less than 40 lines, without tests", MAX_SMALL_FILES, files.collect())
    }

    /// Returns `true` if the value is within the limit.
    pub fn holds(&self) -> bool {
        match self.limit {
            Limit::AtMost(limit) => self.value <= limit,
            Limit::AtLeast(limit) => self.value >= limit,
        }
    }
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Returns the root folder of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new(".")).to_owned()
}

/// Measures the whole workspace.
pub fn measure(workspace: &Path) -> Vec<Measure> {
    let crates: Vec<Crate> =
        CRATES.iter().map(|(_, folder)| read_crate(workspace, folder)).collect();
    let mut measures = vec![
        Measure::count(
            "dependencies between crates that point back",
            0,
            forbidden(&edges(workspace)),
        ),
        module_cycles(&crates),
        Measure::count(
            "cfg attributes outside of tests, mod and use",
            MAX_CONDITIONS,
            crates.iter().flat_map(sizes::conditions).collect(),
        ),
        Measure::longest(
            "lines of the longest function",
            MAX_FUNCTION_LINES,
            crates.iter().flat_map(sizes::functions).collect(),
        ),
        Measure::longest(
            "lines of the longest file, without tests",
            MAX_FILE_LINES,
            crates.iter().flat_map(|source| sizes::files(source, workspace)).collect(),
        ),
        Measure::small_files(
            crates.iter().flat_map(|source| sizes::files(source, workspace)).collect(),
        ),
        Measure::count(
            "files that do not start with a //! line",
            0,
            crates.iter().flat_map(sizes::files_without_summary).collect(),
        ),
    ];
    measures.push(Measure::count(
        "names of types that a crate defines twice",
        0,
        crates.iter().flat_map(names::repeated_types).collect(),
    ));
    measures.push(Measure::count(
        "features of mcp-aql",
        MAX_FEATURES,
        names::features(&workspace.join("mcp-aql/Cargo.toml")),
    ));
    measures.push(Measure::count(
        "settings: keys of the file, methods of builders, and flags",
        MAX_SETTINGS,
        settings::settings(&crates, workspace),
    ));
    if let Some(core) = crates.iter().find(|source| source.name == "mcp-aql-core") {
        measures.push(Measure::count(
            "public modules of mcp-aql-core",
            MAX_CORE_MODULES,
            names::public_modules(core),
        ));
    }
    if let Some(facade) = crates.iter().find(|source| source.name == "mcp-aql") {
        measures.push(Measure::count(
            "public names at the root of mcp-aql",
            MAX_ROOT_NAMES,
            sizes::root_names(facade),
        ));
    }
    let files = tracked_files(workspace);
    measures.push(Measure::count(
        "uses of the private fields of an adapter",
        0,
        lines_with(workspace, &files, &["adapter", ".inner"].concat()),
    ));
    measures.push(Measure::count(
        "constants named by a superlative or a mood",
        0,
        prose::constants(files.iter().map(PathBuf::as_path), workspace),
    ));
    for phrase in prose::count(files.iter().map(PathBuf::as_path), workspace) {
        measures.push(Measure {
            title: format!("\"{}\" per 1,000 lines", phrase.title),
            value: phrase.rate,
            limit: phrase.limit,
            locations: phrase.locations,
        });
    }
    measures
}

fn module_cycles(crates: &[Crate]) -> Measure {
    let mut locations = Vec::new();
    let mut value = 0;
    for source in crates {
        for cycle in cycles::cycles(source) {
            value += cycle.modules.len();
            locations.push(format!(
                "{}, {}: {}",
                source.name,
                cycle.parent,
                cycle.modules.join(", ")
            ));
            for (from, to, example) in cycle.examples {
                locations.push(format!("    {from} -> {to}    {example}"));
            }
        }
    }
    Measure {
        title: "modules in a cycle".to_owned(),
        value: number(value),
        limit: Limit::AtMost(0.0),
        locations,
    }
}

/// Returns the Rust and Markdown files of the repository, relative to the workspace. Without them every phrase would be
/// rare enough.
#[expect(clippy::expect_used, reason = "a test tool stops where git fails")]
fn tracked_files(workspace: &Path) -> Vec<PathBuf> {
    let mut command = Command::new("git");
    command.args(["ls-files", "*.rs", "*.md"]).current_dir(workspace);
    let listed = command.output().expect("git lists the files").stdout;
    let files: Vec<_> = String::from_utf8_lossy(&listed).lines().map(PathBuf::from).collect();
    assert!(!files.is_empty(), "git lists no files");
    files
}

fn lines_with(workspace: &Path, files: &[PathBuf], text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "rs")) {
        let Ok(content) = std::fs::read_to_string(workspace.join(file)) else { continue };
        for (number, line) in content.lines().enumerate() {
            if line.contains(text) {
                found.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    found
}
