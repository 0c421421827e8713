//! Tests of call plans: discovery, templates, filters and adapters.

use proptest::prelude::*;
use rmcp::model::{CallToolResult, ContentBlock, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::*;
use crate::config::ServerSettings;

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => panic!("{value} is no object"),
    }
}

fn tool(name: &'static str, schema: Value) -> Tool {
    Tool::new_with_raw(name, None, object(schema))
}

fn reading(tool: Tool) -> Tool {
    tool.with_annotations(ToolAnnotations::new().read_only(true))
}

fn query_schema() -> Value {
    json!({ "type": "object", "properties": { "query": { "type": "string" } }, "required": ["query"] })
}

/// Returns the settings of a server with these calls.
fn settings(calls: Value) -> ServerSettings {
    let text = json!({
        "mcpServers": { "a": { "command": "x" } },
        "aggregator": { "servers": { "a": { "calls": calls } } },
    });
    let variable = |name: &str| (name == "TOKEN").then(|| "s3cr3t {query} '".to_owned());
    let config = crate::config::Config::from_json(&text.to_string(), &variable).unwrap();
    config.servers[0].settings.clone()
}

/// Returns the arguments that a call sends for a query.
fn sent(arguments: Value, query: &str) -> Vec<Value> {
    let schema = json!({ "type": "object", "properties": {}, "required": [] });
    let settings = settings(json!([{ "tool": "t", "arguments": arguments }]));
    let plan = Plan::of(&[tool("t", schema)], &settings.calls, Discovery::Annotated).unwrap();
    plan.calls(query, 25).into_iter().map(|call| call.arguments.into()).collect()
}

fn found(tools: &[Tool], discovery: Discovery) -> Vec<(String, Value)> {
    match Plan::of(tools, &[], discovery) {
        Ok(plan) => plan
            .calls("ownership in rust", 50)
            .into_iter()
            .map(|call| (call.tool, call.arguments.into()))
            .collect(),
        Err(NoPlan::NoTool { .. } | NoPlan::Off) => Vec::new(),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn read_only_search_tools_are_found() {
    let all = [
        tool("search_unannotated", query_schema()),
        reading(tool("search_nodes", query_schema())),
        reading(tool("get-env", json!({ "type": "object" }))),
        reading(tool("get_node", query_schema())),
    ];
    let query = json!({ "query": "ownership in rust" });
    assert_eq!(found(&all, Discovery::Annotated), [("search_nodes".to_owned(), query.clone())]);
    assert_eq!(
        found(&all, Discovery::Named),
        [("search_unannotated".to_owned(), query.clone()), ("search_nodes".to_owned(), query)]
    );
    assert!(found(&all, Discovery::Off).is_empty());
}

#[test]
fn unsafe_tools_and_tools_with_further_arguments_are_not_found() {
    let schema = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required });
    let text = json!({ "type": "string" });
    let annotated =
        |name, hints: ToolAnnotations| tool(name, query_schema()).with_annotations(hints);
    let hints = ToolAnnotations::new;
    for tool in [
        annotated("search", hints().read_only(false)),
        annotated("search", hints().read_only(true).destructive(true)),
        annotated("search", hints().destructive(true)),
        reading(tool("search_and_replace", query_schema())),
        reading(tool("searchAndDelete", query_schema())),
        reading(tool("find-or-create", query_schema())),
        reading(tool("askHuman", query_schema())),
        reading(tool("run_search", query_schema())),
        reading(tool("find_and_book", query_schema())),
        reading(tool("read_query", query_schema())),
        reading(tool("echo", query_schema())),
        reading(tool(
            "search",
            schema(json!({ "query": text, "path": text }), json!(["query", "path"])),
        )),
        reading(tool("search", schema(json!({ "path": text }), json!(["path"])))),
        reading(tool(
            "search",
            schema(json!({ "query": { "type": "integer" } }), json!(["query"])),
        )),
        reading(tool(
            "search",
            schema(json!({ "query": { "type": "string", "enum": ["a"] } }), json!(["query"])),
        )),
        reading(tool(
            "search",
            schema(
                json!({ "query": { "anyOf": [{ "type": "string", "pattern": "^[a-z]+$" }, { "type": "null" }] } }),
                json!(["query"]),
            ),
        )),
        reading(tool("search", schema(json!({ "query": text }), json!([])))),
        reading(tool("search", schema(json!({}), json!(["query"])))),
        reading(tool("search", json!({ "properties": 5, "required": "query" }))),
        reading(tool("search", json!({}))),
    ] {
        assert!(found(std::slice::from_ref(&tool), Discovery::Named).is_empty(), "{tool:?}");
    }
}

#[test]
fn tools_found_by_name_only_search() {
    for (name, is_found) in [
        ("search_docs", true),
        ("search_and_rank", true),
        ("findAndSummarizePages", true),
        ("ask_docs", true),
        ("find_users", true),
        ("search_and_place_order", false),
        ("find_and_email", false),
        ("lookupAndRefund", false),
        ("search_then_notify", false),
        ("search_and", false),
        ("ask_user", false),
        ("ask_for_humans", false),
    ] {
        let tools = [tool(name, query_schema())];
        assert_eq!(found(&tools, Discovery::Named).len(), usize::from(is_found), "{name}");
    }
    let asks_a_person = [reading(tool("ask_user", query_schema()))];
    assert!(found(&asks_a_person, Discovery::Annotated).is_empty(), "whatever it says of itself");
}

#[test]
fn possible_tools_are_suggested() {
    let tools = [
        tool("git_log", json!({ "properties": { "repo_path": { "type": "string" } } })),
        tool("delete_page", query_schema()),
        tool("get_time", json!({ "properties": {} })),
    ];
    let why = |tools: &[Tool]| Plan::of(tools, &[], Discovery::Annotated).unwrap_err().to_string();
    assert!(why(&tools).ends_with("these tools accept a string: `git_log`"), "{}", why(&tools));
    assert_eq!(why(&tools[1..]), "the server has no search tool");
}

