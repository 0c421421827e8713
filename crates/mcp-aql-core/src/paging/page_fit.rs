//! Shortens a page to the rows that fit into the reply.
//!
//! Without it, many large rows or a single oversized row would make a list fail.

use std::cell::Cell;

use mcp_aql_protocol::MAX_PAGE_SIZE;
use serde::ser::{Serialize, SerializeSeq as _, Serializer};

use crate::bounded_json::write_json;
use crate::error::warning::Warning;
use crate::request::nesting;
use crate::vocab::{ReplyLimits, new_id};

/// Available bytes for the rows of a page, including commas.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageSpace {
    /// Bytes until the budget is used up. The first row may exceed it.
    pub(crate) budget: usize,
    /// Bytes until the size limit of this reply.
    pub(crate) bytes: usize,
    /// Bytes in a reply that contains only the page. A larger row cannot be shown in any reply.
    pub(crate) alone: usize,
    /// Maximum nesting depth of objects and arrays in a row.
    pub(crate) depth: usize,
}

/// The result of fitting a page.
#[derive(Debug)]
pub(crate) enum FitResult {
    /// Rows are missing. The warning reports them.
    Cut(Warning),
    /// All rows are included although they exceed the budget, because no cursor leads to the rest. A page of this
    /// size would keep to the budget.
    Uncut(usize),
    /// The rows do not fit together, and no cursor leads to the rest. A page of this size would fit.
    TooMany(usize),
}

/// The JSON around the rows of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    /// Length of the JSON in bytes.
    pub(crate) bytes: usize,
    /// Nesting depth at which rows are serialized.
    pub(crate) depth: usize,
}

#[derive(Debug, Default)]
enum FitState {
    #[default]
    Idle,
    /// The next page is serialized with this string as its only row.
    Marked(String),
    /// The next page is serialized so that it fits.
    Fitting(PageSpace),
    Done(FitResult),
}

thread_local! {
    /// Passes the state to `Page`. `Serialize` has no argument for it, and serialization starts and ends on one
    /// thread.
    static STATE: Cell<FitState> = const { Cell::new(FitState::Idle) };
}

/// Resets the state of the thread, even if serialization panics.
struct Reset;

impl Drop for Reset {
    fn drop(&mut self) {
        STATE.take();
    }
}

/// The result of measuring. It depends on the kind of result.
pub(crate) enum Measured<E> {
    /// The result contains a page. The frame describes the JSON around its rows.
    Page(Frame),
    /// The result contains no rows that could be cut. The field holds its JSON.
    Other(Result<Vec<u8>, E>),
}

/// Measures the JSON around the rows of the page in a result. `serialize` serializes the result.
///
/// The page is serialized with a random marker as its only row. The position of the marker is then searched in the
/// JSON, which does not yet have its last brace:
///
/// ```text
/// {"success":true,"data":{"items":["rows_…"],"pageInfo":{…}}
/// ```
pub(crate) fn measure_frame<E>(serialize: impl FnOnce() -> Result<Vec<u8>, E>) -> Measured<E> {
    let _reset = Reset;
    let marker = format!("\"{}\"", new_id("rows"));
    STATE.set(FitState::Marked(marker.trim_matches('"').to_owned()));
    match serialize() {
        Ok(text) => match memchr::memmem::find(&text, marker.as_bytes()) {
            Some(start) => {
                let before = text.get(..start).unwrap_or_default();
                let depth = nesting(&String::from_utf8_lossy(before)).0;
                Measured::Page(Frame { bytes: text.len() - marker.len(), depth })
            }
            None => Measured::Other(Ok(text)),
        },
        Err(error) => Measured::Other(Err(error)),
    }
}

/// Serializes a result again, and fits the page in it into the available space.
pub(crate) fn fit_page<T>(
    space: PageSpace,
    serialize: impl FnOnce() -> T,
) -> (T, Option<FitResult>) {
    let _reset = Reset;
    STATE.set(FitState::Fitting(space));
    let written = serialize();
    match STATE.take() {
        FitState::Done(fitted) => (written, Some(fitted)),
        FitState::Idle | FitState::Marked(_) | FitState::Fitting(_) => (written, None),
    }
}

/// The form in which a page is to be serialized.
pub(super) enum PageForm {
    Whole,
    Marked(String),
    Fitting(PageSpace),
}

/// Returns the form of the current page. Only the first page of a result is marked or fitted; further pages are
/// serialized completely.
pub(super) fn wanted() -> PageForm {
    match STATE.take() {
        FitState::Marked(marker) => PageForm::Marked(marker),
        FitState::Fitting(space) => PageForm::Fitting(space),
        other => {
            STATE.set(other);
            PageForm::Whole
        }
    }
}

/// Reports how the page was fitted.
pub(super) fn report(fitted: FitResult) {
    STATE.set(FitState::Done(fitted));
}

