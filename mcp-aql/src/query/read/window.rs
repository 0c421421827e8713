//! Parses the page controls.

use serde_json::Value;

use super::{QueryFaults, QuerySurface};
use crate::paging::{CURSOR_CONTROLS, Contradiction, EXPECTED_CURSOR, clamped, refused_cursor};
use crate::query::applied::Applied;
use crate::query::cursor::unpack;
use crate::query::entry::QueryParams;
use crate::query::plan::{Seal, SortBy, SortKey, Window};
use crate::query::value::{Scalar, ValueKind};
use crate::warning::Warning;

/// A parsed window.
pub(super) struct ParsedWindow {
    pub(super) window: Window,
    /// The controls of the call.
    pub(super) given: Vec<&'static str>,
    pub(super) applied: Applied,
}

/// The controls of the other paging styles.
const OFFSETS: [&str; 2] = ["limit", "offset"];
const PAGES: [&str; 2] = ["page", "page_size"];

/// Parses the page controls (REQ-PAG-01 to REQ-PAG-03, REQ-PAG-08, REQ-COL-07).
pub(super) fn read(
    surface: &QuerySurface<'_>,
    given: &mut QueryParams<'_>,
    seal: &Seal,
    sort: &[SortKey],
    warnings: &mut Vec<Warning>,
    faults: &mut QueryFaults,
) -> ParsedWindow {
    let options = surface.options;
    let (usual, most) = (options.usual_page(), options.largest_page());
    let mut values = Vec::new();
    for name in CURSOR_CONTROLS.into_iter().chain(OFFSETS).chain(PAGES) {
        if let Some(value) = given.take(name) {
            values.push((name, value));
        }
    }
    let names: Vec<_> = values.iter().map(|(name, _)| *name).collect();
    let has = |name: &str| names.contains(&name);
    let value = |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, it)| it);
    let number = |name: &str| {
        value(name).and_then(Value::as_u64).map(|it| usize::try_from(it).unwrap_or(usize::MAX))
    };
    let of = |style: &[&str]| names.iter().any(|name| style.contains(name));
    let styles = [of(&CURSOR_CONTROLS), of(&OFFSETS), of(&PAGES)];
    let none = || ParsedWindow {
        window: Window::First { count: usual, after: None },
        given: Vec::new(),
        applied: Applied::default(),
    };
    if styles.iter().filter(|used| **used).count() > 1 {
        faults.paging(Contradiction {
            expected: "one style of paging",
            provided: names,
            hint: "choose one style, and 'first' with 'after' if in doubt",
        });
        return none();
    }
    if let Some(contradiction) = Contradiction::of(&names) {
        faults.paging(contradiction);
        return none();
    }
    let mut size =
        |name: &'static str| number(name).map(|asked| clamped(name, asked, most, warnings));
    let mut applied = Applied::default();
    let window = if styles == [false, true, false] {
        let count = size("limit").unwrap_or(usual);
        applied.limit = Some(count);
        let offset = number("offset").unwrap_or_default();
        refuse_depth("offset", offset, faults);
        Window::Offset { count, offset, by_page: false }
    } else if styles == [false, false, true] {
        let count = size("page_size").unwrap_or(usual).max(1);
        applied.page_size = Some(count);
        let page = number("page").unwrap_or(1).max(1);
        let offset = (page - 1).saturating_mul(count);
        refuse_depth("page", offset, faults);
        Window::Offset { count, offset, by_page: true }
    } else {
        let mut place = |name: &str| {
            let text = value(name)?.as_str()?;
            let place = open(surface, seal, sort, text);
            if place.is_none() {
                refuse_cursor(name, text, faults);
            }
            place
        };
        if has("last") {
            let before = place("before");
            let count = size("last").unwrap_or(usual);
            applied.last = Some(count);
            Window::Last { count, before }
        } else {
            let after = place("after");
            let count = size("first").unwrap_or(usual);
            applied.first = Some(count);
            Window::First { count, after }
        }
    };
    ParsedWindow { window, given: names, applied }
}

/// The maximum number of rows to skip by number, since an executor may have to hold them.
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

/// Decodes a cursor, if it belongs to this order.
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
        )
    };
    (values.len() == sort.len() && sort.iter().zip(&values).all(fits)).then_some(values)
}

fn refuse_cursor(name: &str, text: &str, faults: &mut QueryFaults) {
    let why = refused_cursor(text, "query", "'query' and 'sort'");
    faults.refuse(name, &why, EXPECTED_CURSOR);
}