#[test]
fn arguments_respect_the_schema() {
    let search = |properties: Value, required: &str| {
        let schema = json!({ "type": "object", "properties": properties, "required": [required] });
        found(&[reading(tool("searchDocs", schema))], Discovery::Annotated).pop().unwrap().1
    };
    for (shows, properties, required, expected) in [
        (
            "a limit, not more than is of use",
            json!({ "q": { "type": "string" }, "top_k": { "type": "integer" } }),
            "q",
            json!({ "q": "ownership in rust", "top_k": 30 }),
        ),
        (
            "nor more than is allowed",
            json!({ "query": { "type": "string" }, "maxResults": { "type": "number", "maximum": 10 } }),
            "query",
            json!({ "query": "ownership in rust", "maxResults": 10 }),
        ),
        (
            "where a choice says so, too",
            json!({
                "query": { "anyOf": [{ "type": "string", "maxLength": 13 }, { "type": "null" }] },
                "limit": { "anyOf": [{ "type": "integer", "minimum": 1, "maximum": 10 }, { "type": "null" }] },
            }),
            "query",
            json!({ "query": "ownership in", "limit": 10 }),
        ),
        (
            "nor less than is wanted",
            json!({ "query": { "type": "string" }, "limit": { "oneOf": [{ "type": "number", "minimum": 35.0 }] } }),
            "query",
            json!({ "query": "ownership in rust", "limit": 35 }),
        ),
        (
            "a limit that is no number is left alone",
            json!({ "query": { "type": "string" }, "limit": { "type": "string" } }),
            "query",
            json!({ "query": "ownership in rust" }),
        ),
        (
            "a text that may be null, too",
            json!({ "searchTerm": { "anyOf": [{ "type": "string" }, { "type": "null" }] } }),
            "searchTerm",
            json!({ "searchTerm": "ownership in rust" }),
        ),
        (
            "a list of words",
            json!({ "keywords": { "type": "array", "items": { "type": "string" } } }),
            "keywords",
            json!({ "keywords": ["ownership", "rust"] }),
        ),
        (
            "as many words as fit",
            json!({ "query": { "type": ["string", "null"], "maxLength": 13 } }),
            "query",
            json!({ "query": "ownership in" }),
        ),
        (
            "or a part of one",
            json!({ "query": { "type": "string", "maxLength": 5 } }),
            "query",
            json!({ "query": "owner" }),
        ),
    ] {
        assert_eq!(search(properties, required), expected, "{shows}");
    }
}

#[test]
fn every_query_fills_the_template() {
    let schema = json!({ "properties": { "q": { "type": "string", "maxLength": 20 } } });
    let plan = |template: &str| {
        let calls = json!([{ "tool": "t", "arguments": { "q": template } }]);
        Plan::of(&[tool("t", schema.clone())], &settings(calls).calls, Discovery::Off).unwrap()
    };
    let quotes = "'".repeat(30);
    let queries = [
        "如何在数据库中配置连接池以及连接池已满时会发生什么情况",
        "Donaudampfschifffahrtsgesellschaftskapitän",
        "((((((((((((((((((((((",
        quotes.as_str(),
        "one two three four five six",
    ];
    for template in
        ["{query}", "{query|regex}", "{keywords|regexOr}", "{keyword|regex}", "'{query|sqlString}'"]
    {
        for query in queries {
            let calls = plan(template).calls(query, 10);
            assert!(!calls.is_empty(), "{template}: {query}");
            for call in calls {
                let put = call.arguments["q"].as_str().unwrap();
                assert!((3..=20).contains(&put.chars().count()), "{template}: {query}: {put}");
            }
        }
    }
    assert!(plan("a template that is too long {query|raw}").calls("x", 1).is_empty());
}

#[test]
fn nouns_are_not_taken_for_verbs() {
    for name in
        ["search_app_store", "find_order", "searchCommit", "search_posts", "research_search"]
    {
        assert_eq!(
            found(&[reading(tool(name, query_schema()))], Discovery::Annotated).len(),
            1,
            "{name}"
        );
    }
}

#[test]
fn the_most_certain_tools_are_selected_up_to_a_limit() {
    let named = |name, argument: &str| {
        let schema =
            json!({ "properties": { argument: { "type": "string" } }, "required": [argument] });
        reading(tool(name, schema))
    };
    let tools = [
        named("ask_docs", "question"),
        named("find_docs", "query"),
        named("search_text", "text"),
        named("search_a", "query"),
        named("search_b", "query"),
        named("lookup_docs", "query"),
    ];
    let names: Vec<_> =
        found(&tools, Discovery::Annotated).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["search_a", "search_b", "search_text", "find_docs"]);
}

#[test]
fn single_words_are_searched_after_the_whole_query() {
    let schema = json!({
        "properties": { "query": { "type": "string" }, "limit": { "type": "integer" } }, "required": ["query"],
    });
    let tools = [reading(tool("search_nodes", schema))];
    let plan = Plan::of(&tools, &[], Discovery::Annotated).unwrap();
    let again = |query: &str| -> Vec<Value> {
        plan.again(query, 9).into_iter().map(|call| call.arguments.into()).collect()
    };
    assert_eq!(
        again("async runtimes in rust"),
        [
            json!({ "query": "runtimes", "limit": 9 }),
            json!({ "query": "async", "limit": 9 }),
            json!({ "query": "rust", "limit": 9 }),
        ]
    );
    assert_eq!(again("what about Rust?"), [json!({ "query": "Rust", "limit": 9 })]);
    assert!(again("rust").is_empty(), "that was asked already");
    let configured = settings(json!([{ "tool": "search_nodes" }]));
    let plan = Plan::of(&tools, &configured.calls, Discovery::Annotated).unwrap();
    assert!(plan.again("async runtimes in rust", 9).is_empty(), "what is configured is all");
}