/// Selects the rows to write.
#[derive(Clone, Copy)]
pub(super) enum Rows<'a> {
    All,
    /// A marker string instead of the rows.
    Marker(&'a str),
    /// The rows with these indexes.
    At(&'a [usize]),
}

/// Serializes the list of a page's rows.
pub(super) struct RowList<'a, F> {
    /// Number of rows of the page.
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

/// The end of a page at which rows are missing.
#[derive(Debug, Clone, Copy)]
pub(super) enum CutEnd {
    /// The next page contains the missing rows.
    End,
    /// The previous page contains the missing rows.
    Start,
    /// No page contains the missing rows, because they are too large.
    Neither,
}

impl CutEnd {
    /// Describes how to get the missing rows.
    const fn hint(self) -> &'static str {
        match self {
            Self::End => "continue with 'first' and with the 'endCursor' as 'after'",
            Self::Start => "continue with 'last' and with the 'startCursor' as 'before'",
            Self::Neither => "ask for fewer fields, to see the entries that are too large",
        }
    }
}

/// Creates the warning for a page of `found` rows, of which `kept` are included. `left_out` rows are too large for
/// any reply.
fn cut_warning(
    (found, kept, left_out): (usize, usize, usize),
    limit_type: &str,
    end: CutEnd,
) -> Warning {
    Warning::truncated("items", found, kept, kept)
        .detail("limit_type", limit_type)
        .detail("left_out", left_out)
        .detail("hint", end.hint())
}

/// Creates a warning as long as the one for any page of an ordinary size. It is used to reserve capacity.
pub(crate) fn widest_cut() -> Warning {
    let counts = (MAX_PAGE_SIZE, MAX_PAGE_SIZE, MAX_PAGE_SIZE);
    cut_warning(counts, "response_size", CutEnd::Start)
}

/// The rows that fit.
#[derive(Default)]
pub(super) struct FittedRows {
    /// Indexes of the included rows.
    pub(super) kept: Vec<usize>,
    /// Number of measured rows. The others do not fit.
    pub(super) seen: usize,
    /// Remaining bytes.
    pub(super) left: usize,
}

impl FittedRows {
    /// Adds rows in this order until the budget is used up. The first row may exceed the budget, so that no page is
    /// empty. A row too large for any reply is left out.
    pub(super) fn of<R: Serialize>(
        rows: impl Iterator<Item = (usize, R)>,
        space: PageSpace,
    ) -> Self {
        let mut fit = Self::default();
        let mut used = 0_usize;
        let mut measure = RowMeasure::new(space);
        for (place, row) in rows {
            if let Some(length) = measure.row(&row) {
                let (most, comma) = match fit.kept.is_empty() {
                    true => (space.bytes, 0),
                    false => (space.budget, 1),
                };
                let total = used.saturating_add(length).saturating_add(comma);
                if total > most {
                    break;
                }
                used = total;
                fit.kept.push(place);
            }
            fit.seen += 1;
        }
        let most = if fit.kept.len() > 1 { space.budget } else { space.bytes };
        fit.left = most.saturating_sub(used);
        fit.kept.sort_unstable();
        fit
    }

    /// Reports that rows are missing at this end of a page of `found` rows.
    pub(super) fn report_cut(&self, found: usize, space: PageSpace, end: CutEnd) {
        let (kept, left_out) = (self.kept.len(), self.seen.saturating_sub(self.kept.len()));
        let is_budget = space.budget < space.bytes && self.seen < found;
        let limit_type = if is_budget { "result_budget" } else { "response_size" };
        report(FitResult::Cut(cut_warning((found, kept, left_out), limit_type, end)));
    }
}

/// Returns the largest page size for which any consecutive rows fit into the budget.
pub(super) fn fitting_size<R: Serialize>(rows: impl Iterator<Item = R>, space: PageSpace) -> usize {
    let mut measure = RowMeasure::new(space);
    let lengths: Vec<_> =
        rows.map(|row| measure.row(&row).map_or(0, |length| length + 1)).collect();
    // The last row has no comma.
    let most = space.budget.saturating_add(1);
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

/// Measures rows with a reused buffer.
struct RowMeasure {
    limits: ReplyLimits,
    text: Vec<u8>,
}

impl RowMeasure {
    fn new(space: PageSpace) -> Self {
        let limits = ReplyLimits::of_part(space.alone.max(space.bytes), space.depth);
        Self { limits, text: Vec::new() }
    }

    /// Returns the length of a row, or `None` if it is too large for any reply.
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
            let space = PageSpace { budget: bytes, bytes, alone: bytes, depth: 5 };
            let size = fitting_size(rows.iter(), space);
            // A row takes quotation marks and a comma. An oversized row takes no bytes.
            let length = |row: &String| Some(row.len() + 3).filter(|it| it - 1 <= bytes).unwrap_or(0);
            let fits = |size: usize| {
                rows.windows(size).all(|some| some.iter().map(length).sum::<usize>() <= bytes + 1)
            };
            prop_assert!(fits(size), "{size}");
            prop_assert!(size == rows.len() || !fits(size + 1), "{size}");
        }
    }
}
