//! Mutants of lists: filters, order, pages, fields and summaries.

use serde_json::{Value, json};

use super::{Mutant, body, data, info, items, page, page_params, request};
use crate::faults::{arguments_of, calls, params_of};

/// Renames a member of every object in a filter.
fn rename(filter: &mut Value, from: &str, to: &str) {
    match filter {
        Value::Object(members) => {
            members.values_mut().for_each(|member| rename(member, from, to));
            if let Some(value) = members.remove(from) {
                members.insert(to.to_owned(), value);
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(|entry| rename(entry, from, to)),
        _ => {}
    }
}

/// Returns the filter of a request for a page.
fn filter(message: &mut Value) -> Option<&mut Value> {
    page_params(message)?.get_mut("filter")
}

/// Removes a parameter from every request for a page.
fn ignore(message: &mut Value, name: &str) {
    if let Some(params) = page_params(message) {
        params.remove(name);
    }
}

/// Returns the summaries of a page.
fn summaries<'v>(arguments: &Value, body: &'v mut Value) -> Option<&'v mut Value> {
    page(arguments, body)?.get_mut("aggregations")
}

/// Changes every number in a summary.
fn each_number(summary: &mut Value, change: fn(f64) -> f64) {
    match summary {
        Value::Object(members) => members.values_mut().for_each(|it| each_number(it, change)),
        Value::Number(number) => {
            if let Some(number) = number.as_f64() {
                *summary = json!(change(number));
            }
        }
        _ => {}
    }
}