#[test]
fn sample_shows_the_calls_that_are_made() {
    let annotated =
        |name| tool(name, query_schema()).with_annotations(ToolAnnotations::new().read_only(true));
    let tools = [annotated("search_b"), annotated("search_a")];
    let plan = Plan::of(&tools, &[], Discovery::Annotated).unwrap();
    let query = "how do runtimes block";
    let made: Vec<_> = [plan.calls(query, 9), plan.again(query, 9)].concat();
    let (places, shown): (Vec<_>, Vec<_>) = plan.sample(query, 9).into_iter().unzip();
    assert_eq!(shown, made);
    assert_eq!(places, [0, 1, 0, 0, 1, 1]);
    assert!(plan.describe()[1].tool == "search_a" && shown[5].tool == "search_a");
}

#[test]
fn the_default_limit_is_capped() {
    let schema = json!({
        "properties": { "query": { "type": "string" }, "top_k": { "type": "integer" } }, "required": ["query"],
    });
    let limit = |call: Value| {
        let plan = Plan::of(
            &[tool("t", schema.clone())],
            &settings(json!([call])).calls,
            Discovery::Annotated,
        );
        plan.unwrap().calls("rust", 100)[0].arguments["top_k"].clone()
    };
    assert_eq!(limit(json!({ "tool": "t" })), 30);
    assert_eq!(
        limit(json!({ "tool": "t", "arguments": { "query": "{query}", "top_k": "{limit}" } })),
        100
    );
}

#[test]
fn the_likeliest_tool_is_suggested_without_a_certain_one() {
    let why = |tools: &[Tool]| Plan::of(tools, &[], Discovery::Annotated).unwrap_err().to_string();
    let two = json!({
        "properties": { "path": { "type": "string" }, "pattern": { "type": "string" } },
        "required": ["path", "pattern"],
    });
    let clock = tool("get_time", json!({}));
    let writes = tool("search_log", query_schema())
        .with_annotations(ToolAnnotations::new().read_only(false));
    for (tools, told) in [
        (
            vec![
                clock.clone(),
                tool("find_files", two.clone()),
                tool("search_docs", query_schema()),
            ],
            r#""calls": [{"tool":"search_docs"}] for this server"#,
        ),
        (
            vec![clock.clone(), tool("search", two)],
            r#"{"arguments":{"path":"…","pattern":"{query}"},"tool":"search"}"#,
        ),
        (vec![clock.clone(), writes], "the server has no search tool"),
        (vec![clock, tool("search_and_replace", query_schema())], "the server has no search tool"),
        (vec![], "the server has no search tool"),
    ] {
        let why = why(&tools);
        assert!(why.contains(told), "{why}");
    }
}

#[test]
fn names_are_split_into_words() {
    for (name, expected) in [
        ("search_nodes", vec!["search", "nodes"]),
        ("searchDocs", vec!["search", "docs"]),
        ("HTTPSearch", vec!["http", "search"]),
        ("brave.web-search", vec!["brave", "web", "search"]),
        ("research", vec!["research"]),
        ("__", vec![]),
    ] {
        assert_eq!(discover::words(name), expected);
    }
}

#[test]
fn templates_are_filled() {
    let query = "How do I write async code in Rust's runtime?";
    for (shows, arguments, expected) in [
        ("the query", json!({ "q": "{query}" }), json!({ "q": query })),
        (
            "in the midst of text",
            json!({ "q": "about: {query|raw}!" }),
            json!({ "q": format!("about: {query}!") }),
        ),
        ("the number of results as a number", json!({ "n": "{limit}" }), json!({ "n": 25 })),
        ("and in text", json!({ "n": "LIMIT {limit}" }), json!({ "n": "LIMIT 25" })),
        (
            "at any depth, other values as they are",
            json!({ "a": { "b": ["{query}", 1, null] }, "c": true }),
            json!({ "a": { "b": [query, 1, null] }, "c": true }),
        ),
        (
            "braces that are no places",
            json!({ "q": "{ id } {} {{ a }} {\"a\": 1}" }),
            json!({ "q": "{ id } {} {{ a }} {\"a\": 1}" }),
        ),
        (
            "places that are meant as text",
            json!({ "q": "{{query}} {{a|b}}" }),
            json!({ "q": "{query} {a|b}" }),
        ),
        (
            "what a variable holds is no template",
            json!({ "q": "${TOKEN}: {query|raw}" }),
            json!({ "q": format!("s3cr3t {{query}} ': {query}") }),
        ),
    ] {
        assert_eq!(sent(arguments, query), [expected], "{shows}");
    }
}

#[test]
fn keywords_are_the_content_words_of_a_query() {
    let words = mcp_aql_rank::texts::content_words("How is async code written in Rust?");
    let query = "How is async code written in Rust?";
    assert_eq!(sent(json!({ "q": "{keywords}" }), query), [json!({ "q": words.join(" ") })]);
    assert_eq!(sent(json!({ "q": ["{words}"] }), query), [json!({ "q": words })]);
    let each = sent(json!({ "q": "{keyword}", "a": "x" }), query);
    let longest: Vec<_> = each.iter().map(|call| call["q"].as_str().unwrap().len()).collect();
    assert!(longest.is_sorted_by(|one, next| one >= next), "the longest first: {each:?}");
    assert_eq!(sent(json!({ "q": "{keyword}" }), "alpha beta gamma delta epsilon zeta").len(), 4);
    assert_eq!(sent(json!({ "q": "{keyword}" }), "alpha ALPHA alpha").len(), 1, "each once");
    // REQ-AGR-02: a query may consist of one character or of stop words alone.
    for query in ["?", "to be or not to be", " x "] {
        for template in ["{keywords}", "{keyword}"] {
            let all = sent(json!({ "q": template }), query);
            assert!(!all.is_empty(), "{query}");
            assert!(
                all.iter().all(|call| !call["q"].as_str().unwrap().trim().is_empty()),
                "{all:?}"
            );
        }
    }
}

