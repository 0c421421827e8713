//! Checks of pages, their cursors, and the items of all pages together.

use serde_json::{Map, Value, json};

use super::calls::{is_refused, params_with, refused_with};
use super::{Body, Check, later, of_level_2 as check, should};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Finding, Skip};
use crate::nouns::thing_of;
use crate::pages::{self, CURSORS, Direction, Walk, WalkError};
use crate::resources::Role;
use crate::run::{Run, arguments, do_all};

/// The page size of walks. It is small to get several pages.
const SMALL_PAGE_SIZE: usize = 2;
/// The maximum number of items of a walked list.
const MAX_ITEMS: usize = 200;
/// The parameters of numbered paging. A `limit` alone selects no page.
const NUMBERED: [&str; 2] = ["offset", "page"];
/// A number above every page size.
const HUGE_PAGE_SIZE: u64 = 1_000_000;

pub(super) const CHECKS: &[Check] = &[
    check(
        "pagination.documented",
        "Operations with several pages document how to get the next page",
        &["REQ-COL-08", "REQ-INT-21"],
        Body::Reads(later!(documented)),
    ),
    check(
        "pagination.both_ways",
        "Operations with cursors support `first`, `after`, `last` and `before`",
        &["REQ-PAG-01", "REQ-PAG-10"],
        Body::Learned(both_ways),
    ),
    check(
        "pagination.form",
        "A page has `pageInfo` with booleans, and with cursors if it has items",
        &["REQ-PAG-04", "REQ-PAG-05"],
        Body::Reads(later!(form)),
    ),
    should(check(
        "pagination.items_or_edges",
        "A page has `items` or `edges`, but not both",
        &["REQ-PAG-07"],
        Body::Reads(later!(items_or_edges)),
    )),
    check(
        "pagination.forward",
        "Small pages together have the items of one large page",
        &["REQ-PAG-01", "REQ-PAG-09"],
        Body::Reads(later!(forward)),
    ),
    check(
        "pagination.backward",
        "Pages in reverse order have the same items",
        &["REQ-PAG-01", "REQ-PAG-09", "REQ-PAG-10"],
        Body::Reads(later!(backward)),
    ),
    check(
        "pagination.combinations",
        "Contradictory parameters are rejected",
        &["REQ-PAG-02"],
        Body::Reads(later!(combinations)),
    ),
    should(check(
        "pagination.combination_details",
        "The failure of contradictory parameters states them and the correction",
        &["REQ-PAG-03"],
        Body::Reads(later!(combination_details)),
    )),
    check(
        "pagination.bad_cursor",
        "A malformed cursor is rejected",
        &["REQ-PAG-09", "REQ-RQ-08"],
        Body::Reads(later!(bad_cursor)),
    ),
    should(check(
        "pagination.tampered_cursor",
        "A modified cursor is rejected",
        &["REQ-PAG-10"],
        Body::Reads(later!(tampered_cursor)),
    )),
    should(check(
        "pagination.forged_cursor",
        "A forged cursor, or one of another list, is rejected",
        &["REQ-PAG-10", "REQ-RQ-08"],
        Body::Changes(later!(forged_cursor)),
    )),
    check(
        "pagination.cursor_form",
        "Cursors are URL-safe text",
        &["REQ-PAG-09"],
        Body::Reads(later!(cursor_form)),
    ),
    should(check(
        "pagination.clamp",
        "A page size above the maximum is reduced to the maximum",
        &["REQ-PAG-08"],
        Body::Reads(later!(clamp)),
    )),
    should(check(
        "pagination.zero",
        "A page size of zero gives an empty page or is rejected",
        &["REQ-PAG-04", "REQ-RQ-08"],
        Body::Reads(later!(zero)),
    )),
    check(
        "pagination.negative",
        "Negative and fractional page sizes are rejected",
        &["REQ-RQ-07", "REQ-RQ-08"],
        Body::Reads(later!(negative)),
    ),
    should(check(
        "pagination.total",
        "`totalCount`, if present, is the number of items",
        &["REQ-PAG-06"],
        Body::Reads(later!(total)),
    )),
    should(check(
        "pagination.numbered_form",
        "Pages by number or offset have `pagination`",
        &["REQ-PAG-11"],
        Body::Reads(later!(numbered_form)),
    )),
];

