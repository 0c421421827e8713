//! Cuts a page of a collection to the rows that its reply has room for, so that neither many large rows
//! nor one row that is too large on its own make a list fail.

use std::cell::Cell;

use serde::ser::{Serialize, SerializeSeq as _, Serializer};

use crate::request::{nesting, write_json};
use crate::vocab::{ReplyLimits, new_id};
use crate::warning::Warning;

/// The room for the rows of a page, commas included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// The room in this reply.
    pub(crate) bytes: usize,
    /// The room in a reply that has nothing besides the page. A row that needs more is never shown.
    pub(crate) alone: usize,
    /// Nested objects and arrays in a row.
    pub(crate) depth: usize,
}

/// The result of fitting a page.
#[derive(Debug)]
pub(crate) enum Fitted {
    /// Rows are missing, and the warning says so.
    Cut(Warning),
    /// The rows do not fit together, and no cursor leads to the rest. A page of this size fits.
    TooMany(usize),
}

/// The text around the rows of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    /// The length of the text in bytes.
    pub(crate) bytes: usize,
    /// The objects and arrays that a row is inside of.
    pub(crate) depth: usize,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    /// The page that is serialized next has this text as its only row.
    Marked(String),
    /// The page that is serialized next is to fit.
    Fitting(Room),
    Done(Fitted),
}

thread_local! {
    /// Serialization has no argument of its own for this; it begins and ends on one thread.
    static STATE: Cell<State> = const { Cell::new(State::Idle) };
}

/// Leaves nothing behind on the thread, even where serialization panics.
struct Reset;

impl Drop for Reset {
    fn drop(&mut self) {
        STATE.take();
    }
}

/// Measures the text around the rows of the page in a result. `serialize` writes the result and returns the
/// text.
pub(crate) fn measure_frame(serialize: impl FnOnce() -> Option<Vec<u8>>) -> Option<Frame> {
    let _reset = Reset;
    let marker = new_id("rows");
    STATE.set(State::Marked(marker.clone()));
    let text = String::from_utf8(serialize()?).ok()?;
    let before = text.split_once(&format!("\"{marker}\""))?.0;
    Some(Frame { bytes: text.len() - marker.len() - 2, depth: nesting(before).0 })
}

/// Serializes a result again that did not fit. If there is a page in it, the page is fitted into the room.
pub(crate) fn fit_page<T>(room: Room, serialize: impl FnOnce() -> T) -> (T, Option<Fitted>) {
    let _reset = Reset;
    STATE.set(State::Fitting(room));
    let written = serialize();
    match STATE.take() {
        State::Done(fitted) => (written, Some(fitted)),
        State::Idle | State::Marked(_) | State::Fitting(_) => (written, None),
    }
}

/// The form in which the page that is serialized now is wanted.
pub(super) enum Wanted {
    Whole,
    Marked(String),
    Fitting(Room),
}

/// Returns the form that is wanted. Only one page of a result is asked for another form than the whole.
pub(super) fn wanted() -> Wanted {
    match STATE.take() {
        State::Marked(marker) => Wanted::Marked(marker),
        State::Fitting(room) => Wanted::Fitting(room),
        other => {
            STATE.set(other);
            Wanted::Whole
        }
    }
}

/// Reports how the page was fitted.
pub(super) fn report(fitted: Fitted) {
    STATE.set(State::Done(fitted));
}

/// The rows that are written.
#[derive(Clone, Copy)]
pub(super) enum Rows<'a> {
    All,
    /// A text in place of the rows.
    Marker(&'a str),
    /// The rows at these places.
    At(&'a [usize]),
}

/// The list of a page's rows as it is written.
pub(super) struct RowList<'a, F> {
    /// The number of rows that the page has.
    pub(super) count: usize,
    pub(super) rows: Rows<'a>,
    /// Returns the row at a place.
    pub(super) row: F,
}

impl<R: Serialize, F: Fn(usize) -> Option<R>> Serialize for RowList<'_, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let count = match self.rows {
            Rows::All => self.count,
            Rows::Marker(_) => 1,
            Rows::At(places) => places.len(),
        };
        let mut list = serializer.serialize_seq(Some(count))?;
        let mut write =
            |place: usize| (self.row)(place).map_or(Ok(()), |row| list.serialize_element(&row));
        match self.rows {
            Rows::All => (0..count).try_for_each(write)?,
            Rows::At(places) => places.iter().try_for_each(|place| write(*place))?,
            Rows::Marker(marker) => list.serialize_element(marker)?,
        }
        list.end()
    }
}