#[test]
fn filters_encode_a_query() {
    for (shows, template, query, expected) in [
        ("a regular expression", "{query|regex}", "a.b(c) [x]*", r"a\.b\(c\) \[x\]\*"),
        ("any of the words", "{query|regexOr}", "a.b c|d", r"a\.b|c\|d"),
        ("no option of a program", "{query|regex}", "--pre=sh x", "[-]-pre=sh x"),
        ("nor without a filter", "{query}", "--help me", "help me"),
        ("of dashes alone", "{query}", "--", " --"),
        ("names of files", "**/*{query|glob}*", "../a*b[c]{d}", "**/*???a?b?c??d?*"),
        ("a full-text query", "{query|fts5Or}", "say \"x\" NEAR", r#""say" OR """x""" OR "NEAR""#),
        (
            "a segment of a path",
            "/docs/{query|pathSegment}",
            "a/../b c?",
            "/docs/a%2F..%2Fb%20c%3F",
        ),
        ("not another folder", "/docs/{query|pathSegment}", "..", "/docs/__"),
        ("nor with a dot before it", "/docs/.{query|pathSegment}", ".", "/docs/._"),
        ("nor the end of a text", "/{query|pathSegment}", "a\0b", "/a%20b"),
        (
            "a value in a URL",
            "https://a/?q={query|pathSegment}",
            "a&b=c#d",
            "https://a/?q=a%26b%3Dc%23d",
        ),
        (
            "a word of a shell",
            "grep -r {query|shellWord} /docs",
            "it's $(x)",
            r"grep -r 'it'\''s $(x)' /docs",
        ),
        ("no option of a program", "grep {query|shellWord}", "--pre=sh x", "grep 'pre=sh x'"),
        ("all words as one", "grep {keywords|shellWord}", "rust; async", "grep 'rust async'"),
        ("as it is", "'{query|raw}'", "it's", "'it's'"),
        ("a string in SQL", "… '{query|sqlString}'", r"it's \' x", r"… 'it''s  '' x'"),
        (
            "both",
            "SELECT x FROM t WHERE t MATCH '{query|fts5Or|sqlString}'",
            "it's so",
            r#"SELECT x FROM t WHERE t MATCH '"it''s" OR "so"'"#,
        ),
    ] {
        assert_eq!(sent(json!({ "q": template }), query), [json!({ "q": expected })], "{shows}");
    }
}

#[test]
fn unsafe_templates_are_rejected() {
    let fault = |template: Value| {
        ArgumentsTemplate::read(&json!({ "q": template }), &|_| None).unwrap_err().remove(0).1
    };
    for (template, message) in [
        (json!("select * from t where a = '{query}'"), "write '{query|sqlString}'"),
        (json!("WITH x AS (SELECT 1) SELECT '{query|fts5Or}'"), "write '{query|fts5Or|sqlString}'"),
        (json!("SELECT\n body FROM t WHERE a LIKE '%{query}%'"), "write '{query|sqlString}'"),
        (json!("SELECT body\nFROM t WHERE a LIKE '%{query}%'"), "write '{query|sqlString}'"),
        (json!("SELECT\tbody FROM t WHERE a = {query}"), "write '{query|sqlString}'"),
        (json!("/* x */ SELECT\n* FROM t WHERE a='{query}'"), "write '{query|sqlString}'"),
        (json!("SELECT*FROM t WHERE a='{query}'"), "write '{query|sqlString}'"),
        (json!("SELECT f({query})"), "write '{query|sqlString}'"),
        (json!("VALUES ('{query}')"), "write '{query|sqlString}'"),
        (json!("INSERT INTO t VALUES ({query})"), "write '{query|sqlString}'"),
        (json!("SELECT a FROM t WHERE b = '{query|raw}'"), "write '{query|sqlString}'"),
        (json!("SELECT a FROM t WHERE b = 'x' '{query|raw}'"), "write '{query|sqlString}'"),
        (json!("MATCH (n) WHERE n.a = '{query}'"), "or '{query|raw}' if this is not SQL"),
        (json!("what's in '{query}'"), "or '{query|raw}' if this is not SQL"),
        (json!("SELECT {query|sqlString}"), "between single quotes"),
        (json!("{queries}"), "did you mean `{query}`?"),
        (json!("{nonsense}"), "write `{{nonsense}}` for literal braces"),
        (
            json!("{query|nonsense}"),
            "the filters are regex, regexOr, glob, fts5Or, sqlString, pathSegment, shellWord, raw",
        ),
        (json!("{words}"), "[\"{words}\"]"),
        (json!("{limit|regex}"), "does not accept filters"),
        (json!("${NONE}"), "the environment variable `NONE` is not set"),
    ] {
        let fault = fault(template.clone());
        assert!(fault.contains(message), "{template}: {fault}");
    }
    // A single keyword or an apostrophe does not make SQL.
    for template in [
        "select",
        "what's {query|raw}",
        "it's '{query|raw}'",
        "how to update {query|raw}",
        "replace {query|raw}",
    ] {
        assert!(
            ArgumentsTemplate::read(&json!({ "q": template }), &|_| None).is_ok(),
            "{template}"
        );
    }
}

#[test]
fn placeholders_within_a_text_need_a_filter() {
    let read = |arguments: &Value| {
        let read = ArgumentsTemplate::read(arguments, &|_| Some("sh".to_owned()));
        read.map(drop).map_err(|mut faults| faults.remove(0).1)
    };
    for (arguments, proposed) in [
        (json!({ "q": "/docs/{query}" }), "`{query|pathSegment}` or `{query|shellWord}`"),
        (json!({ "q": "grep -r {query} /docs" }), "`{query|shellWord}`"),
        (json!({ "q": "about {keywords}" }), "`{keywords|raw}`"),
        (json!({ "q": "{query} {keyword}" }), "`{query|raw}`"),
        (json!({ "q": "${HOME}{query}" }), "`{query|raw}`"),
        (json!({ "q": "https://example.org/{query}" }), "this URL: write `{query|pathSegment}`"),
        (json!({ "q": "https://example.org/{query|regex}" }), "`{query|regex|pathSegment}`"),
        (json!({ "url": "{query}" }), "this URL: write `{query|pathSegment}`, or `{query|raw}`"),
        (json!({ "pageUrls": ["{words}"] }), "`{words|pathSegment}`"),
        (json!({ "a": { "uri": "{query|regex}" } }), "`{query|regex|pathSegment}`"),
        (json!({ "repo_path": "{query}" }), "`{query|pathSegment}` or `{query|glob}`"),
        (json!({ "fileName": "{query}" }), "this path"),
        (json!({ "file": "{query|shellWord}" }), "`{query|shellWord|glob}`"),
        (json!({ "command": "{query}" }), "this command: write `{query|shellWord}`"),
        (json!({ "command": "grep -r {query|regex} /docs" }), "`{query|regex|shellWord}`"),
        (json!({ "command": ["grep", "{query}"] }), "`{query|raw}`"),
        (json!({ "sql": "{query}" }), "this command"),
        (
            json!({ "command": "grep '{query|shellWord}'" }),
            "write {query|shellWord} without quotes",
        ),
        (json!({ "q": "grep '{query|shellWord}'" }), "write {query|shellWord} without quotes"),
        (
            json!({ "q": "sh -c \"grep {query|shellWord}\"" }),
            "write {query|shellWord} without quotes",
        ),
        (json!({ "command": "sh -c {query|shellWord}" }), "`sh -c` reads a query"),
        (json!({ "q": "${SHELL} -c {query|shellWord}" }), "`sh -c` reads a query"),
        (json!({ "q": "cat <<E\n{query|shellWord}\nE" }), "a here-document reads a query"),
        (json!({ "command": "grep '{query}'" }), "write {query|shellWord} without quotes"),
        (
            json!({ "command": "grep '{query|regex}'" }),
            "write {query|regex|shellWord} without quotes",
        ),
    ] {
        let fault = read(&arguments).unwrap_err();
        assert!(fault.contains(proposed), "{arguments}: {fault}");
    }
    for arguments in [
        json!({ "q": "{query}" }),
        json!({ "list": ["{query}", "{words}"] }),
        json!({ "n": "first {limit}" }),
        json!({ "q": "/docs/{query|regex}" }),
        json!({ "url": "https://example.org/{query|pathSegment}" }),
        json!({ "url": "{query|raw}" }),
        json!({ "path": "**/*{keyword|glob}*" }),
        json!({ "command": "grep -r {query|shellWord} /docs" }),
        json!({ "command": "grep 'TODO' \"a b\" {query|shellWord}" }),
        json!({ "command": "sh -c 'grep \"$1\" notes' sh {query|shellWord}" }),
        json!({ "command": ["grep", "{query|raw}"] }),
        json!({ "file_pattern": "{query}" }),
        json!({ "path": "/docs", "q": "{query}" }),
    ] {
        assert_eq!(read(&arguments), Ok(()), "{arguments}");
    }
}

#[test]
fn a_plan_is_described_without_secrets() {
    let settings = settings(json!([{
        "tool": "t", "items": "hits",
        "arguments": { "q": "x {query|regex} {{query}}", "key": "${TOKEN}", "n": "{limit}", "w": ["{words}"] },
    }]));
    let plan = Plan::of(&[tool("t", json!({}))], &settings.calls, Discovery::Off).unwrap();
    let told = serde_json::to_value(plan.describe()).unwrap();
    assert_eq!(
        told,
        json!([{
            "tool": "t", "why": "configured", "items": "hits",
            "arguments": { "q": "x {query|regex} {{query}}", "key": "${TOKEN}", "n": "{limit}", "w": ["{words}"] },
        }])
    );
    let (_, sample) = plan.sample("rust", 5).remove(0);
    assert_eq!(
        Value::from(sample.arguments),
        json!({ "q": "x rust {query}", "key": "${TOKEN}", "n": 5, "w": ["rust"] })
    );
    assert!(plan.calls("rust", 5)[0].arguments["key"].as_str().unwrap().contains("s3cr3t"));
    assert_eq!(plan.sample("rust", 5).len(), 1);
    let debug = format!("{plan:?} {settings:?} {:?}", plan.calls("rust", 5));
    assert!(!debug.contains("s3cr3t"), "{debug}");
}

#[test]
fn configured_calls_are_checked_against_the_tools() {
    let writes =
        tool("search_b", query_schema()).with_annotations(ToolAnnotations::new().read_only(false));
    let two = json!({
        "properties": { "path": { "type": "string" }, "pattern": { "type": "string" }, "kind": { "type": "string", "default": "x" } },
        "required": ["path", "pattern", "kind"],
    });
    let tools = [tool("search_a", query_schema()), writes, tool("grep", two)];
    let plan = |calls: Value| Plan::of(&tools, &settings(calls).calls, Discovery::Annotated);
    for (call, problem) in [
        (
            json!({ "tool": "serch_a" }),
            "the server has no tool `serch_a`: did you mean `search_a`?",
        ),
        (
            json!({ "tool": "x" }),
            "the server has no tool `x`: the tools are `search_a`, `search_b`, `grep`",
        ),
        (
            json!({ "tool": "search_b" }),
            "the tool `search_b` declares that it changes something: if the call is safe, add \
             \"mayWrite\": true to it",
        ),
        (
            json!({ "tool": "grep" }),
            "the argument for the query is ambiguous: write `arguments` for `grep`, which accepts `kind`, `path`, \
             `pattern`",
        ),
        (
            json!({ "tool": "grep", "arguments": { "pattern": "{query}" } }),
            "the tool `grep` requires `path`: add it to `arguments`",
        ),
        (
            json!({ "tool": "grep", "arguments": { "pattern": "{query}", "path": "/", "knid": "f" } }),
            "the tool `grep` does not accept `knid`: did you mean `kind`?",
        ),
    ] {
        let refused = plan(json!([call])).unwrap_err();
        assert_eq!(refused.to_string(), problem);
        // The problem is reported, and the other call is made.
        let kept = plan(json!([call, { "tool": "search_a" }])).unwrap();
        assert_eq!(kept.calls("x", 1).len(), 1);
        assert_eq!(kept.problems()[0].to_string(), problem);
    }
    // A tool without annotations is judged by its name.
    let names = ["delete_everything", "run_query", "search_and_replace"];
    for name in names {
        let calls = |may: bool| settings(json!([{ "tool": name, "mayWrite": may }]));
        let told = |tool: Tool, may| Plan::of(&[tool], &calls(may).calls, Discovery::Annotated);
        let refused = told(tool(name, query_schema()), false).unwrap_err().to_string();
        assert!(refused.contains("is not annotated as read-only"), "{refused}");
        assert!(told(tool(name, query_schema()), true).is_ok());
        assert!(told(reading(tool(name, query_schema())), false).is_ok());
    }
    for call in [
        json!({ "tool": "search_b", "mayWrite": true }),
        json!({ "tool": "grep", "arguments": { "path": "/", "pattern": "{query}" } }),
    ] {
        assert_eq!(plan(json!([call])).unwrap().calls("x", 1).len(), 1);
    }
}

// MCP-AQL adapters.

fn endpoint(name: &'static str, reads: bool) -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "operation": { "type": "string" },
            "params": { "type": "object", "additionalProperties": true },
        },
        "required": ["operation"],
    });
    Tool::new(name, "Call { operation: \"introspect\", … } first.", object(schema))
        .with_annotations(ToolAnnotations::new().read_only(reads).destructive(!reads))
}

