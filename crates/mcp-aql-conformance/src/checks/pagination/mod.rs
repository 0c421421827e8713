//! Checks of pages, their cursors, and the items of all pages together.

mod forms;
mod requests;
mod walks;

use super::{Check, checks};
use crate::adapter::Operation;
use crate::cases::Cases;
use crate::checks::planned::rejected;
use crate::pages;
use crate::run::Run;

/// Page size for reading whole lists. It is small to get several pages.
const SMALL_PAGE_SIZE: usize = 2;

pub(super) const CHECKS: &[Check] = checks![
    Must 2 "pagination.documented" => Reads { calls: forms::plain_reads, rule: forms::is_documented },
        ["REQ-COL-08", "REQ-INT-21"],
        "Operations with several pages document how to get the next page",
        expected: "parameters for the next page: `first` and `after`",
        fix: "document the parameters of paging in introspection";
    Must 2 "pagination.both_ways" => Learned(forms::both_ways), ["REQ-PAG-01", "REQ-PAG-10"],
        "Operations with cursors support `first`, `after`, `last` and `before`",
        fix: "support `last` and `before` as well, or paging by `page` or `offset` instead";
    Must 2 "pagination.form" => Reads { calls: forms::first_pages, rule: forms::has_info },
        ["REQ-PAG-04", "REQ-PAG-05"],
        "A page has `pageInfo` with booleans, and with cursors if it has items",
        expected: "`pageInfo` with the booleans `hasNextPage` and `hasPreviousPage`, and with `startCursor` and \
         `endCursor` if there are items",
        fix: "put `pageInfo` next to the items of every page";
    Should 2 "pagination.items_or_edges" => Reads { calls: forms::first_pages, rule: forms::has_items_or_edges },
        ["REQ-PAG-07"],
        "A page has `items` or `edges`, but not both",
        expected: "a list `items`, or a list `edges` of {`node`, `cursor`}",
        fix: "put the items of the page into `data.items`";
    Must 2 "pagination.forward" => Reads(walks::forward), ["REQ-PAG-01", "REQ-PAG-09"],
        "Small pages together have the items of one large page",
        fix: "sort by a unique key, and let each cursor identify one item";
    Must 2 "pagination.backward" => Reads(walks::backward),
        ["REQ-PAG-01", "REQ-PAG-09", "REQ-PAG-10"],
        "Pages in reverse order have the same items",
        fix: "sort by a unique key, and let each cursor identify one item";
    Must 2 "pagination.combinations" => Reads { calls: requests::contradictory, rule: rejected }, ["REQ-PAG-02"],
        "Contradictory parameters are rejected",
        expected: "a VALIDATION failure: these exclude each other, or one is missing",
        fix: "reject `first` with `last` or `before`, `last` with `after`, and a cursor alone";
    Should 2 "pagination.combination_details" => Reads { calls: requests::contradictory, rule: requests::are_detailed },
        ["REQ-PAG-03"],
        "The failure of contradictory parameters states them and the correction",
        expected: "VALIDATION_INVALID_TYPE with `param_name: \"pagination\"`, `expected_type`, `actual_type`, \
         `provided` and `hint` in its details",
        fix: "state in the details which parameters were sent, and which to omit";
    Must 2 "pagination.bad_cursor" => Reads { calls: requests::unreadable, rule: rejected },
        ["REQ-PAG-09", "REQ-RQ-08"],
        "A malformed cursor is rejected",
        expected: "a VALIDATION failure that names `after`",
        fix: "check cursors first, and reject unreadable ones with a VALIDATION code: do not return the first page \
         instead, and do not fail with another code";
    Should 2 "pagination.tampered_cursor" => Reads { async calls: requests::tampered, rule: rejected }, ["REQ-PAG-10"],
        "A modified cursor is rejected",
        expected: "a VALIDATION failure, because one character of the cursor was changed",
        fix: "protect cursors with a checksum or a signature";
    Should 2 "pagination.forged_cursor" => Changes { async calls: requests::forged, rule: rejected },
        ["REQ-PAG-10", "REQ-RQ-08"],
        "A forged cursor, or one of another list, is rejected",
        expected: "a VALIDATION failure that names `after`, because this list did not issue the cursor",
        fix: "sign cursors together with their list, and reject all others: an empty page looks like the end of the \
         list";
    Must 2 "pagination.cursor_form" => Reads(forms::cursor_form), ["REQ-PAG-09"],
        "Cursors are URL-safe text",
        expected: "letters, digits, `-`, `_`, `.` and `~`",
        fix: "encode cursors as base64url";
    Should 2 "pagination.clamp" => Reads(requests::clamp), ["REQ-PAG-08"],
        "A page size above the maximum is reduced to the maximum",
        fix: "state the maximum page size in the description, and omit `maximum`";
    Should 2 "pagination.zero" => Reads { calls: requests::zero, rule: requests::is_empty_or_rejected },
        ["REQ-PAG-04", "REQ-RQ-08"],
        "A page size of zero gives an empty page or is rejected",
        expected: "no items, or a VALIDATION failure",
        fix: "treat 0 as a page size, not as the default";
    Must 2 "pagination.negative" => Reads { calls: requests::negative, rule: rejected }, ["REQ-RQ-07", "REQ-RQ-08"],
        "Negative and fractional page sizes are rejected",
        expected: "VALIDATION_INVALID_VALUE or VALIDATION_INVALID_TYPE",
        fix: "accept non-negative integers only";
    Should 2 "pagination.total" => Reads(walks::total), ["REQ-PAG-06"],
        "`totalCount`, if present, is the number of items",
        fix: "count all items of the request, not those of the page, or omit the member";
    Should 2 "pagination.numbered_form" => Reads { calls: forms::numbered_pages, rule: forms::has_numbers },
        ["REQ-PAG-11"],
        "Pages by number or offset have `pagination`",
        expected: "`pagination` with `page` and `page_size`, or with `limit` and `offset`",
        fix: "state the page next to the items";
];

/// Returns the operations with cursors. Those that traverse graphs are left out, because their pages have no items.
fn paged<'a>(run: &'a Run, cases: &Cases) -> Vec<&'a Operation> {
    let paged = run.adapter.reads().filter(|operation| {
        pages::is_paged(operation) && operation.name != super::relationships::OPERATION
    });
    cases.some_or_not_applicable(paged, "no READ operation documents `first` and `after`")
}
