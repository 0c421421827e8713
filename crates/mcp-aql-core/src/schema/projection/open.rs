//! Open paths: paths into maps and free-form JSON. They may exist in some rows only.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Projection;
use crate::error::warning::{LateWarning, Severity, Warning};

/// Maximum number of paths named by the warning. The caller knows the others.
const MAX_NAMED_PATHS: usize = 20;

/// A path that a row may lack although its type allows it.
#[derive(Debug)]
pub struct OpenPath {
    path: String,
    /// A similar path that the caller may have meant.
    near: Option<String>,
    /// Set when a row has the path.
    found: AtomicBool,
}

impl PartialEq for OpenPath {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl OpenPath {
    /// Creates a path. `near` is the name of a similar field.
    pub fn new(path: &str, near: Option<String>) -> Self {
        Self { path: path.to_owned(), near, found: AtomicBool::new(false) }
    }

    /// Records that a row has the path.
    pub(crate) fn mark_found(&self) {
        self.found.store(true, Ordering::Relaxed);
    }
}

/// The open paths of a selection. They are marked as found while its rows are written.
#[derive(Debug)]
pub struct OpenPaths {
    paths: Vec<Arc<OpenPath>>,
    /// Set when a row was written.
    has_rows: AtomicBool,
}

impl PartialEq for OpenPaths {
    fn eq(&self, other: &Self) -> bool {
        self.paths == other.paths
    }
}

impl OpenPaths {
    /// Returns the open paths of a selection, or `None` if its type determines all paths.
    pub fn of(projection: &Projection) -> Option<Arc<Self>> {
        fn collect(projection: &Projection, paths: &mut Vec<Arc<OpenPath>>) {
            match projection {
                Projection::All => {}
                Projection::Open(open) => {
                    paths.extend(open.path.clone());
                    open.members.values().for_each(|member| collect(member, paths));
                }
                Projection::Members(members) => {
                    members.values().for_each(|member| collect(member, paths));
                }
            }
        }
        let mut paths = Vec::new();
        collect(projection, &mut paths);
        (!paths.is_empty()).then(|| Arc::new(Self { paths, has_rows: AtomicBool::new(false) }))
    }

    /// Records that a row was written.
    pub fn mark_row(&self) {
        self.has_rows.store(true, Ordering::Relaxed);
    }
}

impl LateWarning for OpenPaths {
    /// Warns about paths that no row has. A row may lack a field (REQ-FLD-08), but without a warning the caller would
    /// not notice a misspelled path.
    fn warning(&self) -> Option<Warning> {
        if !self.has_rows.load(Ordering::Relaxed) {
            return None;
        }
        let absent: Vec<_> =
            self.paths.iter().filter(|path| !path.found.load(Ordering::Relaxed)).collect();
        let more = absent.len().saturating_sub(MAX_NAMED_PATHS);
        let named = || absent.iter().take(MAX_NAMED_PATHS);
        let names: Vec<_> = named().map(|path| format!("'{}'", path.path)).collect();
        let near: String = absent
            .iter()
            .filter_map(|path| path.near.as_ref())
            .map(|near| format!("; entries of a map are named by their keys, as in '{near}'"))
            .take(1)
            .collect();
        let paths: Vec<_> = named().map(|path| path.path.clone()).collect();
        (!absent.is_empty()).then(|| {
            let mut names = names.join(", ");
            if more > 0 {
                names.push_str(&format!(" and {more} other paths"));
            }
            let message =
                format!("No entry of this reply has a value for {names} of 'fields'{near}");
            Warning::new("VALIDATION_FIELD_ABSENT_WARNING", message)
                .severity(Severity::Low)
                .detail("fields", paths)
        })
    }
}