/// The operations with cursors, except those that walk graphs, whose pages have no items.
fn paged<'a>(run: &'a Run, cases: &Cases) -> Vec<&'a Operation> {
    let paged: Vec<_> = run
        .adapter
        .reads()
        .filter(|operation| {
            pages::is_paged(operation) && operation.name != super::relationships::OPERATION
        })
        .collect();
    if paged.is_empty() {
        cases.not_applicable("no READ operation documents `first` and `after`");
    }
    paged
}

/// Calls every operation with cursors with these parameters, and passes the pages to `look`.
async fn each_page(
    run: &Run,
    cases: &Cases,
    more: Value,
    look: impl Fn(&Operation, &Exchange, &Value),
) {
    let (more, look) = (&more, &look);
    let jobs = paged(run, cases).into_iter().map(|operation| async move {
        let Some(mut params) = params_with(run, operation, [], cases) else { return };
        params.extend(more.as_object().cloned().unwrap_or_default());
        let Some(exchange) = run.call(operation, params, cases).await else { return };
        match exchange.data() {
            Some(data) => look(operation, &exchange, data),
            None => cases.skip(Skip::NoFixture(format!("`{}` returns no page", operation.name))),
        }
    });
    do_all(jobs).await;
}

async fn documented(run: &Run, cases: &Cases) {
    let mut is_any = false;
    let jobs: Vec<_> = run
        .adapter
        .reads()
        .filter(|operation| operation.required().next().is_none())
        .inspect(|_| is_any = true)
        .map(|operation| async move {
            let Some(params) = params_with(run, operation, [], cases) else { return };
            let Some(exchange) = run.call(operation, params, cases).await else { return };
            let Some(data) = exchange.data() else { return };
            let says_more = pages::has(data, "hasNextPage")
                || data.pointer("/pagination/has_more") == Some(&Value::Bool(true));
            let is_documented =
                ["after", "offset", "page"].iter().any(|name| operation.parameter(name).is_some());
            cases.expect(!says_more || is_documented, || {
                Finding::of(
                    &exchange,
                    &operation.name,
                    "parameters for the next page: `first` and `after`",
                    "document the parameters of paging in introspection",
                )
            });
        })
        .collect();
    if !is_any {
        cases.not_applicable("no READ operation returns pages");
    }
    do_all(jobs).await;
}

fn both_ways(run: &Run, cases: &Cases) {
    for operation in paged(run, cases) {
        let missing: Vec<_> =
            CURSORS.iter().filter(|name| operation.parameter(name).is_none()).collect();
        cases.expect(missing.is_empty(), || {
            let names: Vec<_> =
                operation.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
            Finding::shown(
                &operation.name,
                names,
                format!("`first`, `after`, `last` and `before`; missing: {missing:?}"),
                "support `last` and `before` as well, or paging by `page` or `offset` instead",
            )
        });
    }
}

async fn form(run: &Run, cases: &Cases) {
    each_page(run, cases, json!({ "first": SMALL_PAGE_SIZE }), |operation, exchange, data| {
        let info = pages::info(data);
        let is_switch =
            |name: &str| info.is_some_and(|info| info.get(name).is_some_and(Value::is_boolean));
        let is_cursor =
            |name: &str| info.is_some_and(|info| info.get(name).is_some_and(Value::is_string));
        let has_items = pages::items(data).is_some_and(|items| !items.is_empty());
        let holds = is_switch("hasNextPage")
            && is_switch("hasPreviousPage")
            && (!has_items || (is_cursor("startCursor") && is_cursor("endCursor")));
        cases.expect(holds, || {
            Finding::of(
                exchange,
                &operation.name,
                "`pageInfo` with the booleans `hasNextPage` and `hasPreviousPage`, and with \
                 `startCursor` and `endCursor` if there are items",
                "put `pageInfo` beside the items of every page",
            )
        });
    })
    .await;
}

