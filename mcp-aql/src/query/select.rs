//! Which fields of a row are shown, and showing them: what is not asked for is never serialized.

mod container;
mod open;
mod pick;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use open::{OpenPath, OpenPaths};
#[cfg(feature = "sql")]
pub(crate) use pick::has_part;
pub(crate) use pick::{COMPUTED, Picked};

use super::plan::FieldIndex;

/// What is shown of each row (REQ-FLD-01 to REQ-FLD-08).
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// As the reply tells it: a preset's name, or paths.
    pub(crate) told: Told,
    /// The stored fields.
    pub(crate) pick: Pick,
    /// The computed ones, which come inside of `_computed`.
    pub(crate) computed: Vec<FieldIndex>,
    /// The paths of which only rows show whether they lead to anything.
    pub(crate) open: Option<Arc<OpenPaths>>,
}

/// What a reply says of the fields it shows.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub(crate) enum Told {
    Preset(String),
    Paths(Vec<String>),
}

/// A part of a JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Pick {
    /// All of it.
    All,
    /// All of it, with paths that a row may lack although its type allows them.
    Open(OpenPick),
    /// These members, in the row's own order.
    Members(BTreeMap<String, Pick>),
}

/// A value that is shown as a whole, and the paths of the selection that end at it or lead into it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OpenPick {
    /// The path that ends at the value.
    pub(crate) path: Option<Arc<OpenPath>>,
    /// The members that other paths lead to. Each is `Open`.
    pub(crate) members: BTreeMap<String, Pick>,
}

impl OpenPick {
    /// Adds the paths of another selection of the same value.
    fn join(&mut self, other: Pick) {
        match other {
            Pick::All => {}
            Pick::Open(other) => {
                self.path = self.path.take().or(other.path);
                self.join(Pick::Members(other.members));
            }
            Pick::Members(members) => {
                for (name, part) in members {
                    let mut inner = match self.members.remove(&name) {
                        Some(Pick::Open(inner)) => inner,
                        _ => Self::default(),
                    };
                    inner.join(part);
                    if inner != Self::default() {
                        self.members.insert(name, Pick::Open(inner));
                    }
                }
            }
        }
    }
}

/// What is shown of the members of a value that is shown as a whole.
static ALL: Pick = Pick::All;

impl Pick {
    /// All of the value at an open path.
    pub(crate) fn open(path: OpenPath) -> Self {
        Self::Open(OpenPick { path: Some(Arc::new(path)), members: BTreeMap::new() })
    }

    /// No members yet.
    pub(crate) const fn none() -> Self {
        Self::Members(BTreeMap::new())
    }

    /// Adds this part of what a path leads to.
    pub(crate) fn add(&mut self, path: &str, part: Self) {
        let mut part = part;
        for name in path.rsplit('.') {
            part = Self::Members(BTreeMap::from([(name.to_owned(), part)]));
        }
        self.join(part);
    }

    /// Adds another part of the same value. A value that is shown as a whole keeps the open paths of both.
    pub(crate) fn join(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Members(members), Self::Members(more)) => {
                for (name, part) in more {
                    members.entry(name).or_insert_with(Self::none).join(part);
                }
            }
            (_, other) => {
                let mut whole = OpenPick::default();
                whole.join(std::mem::replace(self, Self::All));
                whole.join(other);
                if whole != OpenPick::default() {
                    *self = Self::Open(whole);
                }
            }
        }
    }

    /// What is wanted of a member.
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        match self {
            Self::All => Some(self),
            Self::Open(open) => Some(open.members.get(name).unwrap_or(&ALL)),
            Self::Members(members) => members.get(name),
        }
    }
}

impl Selection {
    /// Whether the member of this name is shown, wholly or in part.
    pub fn shows(&self, member: &str) -> bool {
        self.pick.member(member).is_some()
    }

    /// The computed fields that are shown.
    pub fn computed(&self) -> &[FieldIndex] {
        &self.computed
    }
}