/// The warning of a page that had `found` rows, of which `kept` are shown. `left_out` are never shown.
pub(crate) fn cut_warning(found: usize, kept: usize, left_out: usize) -> Warning {
    Warning::truncated("items", found, kept, kept)
        .detail("limit_type", "response_size")
        .detail("left_out", left_out)
}

/// The rows that fit.
#[derive(Default)]
pub(super) struct Fit {
    /// The places of the rows that are shown.
    pub(super) kept: Vec<usize>,
    /// The number of rows that were looked at; the others do not fit.
    pub(super) seen: usize,
    /// The bytes that are left.
    pub(super) left: usize,
}

impl Fit {
    /// Takes rows in this order for as long as there is room. A row that is never shown is left out.
    pub(super) fn of<R: Serialize>(rows: impl Iterator<Item = (usize, R)>, room: Room) -> Self {
        let mut fit = Self { left: room.bytes, ..Self::default() };
        let mut measure = Measure::new(room);
        for (place, row) in rows {
            if let Some(length) = measure.row(&row) {
                let needed = length + usize::from(!fit.kept.is_empty());
                let Some(left) = fit.left.checked_sub(needed) else { break };
                fit.left = left;
                fit.kept.push(place);
            }
            fit.seen += 1;
        }
        fit.kept.sort_unstable();
        fit
    }

    /// Reports that rows are missing from a page that had this number of them.
    pub(super) fn report_cut(&self, found: usize) {
        let (kept, left_out) = (self.kept.len(), self.seen.saturating_sub(self.kept.len()));
        report(Fitted::Cut(cut_warning(found, kept, left_out)));
    }
}

/// Returns the largest number of rows of which any that follow each other fit together.
pub(super) fn fitting_size<R: Serialize>(rows: impl Iterator<Item = R>, room: Room) -> usize {
    let mut measure = Measure::new(room);
    let lengths: Vec<_> =
        rows.map(|row| measure.row(&row).map_or(0, |length| length + 1)).collect();
    // The last row has no comma.
    let most = room.bytes.saturating_add(1);
    let (mut size, mut bytes, mut start) = (lengths.len(), 0_usize, 0_usize);
    for (end, length) in lengths.iter().enumerate() {
        bytes = bytes.saturating_add(*length);
        while bytes > most {
            // The rows from `start` to before `end` are all that fit.
            size = size.min(end - start);
            bytes -= lengths.get(start).copied().unwrap_or_default();
            start += 1;
        }
    }
    size.max(1)
}

/// Measures rows, in one buffer.
struct Measure {
    limits: ReplyLimits,
    text: Vec<u8>,
}

impl Measure {
    fn new(room: Room) -> Self {
        let limits = ReplyLimits::of_part(room.alone.max(room.bytes), room.depth);
        Self { limits, text: Vec::new() }
    }

    /// The length of a row, unless it is never shown.
    fn row<R: Serialize>(&mut self, row: &R) -> Option<usize> {
        self.text.clear();
        write_json(&mut self.text, row, 0, self.limits).ok()?;
        Some(self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_size_that_fits_is_the_largest(
            lengths in proptest::collection::vec(0_usize..20, 1..20),
            bytes in 10_usize..60,
        ) {
            let rows: Vec<_> = lengths.iter().map(|length| "x".repeat(*length)).collect();
            let room = Room { bytes, alone: bytes, depth: 5 };
            let size = fitting_size(rows.iter(), room);
            // With quotation marks and commas; a row that is too long on its own takes no room.
            let length = |row: &String| Some(row.len() + 3).filter(|it| it - 1 <= bytes).unwrap_or(0);
            let fits = |size: usize| {
                rows.windows(size).all(|some| some.iter().map(length).sum::<usize>() <= bytes + 1)
            };
            prop_assert!(fits(size), "{size}");
            prop_assert!(size == rows.len() || !fits(size + 1), "{size}");
        }
    }
}