async fn items_or_edges(run: &Run, cases: &Cases) {
    each_page(run, cases, json!({ "first": SMALL_PAGE_SIZE }), |operation, exchange, data| {
        let is_list = |name: &str| data.get(name).is_some_and(Value::is_array);
        let edges = data.get("edges").and_then(Value::as_array).into_iter().flatten();
        let has_form = edges.into_iter().all(|edge| {
            edge.get("node").is_some() && edge.get("cursor").is_some_and(Value::is_string)
        });
        cases.expect((is_list("items") != is_list("edges")) && has_form, || {
            Finding::of(
                exchange,
                &operation.name,
                "a list `items`, or a list `edges` of {`node`, `cursor`}",
                "put the items of the page into `data.items`",
            )
        });
    })
    .await;
}

/// Reads a list as one page of the maximum size and as small pages in this direction.
async fn both_walks<'r>(
    run: &'r Run,
    operation: &Operation,
    way: Direction,
    cases: &Cases,
) -> Option<(Walk<'r>, Walk<'r>)> {
    let params = params_with(run, operation, [], cases)?;
    let big = pages::walk(run, operation, &params, (Direction::Forward, 100), cases).await?;
    if big.broken.is_some() && big.pages.len() < 2 {
        cases.skip(Skip::NoFixture(format!("`{}` returns no page", operation.name)));
        return None;
    }
    if big.items.len() <= SMALL_PAGE_SIZE || big.items.len() > MAX_ITEMS {
        cases.skip(Skip::Scarce(format!(
            "`{}` returns {} items; the check needs {} to {MAX_ITEMS}",
            operation.name,
            big.items.len(),
            SMALL_PAGE_SIZE + 1
        )));
        return None;
    }
    let small = pages::walk(run, operation, &params, (way, SMALL_PAGE_SIZE), cases).await?;
    if [&big, &small].iter().any(|walk| walk.broken == Some(WalkError::TooMuch)) {
        cases.skip(pages::too_much(operation));
        return None;
    }
    Some((big, small))
}

/// Whether these are the same items in the same order. If the items have identifiers, only these are
/// compared because other fields may change.
fn same_items(run: &Run, operation: &Operation, one: &[Value], other: &[Value]) -> bool {
    let kind = run.resources().kinds().iter().find(|kind| {
        kind.operation(&run.adapter, Role::List).is_some_and(|list| list.name == operation.name)
    });
    let own = thing_of(&operation.name).map(|thing| format!("{thing}_id"));
    let identity = |item: &Value| match kind {
        Some(kind) => kind.identity(item),
        None => [own.as_deref().unwrap_or("id"), "id"]
            .into_iter()
            .find_map(|name| item.get(name))
            .filter(|id| id.is_string() || id.is_number())
            .cloned(),
    };
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| match (identity(one), identity(other)) {
            (Some(one), Some(other)) => one == other,
            _ => one == other,
        })
}