pub(super) const MUTANTS: &[Mutant] = &[
    body("list-lacks-its-last-item", |arguments, body| {
        if let Some(items) = items(arguments, body) {
            items.pop();
        }
    }),
    body("list-returns-half", |arguments, body| {
        if let Some(items) = items(arguments, body) {
            items.truncate(items.len().div_ceil(2));
        }
    }),
    body("list-reversed", |arguments, body| {
        if let Some(items) = items(arguments, body) {
            items.reverse();
        }
    }),
    body("list-repeats-its-first-item", |arguments, body| {
        if let Some(items) = items(arguments, body) {
            let first = items.first().cloned();
            items.extend(first);
        }
    }),
    body("list-always-empty", |arguments, body| {
        if let Some(items) = items(arguments, body) {
            items.clear();
        }
    }),
    request("sort-ignored", |message| ignore(message, "sort")),
    request("sort-always-ascending", |message| {
        if let Some(sort) = page_params(message).and_then(|params| params.get_mut("sort")) {
            match sort {
                Value::Array(keys) => keys.iter_mut().for_each(|key| key["order"] = json!("asc")),
                Value::Object(key) => {
                    key.insert("order".to_owned(), json!("asc"));
                }
                _ => {}
            }
        }
    }),
    request("sort-of-unknown-field-ignored", |message| {
        if let Some(params) = page_params(message)
            && let Some(field) = params.get("sort").and_then(|sort| sort.get("field"))
            && !["title", "status", "priority", "due_date", "created_at", "updated_at", "relevance"]
                .contains(&field.as_str().unwrap_or_default())
        {
            params.remove("sort");
        }
    }),
    request("filter-ignored", |message| ignore(message, "filter")),
    request("filter-negated", |message| {
        if let Some(filter) = filter(message)
            && filter.as_object().is_some_and(|members| !members.is_empty())
        {
            *filter = json!({ "not": filter.take() });
        }
    }),
    request("filter-reads-one-of-several-values", |message| {
        for condition in filter(message).and_then(Value::as_object_mut).into_iter().flatten() {
            if let Value::Array(values) = condition.1 {
                values.truncate(1);
            }
        }
    }),
    request("filter-reads-one-of-two-conditions", |message| {
        if let Some(Value::Object(filter)) = filter(message)
            && filter.len() > 1
        {
            let first = filter.keys().next().cloned();
            first.map(|first| filter.remove(&first));
        }
    }),
    request("sort-ignored-beside-a-filter", |message| {
        if let Some(params) = page_params(message)
            && params.contains_key("filter")
        {
            params.remove("sort");
        }
    }),
    request("filter-ignored-beside-a-sort", |message| {
        if let Some(params) = page_params(message)
            && params.contains_key("sort")
        {
            params.remove("filter");
        }
    }),
    request("fields-ignored-after-the-first-page", |message| {
        if let Some(params) = page_params(message)
            && params.contains_key("after")
        {
            params.remove("fields");
        }
    }),
    body("due-dates-missing-in-lists", |arguments, body| {
        for item in items(arguments, body).into_iter().flatten() {
            if let Value::Object(item) = item {
                item.remove("due_date");
            }
        }
    }),
    request("filter-of-unknown-key-ignored", |message| {
        const KEYS: [&str; 10] = [
            "title",
            "status",
            "priority",
            "tags",
            "due_date",
            "created_at",
            "_computed.is_overdue",
            "and",
            "or",
            "not",
        ];
        if let Some(Value::Object(filter)) = filter(message) {
            filter.retain(|name, _| KEYS.contains(&name.as_str()));
        }
    }),
    request("filter-takes-ne-for-eq", |message| {
        if let Some(filter) = filter(message) {
            rename(filter, "ne", "eq");
        }
    }),
    request("filter-takes-gt-for-gte", |message| {
        if let Some(filter) = filter(message) {
            rename(filter, "gt", "gte");
        }
    }),
    request("filter-takes-lt-for-lte", |message| {
        if let Some(filter) = filter(message) {
            rename(filter, "lt", "lte");
        }
    }),
    request("filter-takes-or-for-and", |message| {
        if let Some(filter) = filter(message) {
            rename(filter, "or", "and");
        }
    }),
    request("page-size-ignored", |message| {
        if let Some(params) = page_params(message)
            && !params.contains_key("after")
        {
            params.remove("first");
        }
    }),
    request("page-one-larger", |message| {
        if let Some(params) = page_params(message)
            && let Some(first) = params.get("first").and_then(Value::as_u64)
        {
            params.insert("first".to_owned(), json!(first + 1));
        }
    }),
    request("first-zero-means-default", |message| {
        if let Some(params) = page_params(message)
            && params.get("first") == Some(&json!(0))
        {
            params.remove("first");
        }
    }),
    request("negative-first-means-default", |message| {
        if let Some(params) = page_params(message)
            && params.get("first").and_then(Value::as_i64).is_some_and(|first| first < 0)
        {
            params.remove("first");
        }
    }),
    body("large-first-refused", |arguments, body| {
        let first = arguments["params"]["first"].as_u64().unwrap_or_default();
        if page(arguments, body).is_some() && first > 100 {
            *body = json!({ "success": false, "error": {
                "code": "VALIDATION_INVALID_VALUE",
                "message": "Invalid value for 'first'. Expected: at most 100",
                "details": { "param_name": "first" },
            }});
        }
    }),
    request("after-ignored", |message| ignore(message, "after")),
    request("before-ignored", |message| ignore(message, "before")),
    request("last-taken-for-first", |message| {
        if let Some(params) = page_params(message)
            && !params.contains_key("before")
            && let Some(last) = params.remove("last")
        {
            params.insert("first".to_owned(), last);
        }
    }),
    request("first-beside-last-ignored", |message| {
        if let Some(params) = page_params(message)
            && params.contains_key("last")
        {
            params.remove("first");
        }
    }),
    request("nonsense-cursor-ignored", |message| {
        if let Some(params) = page_params(message)
            && params.get("after").and_then(Value::as_str).is_some_and(|after| after.len() < 16)
        {
            params.remove("after");
        }
    }),
    body("has-next-page-never", |arguments, body| {
        if let Some(info) = info(arguments, body) {
            info.insert("hasNextPage".to_owned(), json!(false));
        }
    }),
    body("has-next-page-always", |arguments, body| {
        if let Some(info) = info(arguments, body) {
            info.insert("hasNextPage".to_owned(), json!(true));
        }
    }),
    body("has-previous-page-never", |arguments, body| {
        if let Some(info) = info(arguments, body) {
            info.insert("hasPreviousPage".to_owned(), json!(false));
        }
    }),
    body("end-cursor-missing", |arguments, body| {
        if let Some(info) = info(arguments, body) {
            info.remove("endCursor");
        }
    }),
    body("end-cursor-of-the-first-item", |arguments, body| {
        if let Some(info) = info(arguments, body)
            && let Some(start) = info.get("startCursor").cloned()
        {
            info.insert("endCursor".to_owned(), start);
        }
    }),
    body("page-info-missing", |arguments, body| {
        if let Some(Value::Object(page)) = page(arguments, body) {
            page.remove("pageInfo");
        }
    }),
    body("total-counts-the-page", |arguments, body| {
        if let Some(page) = page(arguments, body)
            && let Some(count) = page.get("items").and_then(Value::as_array).map(Vec::len)
        {
            page["pageInfo"]["totalCount"] = json!(count);
        }
    }),
    body("total-one-too-many", |arguments, body| {
        if let Some(info) = info(arguments, body)
            && let Some(total) = info.get("totalCount").and_then(Value::as_u64)
        {
            info.insert("totalCount".to_owned(), json!(total + 1));
        }
    }),
    request("fields-ignored", |message| ignore(message, "fields")),
    request("preset-minimal-taken-for-full", |message| {
        if let Some(params) = page_params(message)
            && params.get("fields") == Some(&json!("minimal"))
        {
            params.insert("fields".to_owned(), json!("full"));
        }
    }),
    request("preset-full-taken-for-standard", |message| {
        if let Some(params) = page_params(message)
            && params.get("fields") == Some(&json!("full"))
        {
            params.insert("fields".to_owned(), json!("standard"));
        }
    }),
    request("unknown-fields-ignored", |message| {
        const PATHS: [&str; 13] = [
            "task_id",
            "title",
            "description",
            "status",
            "priority",
            "tags",
            "metadata",
            "due_date",
            "created_at",
            "updated_at",
            "_version",
            "_computed.age_days",
            "_computed.is_overdue",
        ];
        if let Some(params) = page_params(message)
            && let Some(Value::Array(paths)) = params.get_mut("fields")
        {
            paths.retain(|path| path.as_str().is_some_and(|path| PATHS.contains(&path)));
            if paths.is_empty() {
                params.remove("fields");
            }
        }
    }),
    body("fields-always-with-the-title", |arguments, body| {
        for item in items(arguments, body).into_iter().flatten() {
            if item.get("title").is_none() {
                item["title"] = json!("T");
            }
        }
    }),
    body("computed-fields-missing", |arguments, body| {
        for item in items(arguments, body).into_iter().flatten() {
            if let Value::Object(item) = item {
                item.remove("_computed");
            }
        }
    }),
    body("computed-fields-beside-the-others", |arguments, body| {
        for item in items(arguments, body).into_iter().flatten() {
            if let Value::Object(item) = item
                && let Some(Value::Object(computed)) = item.remove("_computed")
            {
                item.extend(computed);
            }
        }
    }),
    request("aggregate-ignored", |message| ignore(message, "aggregate")),
    body("count-one-too-many", |arguments, body| {
        if let Some(summaries) = summaries(arguments, body) {
            each_number(summaries, |number| number + 1.0);
        }
    }),
    body("averages-rounded", |arguments, body| {
        if let Some(summaries) = summaries(arguments, body) {
            each_number(summaries, f64::floor);
        }
    }),
    request("min-and-max-exchanged", |message| {
        if let Some(aggregate) = page_params(message).and_then(|it| it.get_mut("aggregate")) {
            rename(aggregate, "min", "minimum");
            rename(aggregate, "max", "min");
            rename(aggregate, "minimum", "max");
        }
    }),
    request("sum-taken-for-average", |message| {
        if let Some(aggregate) = page_params(message).and_then(|it| it.get_mut("aggregate")) {
            rename(aggregate, "sum", "avg");
        }
    }),
    body("a-group-is-missing", |arguments, body| {
        for summary in
            summaries(arguments, body).and_then(Value::as_object_mut).into_iter().flatten()
        {
            if let Value::Object(groups) = summary.1
                && groups.len() > 1
            {
                let first = groups.keys().next().cloned();
                first.map(|first| groups.remove(&first));
            }
        }
    }),
    body("summaries-under-other-labels", |arguments, body| {
        if let Some(Value::Object(summaries)) = summaries(arguments, body) {
            *summaries = std::mem::take(summaries)
                .into_iter()
                .map(|(label, value)| (label.to_uppercase(), value))
                .collect();
        }
    }),
    body("empty-items-beside-summaries", |arguments, body| {
        if let Some(Value::Object(page)) = page(arguments, body)
            && page.contains_key("aggregations")
            && !page.contains_key("items")
        {
            page.insert("items".to_owned(), json!([]));
        }
    }),
    request("include-items-ignored", |message| ignore(message, "include_items")),
    request("summaries-ignore-the-filter", |message| {
        if let Some(params) = page_params(message)
            && params.contains_key("aggregate")
        {
            params.remove("filter");
        }
    }),
    request("unknown-function-ignored", |message| {
        if let Some(Value::Object(all)) =
            page_params(message).and_then(|it| it.get_mut("aggregate"))
        {
            const FUNCTIONS: [&str; 6] = ["count", "group_by", "sum", "avg", "min", "max"];
            for expression in all.values_mut().filter_map(Value::as_object_mut) {
                expression.retain(|name, _| FUNCTIONS.contains(&name.as_str()));
                if expression.is_empty() {
                    expression.insert("count".to_owned(), json!(true));
                }
            }
        }
    }),
    request("search-takes-words-for-a-phrase", |message| {
        if let Some(params) = params_of(message, "search_tasks")
            && let Some(Value::String(query)) = params.get_mut("query")
            && !query.contains('"')
        {
            *query = format!("\"{query}\"");
        }
    }),
    request("search-reads-the-first-word-alone", |message| {
        if let Some(params) = params_of(message, "search_tasks")
            && let Some(Value::String(query)) = params.get_mut("query")
            && let Some(word) = query.split_whitespace().next()
        {
            *query = word.to_owned();
        }
    }),
    request("search-finds-everything", |message| {
        let Some(arguments) = arguments_of(message) else { return };
        if calls(arguments, "search_tasks")
            && let Some(Value::Object(params)) = arguments.get_mut("params")
            && params.get("query").is_some_and(Value::is_string)
        {
            params.remove("query");
            arguments["operation"] = json!("list_tasks");
        }
    }),
    request("search-without-a-query-lists", |message| {
        let Some(arguments) = arguments_of(message) else { return };
        if calls(arguments, "search_tasks") && arguments["params"].get("query").is_none() {
            arguments["operation"] = json!("list_tasks");
        }
    }),
    body("applied-missing", |arguments, body| {
        if let Some(Value::Object(page)) = page(arguments, body) {
            page.remove("applied");
        }
    }),
    body("applied-states-another-order", |arguments, body| {
        if let Some(page) = page(arguments, body)
            && let Some(Value::Array(sort)) = page.pointer_mut("/applied/sort")
        {
            for key in sort {
                let order = if key["order"] == "asc" { "desc" } else { "asc" };
                key["order"] = json!(order);
            }
        }
    }),
    body("graph-without-its-last-edge", |arguments, body| {
        if let Some(data) = data(arguments, body, "query_relationships")
            && let Some(Value::Array(edges)) = data.pointer_mut("/graph/edges")
        {
            edges.pop();
        }
    }),
    body("graph-repeats-a-node", |arguments, body| {
        if let Some(data) = data(arguments, body, "query_relationships")
            && let Some(Value::Array(nodes)) = data.pointer_mut("/graph/nodes")
        {
            let first = nodes.first().cloned();
            nodes.extend(first);
        }
    }),
    request("direction-ignored", |message| {
        if let Some(direction) =
            params_of(message, "query_relationships").and_then(|params| params.get_mut("direction"))
            && ["incoming", "outgoing"].contains(&direction.as_str().unwrap_or_default())
        {
            *direction = json!("both");
        }
    }),
    request("directions-exchanged", |message| {
        if let Some(direction) =
            params_of(message, "query_relationships").and_then(|params| params.get_mut("direction"))
        {
            let other = match direction.as_str() {
                Some("incoming") => "outgoing",
                Some("outgoing") => "incoming",
                _ => return,
            };
            *direction = json!(other);
        }
    }),
    request("depth-ignored", |message| {
        if let Some(params) = params_of(message, "query_relationships")
            && params.get("depth").and_then(Value::as_u64).is_some_and(|depth| depth > 0)
        {
            params.remove("depth");
        }
    }),
    request("relationship-ignored", |message| {
        if let Some(params) = params_of(message, "query_relationships")
            && params.get("relationship").is_some_and(|it| it == "references" || it == "composes")
        {
            params.remove("relationship");
        }
    }),
    request("include-ignored", |message| {
        if let Some(params) = params_of(message, "query_relationships")
            && params.get("include").is_some_and(Value::is_array)
        {
            params.remove("include");
        }
    }),
];