fn success(data: Value) -> CallToolResult {
    let reply = json!({ "success": true, "data": data });
    CallToolResult::success(vec![ContentBlock::text(reply.to_string())])
}

fn listed_operations(names: &[(&str, &str)]) -> CallToolResult {
    let operations: Vec<_> = names
        .iter()
        .map(|(name, category)| {
            json!({ "name": name, "semantic_category": category, "endpoint": "read", "description": "" })
        })
        .collect();
    success(json!({ "_protocol": { "version": "1.0.0-draft" }, "operations": operations }))
}

fn details(name: &str, tool: &str) -> Value {
    json!({
        "name": name, "semantic_category": "READ", "endpoint": "read", "mcpTool": tool,
        "description": "", "permissions": { "readOnly": true, "destructive": false },
        "parameters": [
            { "name": "query", "type": "string", "required": true, "maxLength": 12 },
            { "name": "fields", "type": "string or array", "required": false },
            { "name": "first", "type": "integer", "required": false, "maximum": 20 },
        ],
        "returns": { "name": "Page", "kind": "object" },
    })
}

/// Runs discovery on an adapter's answers. Returns the calls made and the plan.
fn learn(
    tools: &[Tool],
    answer: impl Fn(&PlannedCall) -> Option<CallToolResult>,
) -> (Vec<PlannedCall>, Result<Plan, NoPlan>) {
    let mut learning = AdapterDiscovery::of(tools, &[], Discovery::Annotated).expect("an adapter");
    let mut made = Vec::new();
    while let Some(call) = learning.next() {
        learning.take(answer(&call).as_ref(), tools);
        made.push(call);
        assert!(made.len() < 20, "{made:?}");
    }
    (made, learning.plan(tools, &[], Discovery::Annotated))
}

