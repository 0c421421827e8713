//! Cuts a page of a collection to the rows that its reply has room for, so that neither many large rows
//! nor one row that is too large on its own make a list fail.

use std::cell::Cell;

use serde::Serialize;

use crate::operation::Warning;
use crate::request::write_json;
use crate::vocab::ReplyLimits;

/// The room for data in a reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) bytes: usize,
    /// Nested objects and arrays.
    pub(crate) depth: usize,
}

#[derive(Debug, Default)]
enum Cut {
    #[default]
    NotWanted,
    /// The page that is serialized next is to fit.
    Wanted(Room),
    Done(Warning),
}

thread_local! {
    /// Serialization has no argument of its own for this; it begins and ends on one thread.
    static CUT: Cell<Cut> = const { Cell::new(Cut::NotWanted) };
}

/// Leaves nothing behind on the thread, even where serialization panics.
struct Reset;

impl Drop for Reset {
    fn drop(&mut self) {
        CUT.take();
    }
}

impl Room {
    /// Serializes data again that was too large. The page in it, if there is one, is cut to this room;
    /// the warning says so.
    pub(crate) fn cut<T>(self, serialize: impl FnOnce() -> T) -> (T, Option<Warning>) {
        let _reset = Reset;
        CUT.set(Cut::Wanted(self));
        let written = serialize();
        match CUT.take() {
            Cut::Done(warning) => (written, Some(warning)),
            Cut::NotWanted | Cut::Wanted(_) => (written, None),
        }
    }

    /// The room that a page is to fit into.
    pub(super) fn wanted() -> Option<Self> {
        match CUT.take() {
            Cut::Wanted(room) => Some(room),
            other => {
                CUT.set(other);
                None
            }
        }
    }
}

/// The rows that fit.
pub(super) struct Fit {
    /// The places of the rows that are shown.
    pub(super) kept: Vec<usize>,
    /// The number of rows that were looked at; the others have no room.
    pub(super) seen: usize,
}

impl Fit {
    /// Takes rows in this order for as long as there is room. A row that is too large or too deep on its
    /// own is left out.
    pub(super) fn of<R: Serialize>(rows: impl Iterator<Item = (usize, R)>, room: Room) -> Self {
        let limits = ReplyLimits { bytes: room.bytes, depth: room.depth };
        let mut left = room.bytes;
        let mut fit = Self { kept: Vec::new(), seen: 0 };
        let mut text = Vec::new();
        for (place, row) in rows {
            text.clear();
            if write_json(&mut text, &row, 0, limits).is_ok() {
                // A comma stands between two rows.
                let Some(rest) = left.checked_sub(text.len() + 1) else { break };
                left = rest;
                fit.kept.push(place);
            }
            fit.seen += 1;
        }
        fit.kept.sort_unstable();
        fit
    }

    /// Warns the caller that rows are missing from a page that had this number of them.
    pub(super) fn warn(&self, found: usize) {
        let (kept, left_out) = (self.kept.len(), self.seen.saturating_sub(self.kept.len()));
        let warning = Warning::truncated("items", found, kept, kept)
            .detail("limit_type", "response_size")
            .detail("left_out", left_out);
        CUT.set(Cut::Done(warning));
    }
}
