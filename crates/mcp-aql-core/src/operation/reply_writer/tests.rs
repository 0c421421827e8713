//! Tests of both forms of replies, and that pages keep to the budget of a reply.

use std::sync::Arc;

use mcp_aql_protocol::SizeLimits;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::operation::CallScope;
use crate::paging::{Page, PageInfo, RowCursors};
use crate::response::Reply;
use crate::vocab::quote;

/// Creates cursors of very different lengths. Those of queries vary as well, because they contain values of their
/// rows.
#[derive(Debug)]
struct LongCursors {
    from_end: bool,
}

impl RowCursors for LongCursors {
    fn cursor(&self, place: usize) -> Option<String> {
        Some(format!("{place}-{}", "c".repeat(place % 5 * 20)))
    }

    fn is_from_end(&self) -> bool {
        self.from_end
    }
}

/// Creates a page of these rows. Its cursors are for one direction; `None` creates a page without cursors.
fn page(rows: &[String], from_end: Option<bool>) -> Page<String> {
    let mut page = Page::new(rows.to_vec(), PageInfo::new(false, false));
    if let Some(from_end) = from_end {
        let cursors = LongCursors { from_end };
        let of = |place| cursors.cursor(place).unwrap_or_default();
        page.page_info = PageInfo::new(false, false).cursors(of(0), of(rows.len().max(1) - 1));
        page.cursors = Some(Arc::new(cursors));
    }
    page
}

/// Returns the reply to a call that returns this data.
fn reply(data: &impl Serialize, limits: ReplyLimits, envelope: &Envelope) -> Reply {
    let context = Context::new(CallScope::default());
    let payload = ReplyWriter::new(envelope, limits).with_context(&context).write(data).unwrap();
    Reply::success(payload, &context.take_warnings().into_vec())
}

fn limits(result_budget: usize, form: ReplyForm) -> ReplyLimits {
    ReplyLimits::new(&SizeLimits { result_budget, ..SizeLimits::default() }).in_form(form)
}

/// Returns the JSON of a reply in its plain form.
fn plain_text(reply: Reply) -> String {
    match reply.is_quoted {
        true => serde_json::from_str(&reply.text).unwrap(),
        false => reply.text,
    }
}

fn code(reply: &Value) -> Option<&str> {
    reply["warnings"][0]["code"].as_str()
}

