//! Parses the page controls.

use mcp_aql_core::Warning;
use mcp_aql_core::internal::paging::{
    CURSOR_CONTROLS, Contradiction, EXPECTED_CURSOR, clamped, refused_cursor,
};
use serde_json::Value;

use super::{QueryFaults, QuerySurface};
use crate::cursor::unpack;
use crate::entry::QueryParams;
use crate::plan::{Applied, PageWindow, Seal, SortBy, SortKey};
use crate::value::{Scalar, ValueKind};

/// A parsed window.
pub(super) struct ParsedWindow {
    pub(super) window: PageWindow,
    /// The names of the controls in the call.
    pub(super) given: Vec<&'static str>,
    pub(super) applied: Applied,
}

/// The controls of the other paging styles.
const OFFSETS: [&str; 2] = ["limit", "offset"];
const PAGES: [&str; 2] = ["page", "page_size"];

/// The page controls of a call.
struct PageControls(Vec<(&'static str, Value)>);

impl PageControls {
    fn take(given: &mut QueryParams<'_>) -> Self {
        let names = CURSOR_CONTROLS.into_iter().chain(OFFSETS).chain(PAGES);
        Self(names.filter_map(|name| Some((name, given.take(name)?))).collect())
    }

    fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|(name, _)| *name).collect()
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    fn number(&self, name: &str) -> Option<usize> {
        let number = self.value(name)?.as_u64()?;
        Some(usize::try_from(number).unwrap_or(usize::MAX))
    }

    fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.value(name).is_some())
    }
}

/// Parses the page controls (REQ-PAG-01 to REQ-PAG-03, REQ-PAG-08, REQ-COL-07).
pub(super) fn read(
    surface: &QuerySurface<'_>,
    given: &mut QueryParams<'_>,
    seal: &Seal,
    sort: &[SortKey],
    warnings: &mut Vec<Warning>,
    faults: &mut QueryFaults,
) -> ParsedWindow {
    let (usual, most) = (surface.options.usual_page(), surface.options.largest_page());
    let controls = PageControls::take(given);
    let names = controls.names();
    let styles = [&CURSOR_CONTROLS[..], &OFFSETS, &PAGES].map(|style| controls.has_any(style));
    if let Some(contradiction) = contradiction(&names, styles) {
        faults.paging(contradiction);
        let window = PageWindow::First { count: usual, after: None };
        return ParsedWindow { window, given: Vec::new(), applied: Applied::default() };
    }
    let mut size =
        |name: &'static str| controls.number(name).map(|it| clamped(name, it, most, warnings));
    let mut place = |name: &str| {
        let text = controls.value(name)?.as_str()?;
        let place = open(surface, seal, sort, text);
        if place.is_none() {
            refuse_cursor(name, text, faults);
        }
        place
    };
    let mut applied = Applied::default();
    let window = if styles == [false, true, false] {
        let count = size("limit").unwrap_or(usual);
        applied.limit = Some(count);
        let offset = controls.number("offset").unwrap_or_default();
        refuse_depth("offset", offset, faults);
        PageWindow::Offset { count, offset, by_page: false }
    } else if styles == [false, false, true] {
        let count = size("page_size").unwrap_or(usual).max(1);
        applied.page_size = Some(count);
        let page = controls.number("page").unwrap_or(1).max(1);
        let offset = (page - 1).saturating_mul(count);
        refuse_depth("page", offset, faults);
        PageWindow::Offset { count, offset, by_page: true }
    } else if controls.value("last").is_some() {
        let before = place("before");
        let count = size("last").unwrap_or(usual);
        applied.last = Some(count);
        PageWindow::Last { count, before }
    } else {
        let after = place("after");
        let count = size("first").unwrap_or(usual);
        applied.first = Some(count);
        PageWindow::First { count, after }
    };
    ParsedWindow { window, given: names, applied }
}

/// Returns the contradiction between the controls of a call, if they exclude each other.
fn contradiction(names: &[&'static str], styles: [bool; 3]) -> Option<Contradiction> {
    if styles.into_iter().filter(|used| *used).count() < 2 {
        return Contradiction::find(names);
    }
    Some(Contradiction {
        expected: "one style of paging",
        provided: names.to_vec(),
        hint: "use one style: 'first' with 'after' if you are unsure",
    })
}

/// Maximum number of rows to skip by number. An executor may have to hold the skipped rows in memory.
const MAX_OFFSET: usize = 100_000;

fn refuse_depth(name: &str, offset: usize, faults: &mut QueryFaults) {
    if offset > MAX_OFFSET {
        faults.refuse(
            name,
            &format!("skips more than {MAX_OFFSET} rows: use 'first' and 'after'"),
            format!("up to {MAX_OFFSET} rows"),
        );
    }
}

/// Decodes a cursor. Returns `None` if it does not belong to this order.
fn open(
    surface: &QuerySurface<'_>,
    seal: &Seal,
    sort: &[SortKey],
    text: &str,
) -> Option<Vec<Scalar>> {
    let values = unpack(&seal.key.open(&seal.purpose, text)?)?;
    let fits = |(key, value): (&SortKey, &Scalar)| {
        let kind = match key.by {
            SortBy::Field(place) => surface.table.field(place).map(|field| field.kind),
            SortBy::Score => Some(ValueKind::Integer),
        };
        matches!(
            (kind, value),
            (_, Scalar::Null)
                | (Some(ValueKind::Boolean), Scalar::Bool(_))
                | (Some(ValueKind::Integer), Scalar::Int(_))
                | (Some(ValueKind::Number), Scalar::Float(_))
                | (Some(ValueKind::Text | ValueKind::Choice), Scalar::Text(_))
                | (Some(ValueKind::Date), Scalar::Date(_))
                | (Some(ValueKind::Instant), Scalar::Instant(_))
                | (Some(_), Scalar::Stored(_))
        )
    };
    // In a database, an internal row number follows the values of a row without an identifier.
    let is_whole = match values.get(sort.len()..) {
        Some([]) => true,
        Some([Scalar::Int(_)]) => values.iter().any(Scalar::is_null),
        _ => false,
    };
    (is_whole && sort.iter().zip(&values).all(fits)).then_some(values)
}

fn refuse_cursor(name: &str, text: &str, faults: &mut QueryFaults) {
    let why = refused_cursor(text, "query", "'query' and 'sort'");
    faults.refuse(name, &why, EXPECTED_CURSOR);
}