async fn walks(run: &Run, cases: &Cases, way: Direction) {
    let [how_many, _, cursor, more] = way.words();
    let mut operations = paged(run, cases);
    operations.retain(|operation| operation.parameter(how_many).is_some());
    if operations.is_empty() {
        cases.not_applicable(format!("no READ operation documents `{how_many}`"));
    }
    let jobs = operations.into_iter().map(|operation| async move {
        let walks = both_walks(run, operation, way, cases).await;
        let Some((mut big, mut small)) = walks else { return };
        if small.broken.is_none() && !same_items(run, operation, &small.items, &big.items) {
            // Items may have been created or deleted between the walks.
            let walks = both_walks(run, operation, way, cases).await;
            let Some(again) = walks else { return };
            (big, small) = again;
        }
        let Some(last) = small.pages.last() else { return };
        let why = match small.broken {
            Some(WalkError::NoPage) => "a valid page".to_owned(),
            Some(WalkError::NoCursor) => format!("`{cursor}` whenever `{more}` is true"),
            Some(WalkError::Endless | WalkError::TooMuch) => {
                "a last page: the cursors never end".to_owned()
            }
            None => format!("the same {} items in the same order, each once", big.items.len()),
        };
        let too_long = small.pages.iter().find(|page| {
            page.data().and_then(pages::items).is_some_and(|items| items.len() > SMALL_PAGE_SIZE)
        });
        let is_whole = small.broken.is_none()
            && same_items(run, operation, &small.items, &big.items)
            && too_long.is_none();
        cases.expect(is_whole, || {
            Finding::of(
                too_long.unwrap_or(last),
                format!("{}: all pages by `{how_many}`", operation.name),
                match too_long {
                    Some(_) => format!("at most {SMALL_PAGE_SIZE} items on a page"),
                    None => format!("{why}; the pages had {} together", small.items.len()),
                },
                "make a cursor identify one item in a unique order",
            )
        });
    });
    do_all(jobs).await;
}

async fn forward(run: &Run, cases: &Cases) {
    walks(run, cases, Direction::Forward).await;
}

async fn backward(run: &Run, cases: &Cases) {
    walks(run, cases, Direction::Backward).await;
}

/// The contradictory combinations of parameters that an operation has.
fn contradictions(operation: &Operation) -> Vec<Map<String, Value>> {
    [
        json!({ "first": 1, "last": 1 }),
        json!({ "after": "conformance" }),
        json!({ "before": "conformance" }),
        json!({ "first": 1, "before": "conformance" }),
        json!({ "last": 1, "after": "conformance" }),
    ]
    .into_iter()
    .filter_map(|params| params.as_object().cloned())
    .filter(|params| {
        params.keys().all(|name| operation.parameter(name).is_some())
            // A documented default page size replaces the missing parameter.
            && !(params.len() == 1
                && ["first", "last"].iter().any(|name| {
                    operation.parameter(name).is_some_and(|size| size.member("default").is_some())
                }))
    })
    .collect()
}

async fn each_contradiction(
    run: &Run,
    cases: &Cases,
    look: impl Fn(&Operation, &Map<String, Value>, &Exchange),
) {
    let look = &look;
    let operations = paged(run, cases);
    if !operations.is_empty()
        && operations.iter().all(|operation| contradictions(operation).is_empty())
    {
        cases.not_applicable("no operation documents parameters that can contradict each other");
    }
    let jobs = operations.into_iter().flat_map(|operation| {
        contradictions(operation).into_iter().map(move |given| async move {
            let Some(mut params) = params_with(run, operation, [], cases) else { return };
            params.extend(given.clone());
            let sent = arguments(&operation.name, params);
            if let Some(exchange) = run.refused(&operation.tool, sent, cases).await {
                look(operation, &given, &exchange);
            }
        })
    });
    do_all(jobs).await;
}

fn names(given: &Map<String, Value>) -> String {
    given.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" with ")
}

async fn combinations(run: &Run, cases: &Cases) {
    each_contradiction(run, cases, |operation, given, exchange| {
        cases.expect(is_refused(exchange), || {
            Finding::of(
                exchange,
                format!("{}: {}", operation.name, names(given)),
                "a VALIDATION failure: these exclude each other, or one is missing",
                "reject `first` with `last` or `before`, `last` with `after`, and a cursor alone",
            )
        });
    })
    .await;
}