proptest! {
    #[test]
    fn a_page_ends_at_the_budget_and_is_never_empty(
        rows in proptest::collection::vec("[a-c\"\\\\é\n]{0,120}", 1..40),
        budget in 600_usize..4_000,
        from_end: bool,
        named: bool,
    ) {
        // REQ-INT-30, REQ-PAG-04, REQ-PAG-05, REQ-WRN-08
        let envelope = if named { Envelope::Key("rows".into()) } else { Envelope::Bare };
        let page = page(&rows, Some(from_end));
        let text = plain_text(reply(&page, limits(budget, ReplyForm::Plain), &envelope));
        let quoted = plain_text(reply(&page, limits(budget, ReplyForm::Quoted), &envelope));
        prop_assert_eq!(&quoted, &text);
        let reply: Value = serde_json::from_str(&text).unwrap();
        let data = if named { &reply["data"]["rows"] } else { &reply["data"] };
        let kept: Vec<_> = data["items"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        prop_assert!(!kept.is_empty());
        prop_assert!(text.len() <= budget || kept.len() == 1, "{} of {budget}", text.len());
        let (expected, more, cursor, place) = match from_end {
            true => (&rows[rows.len() - kept.len()..], "hasPreviousPage", "startCursor", rows.len() - kept.len()),
            false => (&rows[..kept.len()], "hasNextPage", "endCursor", kept.len() - 1),
        };
        prop_assert_eq!(&kept, expected);
        let is_cut = kept.len() < rows.len();
        prop_assert_eq!(&data["pageInfo"][more], is_cut);
        let cursors = LongCursors { from_end };
        prop_assert_eq!(&data["pageInfo"][cursor], &cursors.cursor(place).unwrap());
        let warning = is_cut.then_some("VALIDATION_TRUNCATED_WARNING");
        prop_assert_eq!(code(&reply), warning);
        if is_cut {
            prop_assert_eq!(&reply["warnings"][0]["details"]["limit_type"], "result_budget");
            // One more row, with a longer cursor and warning, would have exceeded the budget.
            let next = if from_end { rows.len() - kept.len() - 1 } else { kept.len() };
            let row = serde_json::to_string(&rows[next]).unwrap().len() + 1;
            prop_assert!(text.len() + row + 240 > budget, "{} and {row} of {budget}", text.len());
        }
    }

    #[test]
    fn other_results_are_whole_and_warn(
        text in "[a-c\"\\\\é]{0,900}", budget in 64_usize..1_200, named: bool,
    ) {
        // REQ-INT-30, REQ-WRN-02
        let envelope = if named { Envelope::Key("text".into()) } else { Envelope::Bare };
        let data = if named { json!({ "text": text }) } else { json!(text) };
        let whole = json!({ "success": true, "data": data }).to_string();
        let plain = plain_text(reply(&text, limits(budget, ReplyForm::Plain), &envelope));
        let quoted = plain_text(reply(&text, limits(budget, ReplyForm::Quoted), &envelope));
        prop_assert_eq!(&quoted, &plain);
        let reply: Value = serde_json::from_str(&plain).unwrap();
        prop_assert_eq!(&reply["data"], &data);
        let warning = (whole.len() > budget).then_some("PERFORMANCE_LARGE_RESULT_WARNING");
        prop_assert_eq!(code(&reply), warning);
        if warning.is_some() {
            prop_assert_eq!(&reply["warnings"][0]["details"]["result_bytes"], whole.len());
        }
    }

    #[test]
    fn a_page_without_cursors_is_whole_and_names_the_size_that_fits(
        rows in proptest::collection::vec("[a-c]{0,60}", 1..40), budget in 200_usize..2_000,
    ) {
        // REQ-INT-30, REQ-PAG-11
        let text = plain_text(reply(&page(&rows, None), limits(budget, ReplyForm::Quoted), &Envelope::Bare));
        let whole: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&whole["data"]["items"], &json!(rows));
        let Some("PERFORMANCE_LARGE_RESULT_WARNING") = code(&whole) else {
            prop_assert!(text.len() <= budget);
            return Ok(());
        };
        let size = whole["warnings"][0]["details"]["fitting_page_size"].as_u64().unwrap() as usize;
        for some in rows.chunks(size).filter(|_| size > 1) {
            let text = plain_text(reply(&page(some, None), limits(budget, ReplyForm::Plain), &Envelope::Bare));
            prop_assert!(text.len() <= budget, "{size}: {} of {budget}", text.len());
        }
    }
}

#[test]
fn a_row_that_exceeds_the_budget_is_a_page_of_its_own() {
    // REQ-INT-30, REQ-PAG-04
    let rows = ["x".repeat(3_000), "y".repeat(10)];
    for (from_end, kept) in [(false, &rows[0]), (true, &rows[1])] {
        let page = page(&rows, Some(from_end));
        let reply = reply(&page, limits(1 << 10, ReplyForm::Plain), &Envelope::Bare);
        let reply: Value = serde_json::from_str(&reply.text).unwrap();
        assert_eq!(reply["data"]["items"], json!([kept]));
        let codes: Vec<_> =
            reply["warnings"].as_array().unwrap().iter().map(|it| it["code"].clone()).collect();
        let large = json!("PERFORMANCE_LARGE_RESULT_WARNING");
        assert_eq!(codes.contains(&large), !from_end, "{codes:?}");
        assert!(codes.contains(&json!("VALIDATION_TRUNCATED_WARNING")), "{codes:?}");
    }
}

#[test]
fn a_quoted_payload_has_a_plain_form() {
    let mut quoted = b"\"".to_vec();
    quote(&mut quoted, SUCCESS.as_bytes());
    assert_eq!(QUOTED_SUCCESS.as_bytes(), quoted);
    let payload = Payload::quoted(format!(r#"{QUOTED_SUCCESS}{{\"a\":\"\\n\"}}"#));
    assert_eq!(payload.into_plain_text(), format!(r#"{SUCCESS}{{"a":"\n"}}"#));
}
