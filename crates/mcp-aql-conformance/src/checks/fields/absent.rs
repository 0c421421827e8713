//! Checks of fields that an item does not have.

use serde_json::{Map, Value, json};

use super::{about, fields_of_type, is_path, names, things};
use crate::adapter::Operation;
use crate::cases::{Cases, Finding};
use crate::checks::calls::having;
use crate::pages;
use crate::run::{Run, do_all};
use crate::values;

/// Maximum number of items to search for one without some field.
const MAX_TRIED_ITEMS: usize = 6;

pub(super) async fn absent_skipped(run: &Run, cases: &Cases) {
    let jobs = having(run, "fields", cases).into_iter().map(|operation| async move {
        let Some((params, absent)) = lacking(run, operation, cases).await else { return };
        for name in absent {
            let mut params = params.clone();
            params.insert("fields".to_owned(), json!([name]));
            let Some(exchange) = run.call(operation, params, cases).await else { return };
            let things = exchange.data().map(things).unwrap_or_default();
            let is_left_out = exchange.succeeded()
                && things
                    .iter()
                    .all(|thing| thing.get(name).is_none_or(Value::is_null) && thing.len() <= 1);
            cases.expect(is_left_out, || {
                Finding::of(&exchange, format!("{}: {name}", about(operation)))
            });
        }
    });
    do_all(jobs).await;
}

/// Finds parameters for which an operation returns an item without some optional fields. Returns them with these
/// fields.
///
/// Skips the case if there is no such item.
async fn lacking<'a>(
    run: &'a Run,
    operation: &'a Operation,
    cases: &Cases,
) -> Option<(Map<String, Value>, Vec<&'a str>)> {
    let fields = fields_of_type(run, operation);
    let optional: Vec<_> = fields
        .iter()
        .filter(|field| !field.is_required())
        .filter_map(|field| field.name())
        .collect();
    if !fields.is_empty() && optional.is_empty() {
        cases.not_applicable("no type of an item has a field that may be absent");
        return None;
    }
    let mut shows_nulls = false;
    let mut shows_any = false;
    for turn in 0..MAX_TRIED_ITEMS {
        let Ok(mut params) = values::valid(run, operation, turn) else { continue };
        if pages::is_paged(operation) {
            // A single item lacks more fields than a page of items.
            params.insert("first".to_owned(), json!(1));
        }
        let mut all = params.clone();
        all.insert("fields".to_owned(), json!("full"));
        let exchange = run.call(operation, all, cases).await?;
        let Some(data) = exchange.data() else { continue };
        let shown = names(data);
        let mut absent: Vec<_> = fields.iter().filter_map(|field| field.name()).collect();
        absent.retain(|name| is_path(name) && !shown.contains(name));
        absent.truncate(2);
        if !shown.is_empty() && !absent.is_empty() {
            return Some((params, absent));
        }
        let is_null = |thing: &&Map<String, Value>| {
            optional.iter().any(|name| thing.get(*name) == Some(&Value::Null))
        };
        shows_nulls |= absent.is_empty() && things(data).iter().any(is_null);
        shows_any |= !shown.is_empty();
    }
    if shows_nulls {
        // A null states that the item does not have the field.
        cases.not_applicable("items show null for a field that they do not have");
        return None;
    }
    if shows_any {
        cases.not_applicable("items show every field of their type");
        return None;
    }
    cases.skip_scarce(format!("`{}` returns nothing", operation.name));
    None
}