/// Returns the calls to an adapter with these details of `search_tasks`.
fn operation(tools: &[Tool], details: Value) -> Vec<PlannedCall> {
    let (_, plan) = learn(tools, |call| {
        Some(match call.arguments["params"].get("name") {
            None => listed_operations(&[("get_task", "READ"), ("search_tasks", "READ")]),
            Some(_) => success(json!({ "operation": details })),
        })
    });
    plan.map(|plan| plan.calls("overdue invoices", 50)).unwrap_or_default()
}

#[test]
fn adapters_are_called_through_their_own_tools() {
    // REQ-COL-02
    let asked = json!({
        "operation": "search_tasks",
        "params": { "query": "overdue", "first": 20, "fields": "standard" },
    });
    for (tools, read) in [
        (vec![endpoint("mcp_aql_delete", false), endpoint("mcp_aql_read", true)], "mcp_aql_read"),
        (vec![endpoint("mcp_aql", false)], "mcp_aql"),
        (vec![endpoint("notes_mcp_aql", false)], "notes_mcp_aql"),
        (vec![endpoint("look", true), endpoint("change", false)], "look"),
    ] {
        let calls = operation(&tools, details("search_tasks", read));
        assert_eq!(calls.len(), 1, "{read}");
        assert_eq!(
            (calls[0].tool.as_str(), Value::from(calls[0].arguments.clone())),
            (read, asked.clone())
        );
    }
}

#[test]
fn read_only_operations_may_be_configured() {
    let tools = [endpoint("mcp_aql", false), endpoint("mcp_aql_delete", false)];
    let plan = |tool: &str, operation: &str| {
        let arguments = json!({ "operation": operation, "params": { "query": "{query}" } });
        let calls = json!([{ "tool": tool, "arguments": arguments }]);
        Plan::of(&tools, &settings(calls).calls, Discovery::Annotated)
    };
    let calls = plan("mcp_aql", "find_tasks").unwrap().calls("x", 1);
    assert_eq!(calls[0].arguments["params"], json!({ "query": "x" }));
    for (tool, operation) in
        [("mcp_aql", "delete_tasks"), ("mcp_aql", "{query}"), ("mcp_aql_delete", "find_tasks")]
    {
        let refused = plan(tool, operation);
        assert!(matches!(refused, Err(NoPlan::Configured(_))), "{tool} {operation}: {refused:?}");
    }
}

