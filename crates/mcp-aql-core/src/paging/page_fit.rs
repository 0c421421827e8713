//! Shortens a page to the rows that fit into the reply, so that neither many large rows nor a
//! single oversized row make a list fail.

use std::cell::Cell;

use serde::ser::{Serialize, SerializeSeq as _, Serializer};

use crate::request::{nesting, write_json};
use crate::vocab::{ReplyLimits, new_id};
use crate::warning::Warning;

/// The space for the rows of a page, including commas.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageSpace {
    /// The space in this reply, in bytes.
    pub(crate) bytes: usize,
    /// The space in a reply that contains only the page. A larger row is never displayed.
    pub(crate) alone: usize,
    /// The maximum nesting depth of objects and arrays in a row.
    pub(crate) depth: usize,
}

/// The result of fitting a page.
#[derive(Debug)]
pub(crate) enum FitResult {
    /// Rows are missing, as the warning reports.
    Cut(Warning),
    /// The rows do not fit together, and no cursor leads to the rest. A page of this size would fit.
    TooMany(usize),
}

/// The text around the rows of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    /// The length of the text in bytes.
    pub(crate) bytes: usize,
    /// The nesting depth at which rows are serialized.
    pub(crate) depth: usize,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    /// The next page is serialized with this text as its only row.
    Marked(String),
    /// The next page is serialized to fit.
    Fitting(PageSpace),
    Done(FitResult),
}

thread_local! {
    /// Passed through the thread, since `Serialize` has no argument for it. Serialization starts
    /// and ends on one thread.
    static STATE: Cell<State> = const { Cell::new(State::Idle) };
}

/// Resets the state of the thread, even if serialization panics.
struct Reset;

impl Drop for Reset {
    fn drop(&mut self) {
        STATE.take();
    }
}

/// Measures the text around the rows of the page in a result. `serialize` serializes the result.
pub(crate) fn measure_frame(serialize: impl FnOnce() -> Option<Vec<u8>>) -> Option<Frame> {
    let _reset = Reset;
    let marker = new_id("rows");
    STATE.set(State::Marked(marker.clone()));
    let text = String::from_utf8(serialize()?).ok()?;
    let before = text.split_once(&format!("\"{marker}\""))?.0;
    Some(Frame { bytes: text.len() - marker.len() - 2, depth: nesting(before).0 })
}

/// Serializes a result again that did not fit. A page in it is fitted into the space.
pub(crate) fn fit_page<T>(
    room: PageSpace,
    serialize: impl FnOnce() -> T,
) -> (T, Option<FitResult>) {
    let _reset = Reset;
    STATE.set(State::Fitting(room));
    let written = serialize();
    match STATE.take() {
        State::Done(fitted) => (written, Some(fitted)),
        State::Idle | State::Marked(_) | State::Fitting(_) => (written, None),
    }
}

/// The form in which the current page is to be serialized.
pub(super) enum PageForm {
    Whole,
    Marked(String),
    Fitting(PageSpace),
}

/// Returns the form of the current page. Only one page of a result is serialized in another form
/// than the whole.
pub(super) fn wanted() -> PageForm {
    match STATE.take() {
        State::Marked(marker) => PageForm::Marked(marker),
        State::Fitting(room) => PageForm::Fitting(room),
        other => {
            STATE.set(other);
            PageForm::Whole
        }
    }
}

/// Reports how the page was fitted.
pub(super) fn report(fitted: FitResult) {
    STATE.set(State::Done(fitted));
}

/// The rows to write.
#[derive(Clone, Copy)]
pub(super) enum Rows<'a> {
    All,
    /// A marker text instead of the rows.
    Marker(&'a str),
    /// The rows with these indexes.
    At(&'a [usize]),
}

/// The list of a page's rows as it is serialized.
pub(super) struct RowList<'a, F> {
    /// The number of rows of the page.
    pub(super) count: usize,
    pub(super) rows: Rows<'a>,
    /// Returns the row with an index.
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

/// The warning for a page that had `found` rows, of which `kept` are included. `left_out` rows can
/// never be displayed.
pub(crate) fn cut_warning(found: usize, kept: usize, left_out: usize) -> Warning {
    Warning::truncated("items", found, kept, kept)
        .detail("limit_type", "response_size")
        .detail("left_out", left_out)
}

/// The rows that fit.
#[derive(Default)]
pub(super) struct FittedRows {
    /// The indexes of the rows that are included.
    pub(super) kept: Vec<usize>,
    /// The number of rows that were measured; the others do not fit.
    pub(super) seen: usize,
    /// The remaining space in bytes.
    pub(super) left: usize,
}

impl FittedRows {
    /// Adds rows in this order while they fit. A row that can never be displayed is omitted.
    pub(super) fn of<R: Serialize>(
        rows: impl Iterator<Item = (usize, R)>,
        room: PageSpace,
    ) -> Self {
        let mut fit = Self { left: room.bytes, ..Self::default() };
        let mut measure = RowMeasure::new(room);
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

    /// Reports that rows are missing from a page of this many.
    pub(super) fn report_cut(&self, found: usize) {
        let (kept, left_out) = (self.kept.len(), self.seen.saturating_sub(self.kept.len()));
        report(FitResult::Cut(cut_warning(found, kept, left_out)));
    }
}

/// Returns the largest page size for which any consecutive rows fit.
pub(super) fn fitting_size<R: Serialize>(rows: impl Iterator<Item = R>, room: PageSpace) -> usize {
    let mut measure = RowMeasure::new(room);
    let lengths: Vec<_> =
        rows.map(|row| measure.row(&row).map_or(0, |length| length + 1)).collect();
    // The last row has no comma.
    let most = room.bytes.saturating_add(1);
    let (mut size, mut bytes, mut start) = (lengths.len(), 0_usize, 0_usize);
    for (end, length) in lengths.iter().enumerate() {
        bytes = bytes.saturating_add(*length);
        while bytes > most {
            // The rows `start..end` are the longest run that fits.
            size = size.min(end - start);
            bytes -= lengths.get(start).copied().unwrap_or_default();
            start += 1;
        }
    }
    size.max(1)
}

/// Measures rows, reusing one buffer.
struct RowMeasure {
    limits: ReplyLimits,
    text: Vec<u8>,
}

impl RowMeasure {
    fn new(room: PageSpace) -> Self {
        let limits = ReplyLimits::of_part(room.alone.max(room.bytes), room.depth);
        Self { limits, text: Vec::new() }
    }

    /// The length of a row, or `None` if it can never be displayed.
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
            let room = PageSpace { bytes, alone: bytes, depth: 5 };
            let size = fitting_size(rows.iter(), room);
            // With quotation marks and commas; an oversized row takes no space.
            let length = |row: &String| Some(row.len() + 3).filter(|it| it - 1 <= bytes).unwrap_or(0);
            let fits = |size: usize| {
                rows.windows(size).all(|some| some.iter().map(length).sum::<usize>() <= bytes + 1)
            };
            prop_assert!(fits(size), "{size}");
            prop_assert!(size == rows.len() || !fits(size + 1), "{size}");
        }
    }
}
