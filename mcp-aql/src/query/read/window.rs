use serde_json::Value;

use super::{Faults, Offer};
use crate::paging::{CURSOR_CONTROLS, Contradiction, EXPECTED_CURSOR, clamped, refused_cursor};
use crate::query::answer::Applied;
use crate::query::cursor::unpack;
use crate::query::entry::Given;
use crate::query::plan::{Seal, SortBy, SortKey, Window};
use crate::query::value::{Scalar, ValueKind};
use crate::warning::Warning;

/// Which rows.
pub(super) struct Paged {
    pub(super) window: Window,
    /// The controls that the caller gave.
    pub(super) given: Vec<&'static str>,
    pub(super) applied: Applied,
}

/// The controls of the other styles.
const OFFSETS: [&str; 2] = ["limit", "offset"];
const PAGES: [&str; 2] = ["page", "page_size"];

/// Reads the page controls (REQ-PAG-01 to REQ-PAG-03, REQ-PAG-08, REQ-COL-07).
pub(super) fn read(
    offer: &Offer<'_>,
    given: &mut Given<'_>,
    seal: &Seal,
    sort: &[SortKey],
    warnings: &mut Vec<Warning>,
    faults: &mut Faults,
) -> Paged {
    let options = offer.options;
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
    let none = || Paged {
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
            let place = open(offer, seal, sort, text);
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
    Paged { window, given: names, applied }
}

/// So many rows can be passed over by number: whoever counts them off has to hold them.
const MOST_OFFSET: usize = 100_000;

fn refuse_depth(name: &str, offset: usize, faults: &mut Faults) {
    if offset > MOST_OFFSET {
        faults.refuse(
            name,
            &format!("passes over more than {MOST_OFFSET} rows: go on with 'first' and 'after'"),
            format!("up to {MOST_OFFSET} rows"),
        );
    }
}

/// The place behind a cursor, if it is one of this order.
fn open(offer: &Offer<'_>, seal: &Seal, sort: &[SortKey], text: &str) -> Option<Vec<Scalar>> {
    let values = unpack(&seal.key.open(&seal.purpose, text)?)?;
    let fits = |(key, value): (&SortKey, &Scalar)| {
        let kind = match key.by {
            SortBy::Field(place) => offer.table.field(place).map(|field| field.kind),
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

fn refuse_cursor(name: &str, text: &str, faults: &mut Faults) {
    let why = refused_cursor(text, "query", "'query' and 'sort'");
    faults.refuse(name, &why, EXPECTED_CURSOR);
}