#[test]
fn discovery_only_calls_introspection() {
    let names: Vec<String> = (0..20).map(|number| format!("search_{number:02}")).collect();
    let mut all: Vec<_> = names.iter().map(|name| (name.as_str(), "READ")).collect();
    all.extend([("search_and_destroy", "READ"), ("search_x", "DELETE"), ("list_y", "READ")]);
    let tools = [endpoint("mcp_aql_read", true)];
    let (made, plan) = learn(&tools, |call| {
        Some(match call.arguments["params"].get("name").and_then(Value::as_str) {
            None => listed_operations(&all),
            // Every other operation requires more arguments.
            Some(name) if name.ends_with(['1', '3', '5', '7', '9']) => success(json!({})),
            Some(name) => success(json!({ "operation": details(name, "mcp_aql_read") })),
        })
    });
    assert!(made.iter().all(|call| call.arguments["operation"] == "introspect"));
    assert_eq!(made.len(), 8, "the list, and in full until four are found: {made:?}");
    let calls = plan.unwrap().calls("x", 1);
    let asked: Vec<_> = calls.iter().map(|call| call.arguments["operation"].clone()).collect();
    assert_eq!(asked, ["search_00", "search_02", "search_04", "search_06"]);
}

#[test]
fn unsafe_operations_and_operations_with_further_arguments_are_not_called() {
    let tools = [
        endpoint("mcp_aql_read", true),
        endpoint("mcp_aql_delete", false),
        tool("drop", json!({})),
    ];
    let good = details("search_tasks", "mcp_aql_read");
    assert_eq!(operation(&tools, good.clone()).len(), 1);
    for (path, value) in [
        ("/name", json!("search_other")),
        ("/semantic_category", json!("UPDATE")),
        ("/permissions/readOnly", json!(false)),
        ("/permissions/destructive", json!(true)),
        ("/permissions", json!(null)),
        ("/mcpTool", json!("mcp_aql_delete")),
        ("/mcpTool", json!("drop")),
        ("/mcpTool", json!("none")),
        ("/mcpTool", json!(1)),
        ("/parameters", json!({})),
        ("/parameters/0/required", json!(false)),
        ("/parameters/1/required", json!(true)),
        ("/parameters/0/type", json!("TaskFilter")),
        ("/parameters/0/name", json!("path")),
    ] {
        let mut details = good.clone();
        *details.pointer_mut(path).unwrap() = value.clone();
        assert!(operation(&tools, details).is_empty(), "{path}: {value}");
    }
}

#[test]
fn other_servers_are_not_taken_for_adapters() {
    let settings = ServerSettings::default();
    let of = |tool: Tool, settings: &ServerSettings, discovery| {
        AdapterDiscovery::of(&[tool], &settings.calls, discovery).is_some()
    };
    assert!(of(endpoint("mcp_aql", false), &settings, Discovery::Annotated));
    assert!(!of(endpoint("mcp_aql", false), &settings, Discovery::Off));
    assert!(!of(endpoint("run_anything", false), &settings, Discovery::Named), "it may write");
    assert!(!of(reading(tool("x", query_schema())), &settings, Discovery::Named));
    let configured = super::tests::settings(json!([{ "tool": "mcp_aql" }]));
    assert!(
        !of(endpoint("mcp_aql", false), &configured, Discovery::Annotated),
        "what is configured wins"
    );
}

#[test]
fn invalid_answers_end_discovery() {
    let tools = [
        endpoint("a", true),
        endpoint("mcp_aql_read", true),
        reading(tool("search", query_schema())),
    ];
    let nested = (0..200).fold(json!(1), |inner, _| json!([inner]));
    for answer in [
        None,
        Some(CallToolResult::success(vec![])),
        Some(CallToolResult::success(vec![ContentBlock::text("no JSON")])),
        Some(CallToolResult::error(vec![ContentBlock::text("{}")])),
        Some(success(json!(null))),
        Some(success(nested)),
        Some(CallToolResult::structured(json!({ "success": false, "error": {} }))),
    ] {
        let (made, plan) = learn(&tools, |_| answer.clone());
        assert_eq!(made.len(), 2, "both endpoints are tried, the likelier first: {answer:?}");
        assert_eq!(made[0].tool, "mcp_aql_read");
        // The server's other tools are still called.
        assert_eq!(plan.unwrap().calls("x", 1)[0].tool, "search");
    }
}

// Properties of arbitrary input.

