//! Checks of pages, their cursors, and the items of all pages together.

mod combinations;
mod cursors;
mod forms;
mod sizes;
mod walks;

use super::{Body, Check, later, of_level_2 as check, should};
use crate::adapter::Operation;
use crate::cases::Cases;
use crate::pages;
use crate::run::Run;

/// The page size of walks. It is small to get several pages.
const SMALL_PAGE_SIZE: usize = 2;

pub(super) const CHECKS: &[Check] = &[
    check(
        "pagination.documented",
        "Operations with several pages document how to get the next page",
        &["REQ-COL-08", "REQ-INT-21"],
        Body::Reads(later!(forms::documented)),
    ),
    check(
        "pagination.both_ways",
        "Operations with cursors support `first`, `after`, `last` and `before`",
        &["REQ-PAG-01", "REQ-PAG-10"],
        Body::Learned(forms::both_ways),
    ),
    check(
        "pagination.form",
        "A page has `pageInfo` with booleans, and with cursors if it has items",
        &["REQ-PAG-04", "REQ-PAG-05"],
        Body::Reads(later!(forms::form)),
    ),
    should(check(
        "pagination.items_or_edges",
        "A page has `items` or `edges`, but not both",
        &["REQ-PAG-07"],
        Body::Reads(later!(forms::items_or_edges)),
    )),
    check(
        "pagination.forward",
        "Small pages together have the items of one large page",
        &["REQ-PAG-01", "REQ-PAG-09"],
        Body::Reads(later!(walks::forward)),
    ),
    check(
        "pagination.backward",
        "Pages in reverse order have the same items",
        &["REQ-PAG-01", "REQ-PAG-09", "REQ-PAG-10"],
        Body::Reads(later!(walks::backward)),
    ),
    check(
        "pagination.combinations",
        "Contradictory parameters are rejected",
        &["REQ-PAG-02"],
        Body::Reads(later!(combinations::combinations)),
    ),
    should(check(
        "pagination.combination_details",
        "The failure of contradictory parameters states them and the correction",
        &["REQ-PAG-03"],
        Body::Reads(later!(combinations::combination_details)),
    )),
    check(
        "pagination.bad_cursor",
        "A malformed cursor is rejected",
        &["REQ-PAG-09", "REQ-RQ-08"],
        Body::Reads(later!(cursors::bad_cursor)),
    ),
    should(check(
        "pagination.tampered_cursor",
        "A modified cursor is rejected",
        &["REQ-PAG-10"],
        Body::Reads(later!(cursors::tampered_cursor)),
    )),
    should(check(
        "pagination.forged_cursor",
        "A forged cursor, or one of another list, is rejected",
        &["REQ-PAG-10", "REQ-RQ-08"],
        Body::Changes(later!(cursors::forged_cursor)),
    )),
    check(
        "pagination.cursor_form",
        "Cursors are URL-safe text",
        &["REQ-PAG-09"],
        Body::Reads(later!(forms::cursor_form)),
    ),
    should(check(
        "pagination.clamp",
        "A page size above the maximum is reduced to the maximum",
        &["REQ-PAG-08"],
        Body::Reads(later!(sizes::clamp)),
    )),
    should(check(
        "pagination.zero",
        "A page size of zero gives an empty page or is rejected",
        &["REQ-PAG-04", "REQ-RQ-08"],
        Body::Reads(later!(sizes::zero)),
    )),
    check(
        "pagination.negative",
        "Negative and fractional page sizes are rejected",
        &["REQ-RQ-07", "REQ-RQ-08"],
        Body::Reads(later!(sizes::negative)),
    ),
    should(check(
        "pagination.total",
        "`totalCount`, if present, is the number of items",
        &["REQ-PAG-06"],
        Body::Reads(later!(walks::total)),
    )),
    should(check(
        "pagination.numbered_form",
        "Pages by number or offset have `pagination`",
        &["REQ-PAG-11"],
        Body::Reads(later!(forms::numbered_form)),
    )),
];

/// The operations with cursors, except those that walk graphs, whose pages have no items.
fn paged<'a>(run: &'a Run, cases: &Cases) -> Vec<&'a Operation> {
    let paged = run.adapter.reads().filter(|operation| {
        pages::is_paged(operation) && operation.name != super::relationships::OPERATION
    });
    cases.some_or_not_applicable(paged, "no READ operation documents `first` and `after`")
}
