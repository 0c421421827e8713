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
    /// All of it, which a row may lack although its type allows it.
    Open(Arc<OpenPath>),
    /// These members, in the row's own order.
    Members(BTreeMap<String, Pick>),
}

impl Pick {
    /// No members yet.
    pub(crate) const fn none() -> Self {
        Self::Members(BTreeMap::new())
    }

    /// Adds this part of what a path leads to.
    pub(crate) fn add(&mut self, path: &str, part: Self) {
        let Self::Members(members) = self else { return };
        match path.split_once('.') {
            None => {
                members.entry(path.to_owned()).or_insert_with(Self::none).join(part);
            }
            Some((head, rest)) => {
                members.entry(head.to_owned()).or_insert_with(Self::none).add(rest, part);
            }
        }
    }

    /// Adds another part of the same value.
    fn join(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::All, _) | (Self::Open(_), Self::Open(_) | Self::Members(_)) => {}
            (_, whole @ (Self::All | Self::Open(_))) => *self = whole,
            (Self::Members(members), Self::Members(more)) => {
                for (name, part) in more {
                    members.entry(name).or_insert_with(Self::none).join(part);
                }
            }
        }
    }

    /// What is wanted of a member.
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        match self {
            Self::All | Self::Open(_) => Some(self),
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