fn any_schema() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "type",
        "properties",
        "required",
        "query",
        "limit",
        "string",
        "integer",
        "array",
        "items",
        "anyOf",
        "maxLength",
        "maximum",
        "minimum",
        "operation",
        "params",
        "object",
        "name",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<u64>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((words.clone(), inner), 0..5).prop_map(|members| {
                Value::Object(members.into_iter().map(|(name, it)| (name.to_owned(), it)).collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn no_schema_or_reply_causes_a_panic(schema in any_schema(), reply in any_schema(), query in "\\PC{0,30}") {
        let mut endpoint = endpoint("mcp_aql", false);
        if let Value::Object(members) = &schema {
            let tools = [reading(tool("search", schema.clone()).with_title("x"))];
            let _ = found(&tools, Discovery::Named);
            endpoint.input_schema = members.clone().into();
        }
        let tools = [endpoint, super::tests::endpoint("x", true)];
        if let Some(mut learning) = AdapterDiscovery::of(&tools, &[], Discovery::Named) {
            for _ in 0..20 {
                if learning.next().is_none() {
                    break;
                }
                learning.take(Some(&success(reply.clone())), &tools);
            }
            if let Ok(plan) = learning.plan(&tools, &[], Discovery::Named) {
                let _ = plan.calls(&query, 10);
            }
        }
    }

    #[test]
    fn a_regex_matches_the_query(query in "\\PC{1,30}") {
        let query = query.trim();
        prop_assume!(!query.is_empty());
        let pattern = sent(json!({ "q": "{query|regex}" }), query).remove(0)["q"].as_str().unwrap().to_owned();
        let regex = regex::Regex::new(&format!("^(?:{pattern})$")).unwrap();
        prop_assert!(regex.is_match(query), "{pattern}");
        prop_assert!(!pattern.starts_with('-'));
        let any = sent(json!({ "q": "{query|regexOr}" }), query).remove(0)["q"].as_str().unwrap().to_owned();
        let regex = regex::Regex::new(&format!("^(?:{any})$")).unwrap();
        for word in query.split_whitespace() {
            prop_assert!(regex.is_match(word), "{any}: {word}");
        }
    }

    #[test]
    fn a_query_cannot_leave_its_quotes(query in "['\"\\\\\\-; a\\PC]{0,40}") {
        let sql = "SELECT a FROM t WHERE t MATCH '{query|fts5Or|sqlString}' OR a LIKE '%{query|sqlString}%'";
        let sent = sent(json!({ "q": sql }), &query).remove(0)["q"].as_str().unwrap().to_owned();
        // Databases parse everything between the quotes as one string.
        let mut outside = String::new();
        let mut is_in = false;
        let mut rest = sent.chars().peekable();
        while let Some(each) = rest.next() {
            match each {
                '\'' if is_in && rest.peek() == Some(&'\'') => drop(rest.next()),
                '\'' => is_in = !is_in,
                _ if is_in => prop_assert!(each != '\\'),
                _ => outside.push(each),
            }
        }
        prop_assert!(!is_in, "{}", sent);
        prop_assert_eq!(outside, "SELECT a FROM t WHERE t MATCH  OR a LIKE ");
    }

    #[test]
    fn a_glob_stays_in_its_folder(query in "[./*?!\\\\a-c\\PC]{0,30}") {
        let sent = sent(json!({ "q": "*{query|glob}*" }), &query).remove(0)["q"].as_str().unwrap().to_owned();
        let inner = sent.strip_prefix('*').and_then(|it| it.strip_suffix('*')).unwrap_or_default();
        prop_assert!(!inner.contains(['/', '\\', '*', '[', '{', '!', '(', '|']) && !inner.contains(".."), "{}", sent);
    }

    #[test]
    fn a_path_segment_stays_in_its_folder(query in "([./%\\\\?#&a \0]|\\PC){0,30}") {
        let sent = sent(json!({ "q": "https://h/docs/{query|pathSegment}/end" }), &query);
        prop_assume!(!sent.is_empty());
        let sent = sent[0]["q"].as_str().unwrap();
        let segment = sent.strip_prefix("https://h/docs/").and_then(|it| it.strip_suffix("/end")).unwrap();
        prop_assert!(segment.bytes().all(|it| it.is_ascii_alphanumeric() || b"-._~%".contains(&it)), "{}", sent);
        prop_assert!(segment != "." && segment != "..", "{}", sent);
        let decoded = percent_encoding::percent_decode_str(segment).decode_utf8().unwrap();
        let plain = query.trim().replace('\0', " ");
        if !plain.chars().all(|it| it == '.') {
            prop_assert_eq!(decoded, plain);
        }
        #[cfg(feature = "http")]
        {
            let url = url::Url::parse(sent).unwrap();
            prop_assert_eq!(url.path_segments().unwrap().count(), 3, "{}", sent);
            prop_assert_eq!(url.query(), None);
        }
    }

    /// A real shell passes the value to the program as one argument.
    #[cfg(unix)]
    #[test]
    fn a_shell_word_is_one_argument(query in "([-'\"\\\\$`;|&<>(){}*?!~# \n\0a]|\\PC){0,30}") {
        let command = sent(json!({ "q": "printf '[%s]' {query|shellWord} end" }), &query);
        prop_assume!(!command.is_empty());
        let command = command[0]["q"].as_str().unwrap();
        let output = std::process::Command::new("sh").args(["-c", command]).output().unwrap();
        let given = String::from_utf8(output.stdout).unwrap();
        let plain = filters::unlike_option(query.trim().replace('\0', " "));
        prop_assert_eq!(given, format!("[{plain}][end]"), "{}", command);
        prop_assert!(!plain.starts_with('-'));
    }

    #[test]
    fn templates_round_trip(text in "(\\{|\\}|query|\\||regex|a| |\\$\\{TOKEN\\}|[a-z]{1,3}){0,12}") {
        let variable = |_: &str| Some("x".to_owned());
        if let Ok(template) = ArgumentsTemplate::read(&json!({ "q": text }), &variable) {
            let told = template.raw();
            let again = ArgumentsTemplate::read(&told, &variable).unwrap();
            prop_assert_eq!(again.raw(), told.clone());
            let asked = QueryValues::new("some query", 3);
            let bounds = ArgumentLimits::default();
            prop_assert_eq!(again.fill(&asked, &bounds), template.fill(&asked, &bounds), "{}", told);
        }
    }

    #[test]
    fn texts_respect_the_schemas_maximum_length(query in "\\PC{0,80}", longest in 1_u64..30, filter in 0_usize..4) {
        let template = ["{query}", "{keywords|regexOr}", "{query|fts5Or}", "x{query|sqlString}"][filter];
        let schema = json!({ "properties": { "q": { "type": "string", "maxLength": longest } } });
        let settings = settings(json!([{ "tool": "t", "arguments": { "q": template.replace("x{query|sqlString}", "'{query|sqlString}'") } }]));
        let plan = Plan::of(&[tool("t", schema)], &settings.calls, Discovery::Off).unwrap();
        for call in plan.calls(&query, 1) {
            prop_assert!(call.arguments["q"].as_str().unwrap().chars().count() as u64 <= longest);
        }
    }
}