async fn combination_details(run: &Run, cases: &Cases) {
    each_contradiction(run, cases, |operation, given, exchange| {
        let Some(failure) = exchange.failure() else { return };
        let is_text = |name: &str| failure.details.get(name).is_some_and(Value::is_string);
        let holds = failure.code == "VALIDATION_INVALID_TYPE"
            && failure.details.get("param_name").is_some_and(|name| name == "pagination")
            && ["expected_type", "actual_type", "hint"].into_iter().all(is_text)
            && failure.details.get("provided").is_some();
        cases.expect(holds, || {
            Finding::of(
                exchange,
                format!("{}: {}", operation.name, names(given)),
                "VALIDATION_INVALID_TYPE with `param_name: \"pagination\"`, `expected_type`, \
                 `actual_type`, `provided` and `hint` in its details",
                "state in the details which parameters were sent, and which to omit",
            )
        });
    })
    .await;
}

async fn with_cursor(
    run: &Run,
    cases: &Cases,
    change: impl Fn(&str) -> Vec<String>,
    (expected, mend): (&'static str, &'static str),
) {
    let change = &change;
    let jobs = paged(run, cases).into_iter().map(|operation| async move {
        let Some(params) = params_with(run, operation, [("first", json!(1))], cases) else {
            return;
        };
        let Some(page) = run.call(operation, params.clone(), cases).await else { return };
        let Some(cursor) = page.data().and_then(|data| pages::cursor(data, "endCursor")) else {
            return cases.skip(Skip::Scarce(format!("`{}` returns no cursor", operation.name)));
        };
        for changed in change(cursor) {
            let mut params = params.clone();
            params.insert("after".to_owned(), json!(changed));
            let sent = arguments(&operation.name, params);
            let Some(exchange) = run.refused(&operation.tool, sent, cases).await else { return };
            cases.expect(is_refused(&exchange), || {
                Finding::of(&exchange, format!("{}: after", operation.name), expected, mend)
            });
        }
    });
    do_all(jobs).await;
}

/// Calls each list with these cursors, even if it is empty, and expects a failure.
async fn refuses_cursors(
    run: &Run,
    cases: &Cases,
    cursors: &[(Option<&str>, String)],
    (expected, mend): (&'static str, &'static str),
) {
    let jobs = paged(run, cases).into_iter().map(|operation| async move {
        let returned = operation.details().pointer("/returns/name").and_then(Value::as_str);
        // Lists of the same type may share cursors.
        let others = cursors.iter().filter(|(of, _)| of.is_none() || *of != returned);
        for (_, cursor) in others {
            let more = [("first", json!(1)), ("after", json!(cursor))];
            let Some(exchange) = refused_with(run, operation, more, cases).await else { return };
            cases.expect(is_refused(&exchange), || {
                Finding::of(&exchange, format!("{}: after", operation.name), expected, mend)
            });
        }
    });
    do_all(jobs).await;
}

async fn bad_cursor(run: &Run, cases: &Cases) {
    let cursors = ["no cursor", "%%%%"].map(|cursor| (None, cursor.to_owned()));
    let reported = (
        "a VALIDATION failure that names `after`",
        "check cursors first, and reject unreadable ones instead of starting anew or failing otherwise",
    );
    refuses_cursors(run, cases, &cursors, reported).await;
}

