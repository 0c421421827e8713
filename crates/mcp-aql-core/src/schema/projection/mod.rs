//! Selects the fields of rows. All other fields are never serialized.

mod container;
mod open;
mod projected;
mod row;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use open::{OpenPath, OpenPaths};
pub use projected::has_part;
pub use projected::{COMPUTED, Projected};
pub use row::{DisplayedRow, View};

/// Index of a field in a table of fields.
pub type FieldIndex = usize;

/// The fields selected for each row (REQ-FLD-01 to REQ-FLD-08).
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// The selection as the reply reports it: the name of a preset, or paths.
    pub reported: ReportedFields,
    /// Stored fields.
    pub projection: Projection,
    /// Computed fields, serialized inside `_computed`.
    pub computed: Vec<FieldIndex>,
    /// Paths that exist only in some rows.
    pub open: Option<Arc<OpenPaths>>,
}

/// The selection as the reply reports it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum ReportedFields {
    /// Name of a preset.
    Preset(String),
    /// Paths of the fields.
    Paths(Vec<String>),
}

/// Selects a part of a JSON value. The fields `title` and `address.city`, for example, select:
///
/// ```text
/// Members { "address": Members { "city": All }, "title": All }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Projection {
    /// The whole value.
    All,
    /// The whole value, with paths that a row may lack although its type allows them.
    Open(OpenProjection),
    /// These members, in the order of the row.
    Members(BTreeMap<String, Projection>),
}

/// A value selected completely, and the paths of the selection that end at it or lead into it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpenProjection {
    /// The path that ends at the value.
    pub(crate) path: Option<Arc<OpenPath>>,
    /// The members that other paths lead to. Each one is `Open`.
    pub(crate) members: BTreeMap<String, Projection>,
}

impl OpenProjection {
    /// Adds the paths of another selection of the same value.
    fn join(&mut self, other: Projection) {
        match other {
            Projection::All => {}
            Projection::Open(other) => {
                self.path = self.path.take().or(other.path);
                self.join(Projection::Members(other.members));
            }
            Projection::Members(members) => {
                for (name, part) in members {
                    let mut inner = match self.members.remove(&name) {
                        Some(Projection::Open(inner)) => inner,
                        _ => Self::default(),
                    };
                    inner.join(part);
                    if inner != Self::default() {
                        self.members.insert(name, Projection::Open(inner));
                    }
                }
            }
        }
    }
}

/// The selection of each member of a completely selected value.
static ALL: Projection = Projection::All;

impl Projection {
    /// Selects the whole value at an open path.
    pub fn open(path: OpenPath) -> Self {
        Self::Open(OpenProjection { path: Some(Arc::new(path)), members: BTreeMap::new() })
    }
    /// Selects no members. Add them with [`add`](Self::add).
    pub const fn none() -> Self {
        Self::Members(BTreeMap::new())
    }

    /// Adds a part of the value at the end of a path.
    pub fn add(&mut self, path: &str, part: Self) {
        let mut part = part;
        for name in path.rsplit('.') {
            part = Self::Members(BTreeMap::from([(name.to_owned(), part)]));
        }
        self.join(part);
    }

    /// Adds another part of the same value. A completely selected value keeps the open paths of both parts.
    pub fn join(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Members(members), Self::Members(more)) => {
                for (name, part) in more {
                    members.entry(name).or_insert_with(Self::none).join(part);
                }
            }
            (_, other) => {
                let mut whole = OpenProjection::default();
                whole.join(std::mem::replace(self, Self::All));
                whole.join(other);
                if whole != OpenProjection::default() {
                    *self = Self::Open(whole);
                }
            }
        }
    }

    /// Returns the selected part of a member, or `None` if it is not selected.
    pub fn member(&self, name: &str) -> Option<&Self> {
        match self {
            Self::All => Some(self),
            Self::Open(open) => Some(open.members.get(name).unwrap_or(&ALL)),
            Self::Members(members) => members.get(name),
        }
    }
}

impl Selection {
    /// Returns `true` if the member with this name is selected, completely or in part.
    pub fn shows(&self, member: &str) -> bool {
        self.projection.member(member).is_some()
    }

    /// Returns the selected computed fields.
    pub fn computed(&self) -> &[FieldIndex] {
        &self.computed
    }
}