/// Text in the usual encodings of cursors that no adapter with opaque cursors has issued: `1`, `no`,
/// `{"offset":0}` and 24 zero bytes.
const FORGED: [&str; 4] = ["MQ", "bm8", "eyJvZmZzZXQiOjB9", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"];

async fn forged_cursor(run: &Run, cases: &Cases) {
    // Lists of executions have cursors once there is an execution.
    super::lifecycle::begin_any(run).await;
    let mut cursors: Vec<_> = FORGED.iter().map(|cursor| (None, (*cursor).to_owned())).collect();
    for operation in paged(run, cases) {
        let returned = operation.details().pointer("/returns/name").and_then(Value::as_str);
        let more = [("first", json!(1))];
        let Some(params) = params_with(run, operation, more, cases) else { continue };
        let Some(page) = run.call(operation, params, cases).await else { continue };
        let cursor = page.data().and_then(|data| pages::cursor(data, "endCursor"));
        cursors.extend(cursor.zip(returned).map(|(cursor, of)| (Some(of), cursor.to_owned())));
    }
    let reported = (
        "a VALIDATION failure that names `after`: because this list did not issue the cursor",
        "sign cursors together with their list, and reject all others: an empty page looks like the \
              end of the list",
    );
    refuses_cursors(run, cases, &cursors, reported).await;
}

async fn tampered_cursor(run: &Run, cases: &Cases) {
    // Changes a character in the middle: the last ones of base64 may carry no information.
    let change = |cursor: &str| {
        let middle = cursor.chars().count() / 2;
        let letters = cursor.chars().enumerate().map(|(at, letter)| match letter {
            'A' if at == middle => 'B',
            _ if at == middle => 'A',
            letter => letter,
        });
        vec![letters.collect()]
    };
    let reported = (
        "a VALIDATION failure, because one character of the cursor was changed",
        "protect cursors with a checksum or a signature",
    );
    with_cursor(run, cases, change, reported).await;
}

async fn cursor_form(run: &Run, cases: &Cases) {
    each_page(run, cases, json!({ "first": 1 }), |operation, exchange, data| {
        if pages::cursor(data, "endCursor").is_none() {
            cases.skip(Skip::Scarce(format!("`{}` returns no cursor", operation.name)));
        }
        for name in ["startCursor", "endCursor"] {
            let Some(cursor) = pages::cursor(data, name) else { continue };
            let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~=".contains(&byte);
            cases.expect(!cursor.is_empty() && cursor.bytes().all(is_safe), || {
                Finding::of(
                    exchange,
                    format!("{}: {name}", operation.name),
                    "letters, digits, `-`, `_`, `.` and `~`",
                    "encode cursors as base64url",
                )
            });
        }
    })
    .await;
}

async fn clamp(run: &Run, cases: &Cases) {
    let jobs = paged(run, cases).into_iter().map(|operation| async move {
        // A documented `maximum` requires a rejection (REQ-RQ-07), which this requirement advises against.
        let first = operation.parameter("first");
        let maximum = first.filter(|first| first.member("maximum").is_some());
        if let Some(first) = maximum {
            return cases.fail(Finding::shown(
                format!("{}: first", operation.name),
                Value::Object(first.raw.clone()),
                "`first` without `maximum`, because larger sizes are reduced and not rejected",
                "state the maximum page size in the description, and omit `maximum`",
            ));
        }
        let Some(params) = params_with(run, operation, [("first", json!(HUGE_PAGE_SIZE))], cases)
        else {
            return;
        };
        let Some(exchange) = run.call(operation, params, cases).await else { return };
        let items = exchange.data().and_then(pages::items);
        cases.expect(items.is_some_and(|items| items.len() <= 1_000), || {
            Finding::of(
                &exchange,
                format!("{}: first", operation.name),
                "a page of the maximum size, at most 1000 items",
                "reduce larger page sizes to the maximum",
            )
        });
    });
    do_all(jobs).await;
}

async fn zero(run: &Run, cases: &Cases) {
    let jobs = paged(run, cases).into_iter().map(|operation| async move {
        let Some(params) = params_with(run, operation, [("first", json!(0))], cases) else {
            return;
        };
        let Some(exchange) = run.call(operation, params, cases).await else { return };
        let is_empty = exchange.data().and_then(pages::items).is_some_and(|items| items.is_empty());
        cases.expect(is_empty || is_refused(&exchange), || {
            Finding::of(
                &exchange,
                format!("{}: first", operation.name),
                "no items, or a VALIDATION failure",
                "treat 0 as a page size, not as the default",
            )
        });
    });
    do_all(jobs).await;
}

async fn negative(run: &Run, cases: &Cases) {
    let jobs = paged(run, cases).into_iter().flat_map(|operation| {
        [json!(-1), json!(1.5)].map(|size| async move {
            let more = [("first", size)];
            let Some(exchange) = refused_with(run, operation, more, cases).await else { return };
            cases.expect(is_refused(&exchange), || {
                Finding::of(
                    &exchange,
                    format!("{}: first", operation.name),
                    "VALIDATION_INVALID_VALUE or VALIDATION_INVALID_TYPE",
                    "accept non-negative integers only",
                )
            });
        })
    });
    do_all(jobs).await;
}

async fn total(run: &Run, cases: &Cases) {
    let counted = std::sync::atomic::AtomicBool::new(false);
    let jobs = paged(run, cases).into_iter().map(|operation| {
        let counted = &counted;
        async move {
            let Some(params) = params_with(run, operation, [], cases) else { return };
            let walk = pages::walk(run, operation, &params, (Direction::Forward, 100), cases).await;
            let Some(walk) = walk.filter(|walk| walk.broken.is_none()) else { return };
            let mut short = params;
            short.insert("first".to_owned(), 1.into());
            let short = run.call(operation, short, cases).await;
            for page in walk.pages.iter().chain(&short) {
                let info = page.data().and_then(pages::info);
                let Some(total) = info.and_then(|info| info.get("totalCount")) else { continue };
                counted.store(true, std::sync::atomic::Ordering::Relaxed);
                cases.expect(total.as_u64() == Some(walk.items.len() as u64), || {
                    Finding::of(
                        page,
                        format!("{}: totalCount", operation.name),
                        format!("{}: the number of items on all pages", walk.items.len()),
                        "count all items of the request, not those of the page, or omit the member",
                    )
                });
            }
        }
    });
    do_all(jobs).await;
    if !counted.load(std::sync::atomic::Ordering::Relaxed) {
        cases.not_applicable("no page has `totalCount`");
    }
}

async fn numbered_form(run: &Run, cases: &Cases) {
    let numbered: Vec<_> = run
        .adapter
        .reads()
        .filter(|operation| NUMBERED.iter().any(|name| operation.parameter(name).is_some()))
        .collect();
    if numbered.is_empty() {
        cases.not_applicable("no READ operation documents `offset` or `page`");
    }
    let styles = [
        ("page", json!({ "page": 1, "page_size": SMALL_PAGE_SIZE })),
        ("limit", json!({ "limit": SMALL_PAGE_SIZE, "offset": 0 })),
    ];
    let mut calls = Vec::new();
    for operation in numbered {
        for (name, style) in &styles {
            let leads_on = if *name == "limit" { "offset" } else { "page" };
            if operation.parameter(leads_on).is_some() {
                let mut style = style.as_object().cloned().unwrap_or_default();
                style.retain(|name, _| operation.parameter(name).is_some());
                calls.push((operation, style));
            }
        }
    }
    let jobs = calls.into_iter().map(|(operation, style)| async move {
        let Some(mut params) = params_with(run, operation, [], cases) else { return };
        params.extend(style);
        let Some(exchange) = run.call(operation, params, cases).await else { return };
        let Some(data) = exchange.data() else {
            return cases.skip(Skip::NoFixture(format!("`{}` returns no page", operation.name)));
        };
        let is_count =
            |name: &str| data.pointer(&format!("/pagination/{name}")).is_some_and(Value::is_u64);
        let is_there = |name: &str| data.pointer(&format!("/pagination/{name}")).is_some();
        let optional = ["returned", "total_items", "total_pages"];
        let holds = ((is_count("page") && is_count("page_size"))
            || (is_count("limit") && is_count("offset")))
            && optional.into_iter().all(|name| !is_there(name) || is_count(name))
            && data.pointer("/pagination/has_more").is_none_or(Value::is_boolean);
        cases.expect(holds, || {
            Finding::of(
                &exchange,
                &operation.name,
                "`pagination` with `page` and `page_size`, or with `limit` and `offset`",
                "state the page beside the items",
            )
        });
    });
    do_all(jobs).await;
}
