//! Tests of splitting answers into items.

use proptest::prelude::*;
use rmcp::model::Resource;
use serde_json::json;

use super::*;

fn places(path: Option<&str>) -> ItemLocation {
    ItemLocation { path: path.map(str::to_owned), between: None }
}

fn split(
    answer: &CallToolResult,
    path: Option<&str>,
    max_items: usize,
    max_chars: usize,
) -> SplitAnswer {
    super::split(answer, &places(path), max_items, max_chars)
}

fn is_empty_answer(answer: &CallToolResult, path: Option<&str>) -> bool {
    let bytes = serde_json::to_string(answer).unwrap().len();
    super::is_empty_answer(answer, bytes, &places(path))
}

fn answer(blocks: Vec<ContentBlock>) -> CallToolResult {
    CallToolResult::success(blocks)
}

fn text(text: impl Into<String>) -> CallToolResult {
    answer(vec![ContentBlock::text(text)])
}

fn structured(value: Value) -> CallToolResult {
    let mut answer = text(value.to_string());
    answer.structured_content = Some(value);
    answer
}

fn contents(answer: &CallToolResult, path: Option<&str>) -> Vec<String> {
    split(answer, path, 100, 4000).items.into_iter().map(|item| item.content).collect()
}

/// Returns the items of text content.
fn of(given: &str) -> Vec<String> {
    contents(&text(given), None)
}

/// Returns the items of JSON. They are the same for text content and structured content.
fn of_json(value: Value, path: Option<&str>) -> Vec<String> {
    let items = contents(&text(value.to_string()), path);
    assert_eq!(contents(&structured(value), path), items);
    items
}

#[test]
fn the_list_of_items_is_found_in_json() {
    for (shows, value, expected) in [
        ("a list of texts", json!(["a", "b"]), vec!["a", "b"]),
        (
            "a list of objects",
            json!([{ "name": "a" }, { "name": "b" }]),
            vec!["name: a", "name: b"],
        ),
        (
            "the entities of a graph, not its relations",
            json!({ "entities": [{ "name": "Rust", "entityType": "language", "observations": ["is fast", "is safe"] }],
                    "relations": [{ "from": "a", "to": "b" }] }),
            vec!["name: Rust\nentityType: language\nobservations: is fast; is safe"],
        ),
        ("an empty list", json!({ "results": [], "suggestions": [{ "q": "x" }] }), vec![]),
        ("wrapped", json!({ "result": { "data": { "hits": [{ "id": 1 }] } } }), vec!["id: 1"]),
        (
            "of a search engine",
            json!({ "took": 3, "hits": { "total": { "value": 1 }, "hits": [{ "_id": "1", "_source": { "title": "a" } }] } }),
            vec!["title: a"],
        ),
        (
            "of a graph of pages",
            json!({ "edges": [{ "cursor": "x", "node": { "title": "a" } }] }),
            vec!["title: a"],
        ),
        (
            "with a long answer beside it",
            json!({ "answer": "long ".repeat(40), "results": [{ "title": "a", "content": "b" }] }),
            vec!["title: a\nb"],
        ),
        (
            "with an unknown name",
            json!({ "query": "x", "treffer": [{ "name": "a" }] }),
            vec!["name: a"],
        ),
        ("names of files", json!({ "paths": ["a", "b"], "total": 2 }), vec!["a", "b"]),
        (
            "one item, whatever lists it has",
            json!({ "title": "a", "text": "b", "tags": ["x", "y"], "authors": [{ "name": "c" }] }),
            vec!["title: a\nauthors: name: c\ntags: x, y\nb"],
        ),
        (
            "one item without a title",
            json!({ "temperature": 22.5, "conditions": "cloudy" }),
            vec!["conditions: cloudy\ntemperature: 22.5"],
        ),
        ("nothing found, and counted", json!({ "query": "x", "total": 0 }), vec![]),
        (
            "nothing found, and said",
            json!({ "status": "ok", "message": "No results found" }),
            vec![],
        ),
        ("empty members", json!({ "a": [], "b": null, "c": {} }), vec![]),
        ("text alone", json!({ "result": "just this" }), vec!["just this"]),
        (
            "text alone that says that there is none",
            json!({ "message": "No matches found." }),
            vec![],
        ),
        ("text as MCP has it", json!({ "content": [{ "type": "text", "text": "a" }] }), vec!["a"]),
        ("a number", json!([1, 2.5]), vec!["1", "2.5"]),
        (
            "several lists",
            json!({ "issues": [{ "title": "a bug" }], "pull_requests": [{ "title": "a fix" }], "users": [{ "name": "x" }] }),
            vec!["title: a bug", "title: a fix"],
        ),
        (
            "several lists of several sources",
            json!({ "docs": { "results": [{ "title": "a" }] }, "code": { "results": [{ "title": "b" }] } }),
            vec!["title: b", "title: a"],
        ),
        (
            "the nodes of a graph, not its edges",
            json!({ "nodes": [{ "name": "a" }], "edges": [{ "from": "a", "to": "b" }] }),
            vec!["name: a"],
        ),
        (
            "an empty list beside one that is not",
            json!({ "results": [], "documents": [{ "title": "here" }] }),
            vec!["title: here"],
        ),
        (
            "an empty list above one that is not",
            json!({ "results": [], "more": { "items": [{ "title": "here" }] } }),
            vec!["title: here"],
        ),
        (
            "an empty list, and other things below",
            json!({ "results": [], "query": { "terms": [{ "word": "x" }] } }),
            vec![],
        ),
        (
            "an answer without documents",
            json!({ "answer": "Yes.", "documents": [] }),
            vec!["answer: Yes."],
        ),
        ("nor an answer", json!({ "answer": "No results found.", "documents": [] }), vec![]),
        (
            "items by their names",
            json!({ "results": { "a": { "title": "one" }, "b": { "title": "two" } } }),
            vec!["title: one", "title: two"],
        ),
    ] {
        assert_eq!(of_json(value, None), expected, "{shows}");
    }
}

#[test]
fn adapters_answer_with_data() {
    // MCP-AQL replies: a page of items, a list, no items, a failure.
    let page = json!({ "success": true, "data": {
        "items": [{ "task_id": "t-1", "title": "a" }],
        "pageInfo": { "hasNextPage": false, "totalCount": 1 },
        "applied": { "query": ["a"], "sort": [{ "field": "relevance", "order": "desc" }] },
    } });
    assert_eq!(of_json(page.clone(), None), ["title: a\ntask_id: t-1"]);
    assert_eq!(of_json(page.clone(), Some("data.items")), ["title: a\ntask_id: t-1"]);
    assert_eq!(of_json(page, Some("items.title")), ["a"], "from its data on, too");
    assert_eq!(of_json(json!({ "success": true, "data": ["a"] }), None), ["a"]);
    let none = json!({ "success": true, "data": { "items": [], "pageInfo": { "totalCount": 0 } } });
    assert!(of_json(none, None).is_empty());
    assert!(of_json(json!({ "success": true, "data": null }), None).is_empty());
    let failure = json!({ "success": false, "error": { "code": "X", "message": "secret" } });
    assert!(of_json(failure, None).is_empty());
}

#[test]
fn items_are_found_at_the_configured_path() {
    let value = json!({ "a": { "b": [{ "c": { "d": "1" } }, { "c": { "d": "2" } }, { "e": 0 }] }, "x/y": ["z"], "n": null });
    for (path, expected) in [
        ("a.b.c.d", vec!["1", "2"]),
        ("a.b.1.c", vec!["d: 2"]),
        ("/a/b/0/c/d", vec!["1"]),
        ("/x~1y", vec!["z"]),
        ("a.nothing", vec![]),
        ("a.b.9", vec![]),
        ("n", vec![]),
        ("", vec!["a: b: c: d: 1; c: d: 2; e: 0\nx/y: z"]),
    ] {
        assert_eq!(of_json(value.clone(), Some(path)), expected, "{path}");
    }
    assert_eq!(contents(&text("no JSON at all"), Some("a.b")), ["no JSON at all"]);
}

#[test]
fn only_valid_addresses_are_kept() {
    let uris = |value: Value| -> Vec<Option<String>> {
        split(&structured(value), None, 10, 4000).items.into_iter().map(|item| item.uri).collect()
    };
    let found = uris(json!([
        { "title": "a", "url": "https://a.example/x?y=1" },
        { "title": "b", "uri": "notes/1", "link": "http://b.example" },
        { "title": "c", "source": "wikipedia" },
        { "title": "d", "url": "javascript:alert(1)" },
        { "title": "e", "url": "https://e.example/a b" },
        { "title": "f", "url": format!("https://f.example/{}", "x".repeat(3000)) },
        { "title": "g", "url": "https://g.example/\u{202e}x" },
        { "title": "h", "url": 5 },
    ]));
    let none = || None::<String>;
    assert_eq!(
        found,
        [
            Some("https://a.example/x?y=1".to_owned()),
            Some("http://b.example".to_owned()),
            none(),
            none(),
            none(),
            none(),
            none(),
            none(),
        ]
    );
}

#[test]
fn json_in_text_is_parsed() {
    assert_eq!(of("\n [\"a\", \"b\"]\n"), ["a", "b"]);
    assert_eq!(of("```json\n[\"a\"]\n```"), ["a"]);
    assert_eq!(of("{\"name\": \"a\"}\n{\"name\": \"b\"}\n"), ["name: a", "name: b"]);
    // Not valid JSON.
    assert_eq!(of("{not: json}"), ["{not: json}"]);
    assert_eq!(of("[{'id': 1, 'text': 'as Python writes it'}]"), ["id: 1\nas Python writes it"]);
}

#[test]
fn structured_content_is_preferred_unless_it_is_empty() {
    let mut both = text("text");
    for (structured, expected) in [
        (json!({ "items": ["a"] }), vec!["a"]),
        (json!({ "result": "---\none\n\n---\n\ntwo" }), vec!["one", "two"]),
        (json!({ "items": [] }), vec![]),
        (json!({}), vec!["text"]),
        (json!(null), vec!["text"]),
        // Only counts.
        (json!({ "total": 2, "took_ms": 3 }), vec!["text"]),
        (json!({ "title": "a", "text": "b" }), vec!["title: a\nb"]),
    ] {
        both.structured_content = Some(structured.clone());
        assert_eq!(contents(&both, None), expected, "{structured}");
    }
}

#[test]
fn texts_are_split_where_results_begin() {
    for (shows, given, expected) in [
        ("one text", "One thing.\n\nAnd more of it.", vec!["One thing.\n\nAnd more of it."]),
        (
            "rules",
            "# A (Score: 53.75)\ntext\n---\n# B\ntext\n\n---\n",
            vec!["# A (Score: 53.75)\ntext", "# B\ntext"],
        ),
        ("no rule, a heading underlined", "Title\n======\n\ntext", vec!["Title\n======\n\ntext"]),
        ("no rule in code", "a\n```\n---\n```\nb", vec!["a\n```\n---\n```\nb"]),
        (
            "headings of one level",
            "# Results\n## A\ntext\n### Deeper\nmore\n## B\ntext",
            vec!["## A\ntext\n### Deeper\nmore", "## B\ntext"],
        ),
        (
            "with what is said before them",
            "An answer in one long line, which says what there is to say before it goes on in sections.\n\n## A\nx\n## B\ny",
            vec![
                "An answer in one long line, which says what there is to say before it goes on in sections.",
                "## A\nx",
                "## B\ny",
            ],
        ),
        (
            "but not that they follow",
            "# Results\n\nFound 2 results for the question that was asked, in the order of how well they fit it:\n\n## A\nx\n## B\ny",
            vec!["## A\nx", "## B\ny"],
        ),
        (
            "no headings in code",
            "# A\n```sh\n# one\n# two\n```",
            vec!["# A\n```sh\n# one\n# two\n```"],
        ),
        (
            "the same label again",
            "Found 2 results:\n\nTitle: A\nURL: https://a\n\nText of A.\n\nTitle: B\nURL: https://b",
            vec!["Title: A\nURL: https://a\n\nText of A.", "Title: B\nURL: https://b"],
        ),
        (
            "commits",
            "Commit history:\nCommit: 'a'\nAuthor: x\nMessage: one\n\nCommit: 'b'\nAuthor: x\n",
            vec!["Commit: 'a'\nAuthor: x\nMessage: one", "Commit: 'b'\nAuthor: x"],
        ),
        (
            "notes in a document",
            "One.\nTwo.\nThree.\nFour.\n\nNote: x\n\nNote: y",
            vec!["One.\nTwo.\nThree.\nFour.\n\nNote: x\n\nNote: y"],
        ),
        ("steps", "Do this:\n1. Open.\n2. Close.", vec!["Do this:\n1. Open.\n2. Close."]),
        (
            "lines of files, near ones together",
            "src/a.rs:1:use x;\nsrc/a.rs:3:  use y: z;\nsrc/a.rs:90:x\nb.md:2:7:x",
            vec!["src/a.rs:1:use x;\n3:  use y: z;", "src/a.rs:90:x", "b.md:2:7:x"],
        ),
        (
            "with talk around them",
            "Found 2 matches\n\nC:\\a.rs:1:x\nC:\\b.rs:1:x\n",
            vec!["C:\\a.rs:1:x", "C:\\b.rs:1:x"],
        ),
        (
            "times of day are no lines",
            "12:30:45: up\n12:31:45: down",
            vec!["12:30:45: up\n12:31:45: down"],
        ),
        ("paths", "/a/b c.txt\n/a/d.md\n", vec!["/a/b c.txt", "/a/d.md"]),
        (
            "addresses are no paths",
            "see https://a.example/b for\nmore of it",
            vec!["see https://a.example/b for\nmore of it"],
        ),
        ("nothing", "", vec![]),
        ("other lines' ends", "a\r\n\r\n---\r\n\r\nb", vec!["a", "b"]),
    ] {
        assert_eq!(of(given), expected, "{shows}");
    }
}

#[test]
fn a_message_that_nothing_was_found_is_not_a_result() {
    for given in [
        "",
        "  \n",
        "[]",
        "{}",
        "()",
        "null",
        "None",
        "No matches found",
        "No results.",
        "no relevant documents found for 'x'",
        "0 results",
        "Found 0 matches for \"x\"",
        "Nothing found",
        "There are no matching entries.",
        "Sorry, no results were found!",
        "Could not find anything.",
        "\"\"",
        "{\"result\": []}",
        "No data",
        "No files matched the pattern",
        "No results were found for your query, try other words.",
        "Could not find any documents matching 'x'",
        "---",
        "…",
    ] {
        assert_eq!(of(given), Vec::<String>::new(), "{given}");
    }
    for given in [
        "No man is an island.",
        "None of this is empty",
        "Nothing in Rust is null",
        "Found three ways",
        "No results found\nbut this",
        "0 is the first index",
        "No results appear after an upgrade: clear the cache of the index.",
        "Could not find module 'foo': add it to the path.",
        "🎉",
    ] {
        assert_eq!(of(given).len(), 1, "{given}");
    }
}

#[test]
fn several_texts_are_several_items() {
    let several = answer(vec![
        ContentBlock::text("Found 2:"),
        ContentBlock::text("# A\n## B\nx\n## C\ny"),
        ContentBlock::text("{\"title\": \"D\"}"),
        ContentBlock::text("e\n\n---\n\nf"),
    ]);
    assert_eq!(
        contents(&several, None),
        ["# A\n## B\nx\n## C\ny", "D", "e", "f"],
        "cut only where that is sure"
    );
}

#[test]
fn no_result_among_several_is_lost() {
    let several = answer(
        [
            "Found 0 results",
            "No results appear after an upgrade: clear the cache of the index.",
            "Could not find anything in the index: it is built at night.",
            "🎉",
            "Cats sleep",
        ]
        .into_iter()
        .map(ContentBlock::text)
        .collect(),
    );
    let found = split(&several, None, 10, 4000);
    let kept: Vec<_> = found.items.iter().map(|item| item.content.as_str()).collect();
    assert_eq!(kept.len(), 4, "{kept:?}");
    assert_eq!(found.left_out, 1, "what is left out is counted");
    let none = answer(vec![
        ContentBlock::text("Found 0 results:"),
        ContentBlock::text("No matches found"),
    ]);
    assert!(is_empty_answer(&none, None));
}

#[test]
fn a_path_without_a_match_is_reported() {
    for (given, path, is_mismatch) in [
        (json!({ "hits": [{ "title": "a" }] }), "hits", false),
        (json!({ "hits": [] }), "hits", false),
        (json!({ "hits": null }), "hits.items", false),
        (json!({ "hits": [] }), "hits.title", false),
        (json!({ "total": 0 }), "hits", false),
        (json!({ "hits": [{ "title": "a" }] }), "results", true),
        (json!({ "hits": [{ "title": "a" }] }), "hits.text", true),
        (json!({ "success": true, "data": { "items": [1] } }), "items", false),
        (json!({ "success": true, "data": { "items": [1] } }), "hits", true),
    ] {
        for answer in [text(given.to_string()), structured(given.clone())] {
            assert_eq!(
                split(&answer, Some(path), 10, 100).is_path_mismatch,
                is_mismatch,
                "{given} {path}"
            );
        }
    }
    assert!(split(&text("no JSON"), Some("hits"), 10, 100).is_path_mismatch);
    assert!(!split(&text("No results found"), Some("hits"), 10, 100).is_path_mismatch);
    assert!(!split(&text("no JSON"), None, 10, 100).is_path_mismatch);
}

#[test]
fn texts_are_split_at_the_configured_separator() {
    let of = |given: CallToolResult, path: Option<&str>, between: &str| -> Vec<String> {
        let between = regex::RegexBuilder::new(between).multi_line(true).build().unwrap();
        let places = ItemLocation { path: path.map(str::to_owned), between: Some(between) };
        let items = super::split(&given, &places, 10, 4000).items;
        items.into_iter().map(|item| item.content).collect()
    };
    for (shows, given, between, expected) in [
        (
            "bullets",
            "Found 3:\n- Cats sleep\n- Dogs bark\n- Cows moo",
            "^- ",
            vec!["Cats sleep", "Dogs bark", "Cows moo"],
        ),
        (
            "paragraphs",
            "Cats sleep.\n\nDogs bark.\n\n\nCows moo.",
            "\\n\\n+",
            vec!["Cats sleep.", "Dogs bark.", "Cows moo."],
        ),
        (
            "elements",
            "<document>one</document>\n<document>two</document>",
            "</?document>\\s*",
            vec!["one", "two"],
        ),
        ("lines", "No results", "\\n", vec![]),
        ("what is not there", "## A\nx\n## B\ny", "^- ", vec!["## A\nx\n## B\ny"]),
    ] {
        assert_eq!(of(text(given), None, between), expected, "{shows}");
        let places = ItemLocation {
            path: None,
            between: Some(regex::Regex::new(&format!("(?m){between}")).unwrap()),
        };
        let found = super::split(&text(given), &places, 100, 1000);
        // The announcement counts as left out; the separators do not.
        let announced = usize::from(shows == "bullets");
        assert_eq!(found.left_out, announced, "{shows}");
        let wrapped = json!({ "total": 1, "answer": { "text": given } });
        assert_eq!(of(structured(wrapped), Some("answer.text"), between), expected, "{shows}");
    }
    assert_eq!(
        of(structured(json!({ "hits": [{ "name": "a\n- b" }] })), None, "^- "),
        ["name: a\n- b"]
    );
}

#[test]
fn rows_in_python_syntax_are_items() {
    assert_eq!(
        of("[{'title': 'Tokens', 'body': \"it's bound\"}, {'title': 'Gates', 'body': None}]"),
        ["title: Tokens\nit's bound", "title: Gates"]
    );
}

#[test]
fn other_block_types_are_used_or_counted() {
    let blob = ResourceContents::blob("AAAA", "file:///x.bin");
    let mixed = answer(vec![
        ContentBlock::text("one"),
        ContentBlock::image("AAAA", "image/png"),
        ContentBlock::resource(ResourceContents::text("a\n\n---\n\nb", "file:///docs/a.md")),
        ContentBlock::resource(blob),
        ContentBlock::resource_link(
            Resource::new("https://x.example/", "x")
                .with_title("The X")
                .with_description("About x."),
        ),
        ContentBlock::resource_link(Resource::new("javascript:x", "y")),
    ]);
    let split = split(&mixed, None, 10, 4000);
    let item = |content: &str, uri: Option<&str>| Item {
        content: content.to_owned(),
        uri: uri.map(str::to_owned),
        truncated: false,
    };
    assert_eq!(
        split.items,
        [
            item("one", None),
            item("a\n\n---\n\nb", Some("file:///docs/a.md")),
            item("The X\nAbout x.\nhttps://x.example/", Some("https://x.example/")),
            item("y\njavascript:x", None),
        ]
    );
    assert_eq!(split.left_out, 2, "the image and the bytes");
}

#[test]
fn items_beyond_the_limit_are_counted() {
    let list: Vec<String> = (0..50).map(|number| format!("item {number}")).collect();
    let split = split(&structured(json!(list)), None, 20, 4000);
    assert_eq!((split.items.len(), split.left_out), (20, 30));
    assert_eq!(split.items[19].content, "item 19", "in their order");
}

#[test]
fn long_items_are_cut_at_a_boundary() {
    let cut = |given: &str, chars: usize| {
        let mut items = split(&text(given), None, 10, chars).items;
        assert_eq!(items.len(), 1);
        items.remove(0)
    };
    let word = "word ".repeat(8);
    for (shows, given, expected) in [
        ("at a paragraph", format!("{word}x.\n\n{word}"), format!("{word}x.")),
        ("at a line", format!("{word}x.\n{word}"), format!("{word}x.")),
        ("at a sentence", format!("{word}x. {word}"), format!("{word}x.")),
        ("at a word", "abcdefg ".repeat(9), "abcdefg ".repeat(7).trim_end().to_owned()),
        ("anywhere", "x".repeat(70), "x".repeat(59)),
        (
            "at a sentence of another script",
            format!("{}。{}", "字".repeat(40), "字".repeat(40)),
            format!("{}。", "字".repeat(40)),
        ),
    ] {
        let item = cut(&given, 60);
        assert_eq!(item.content, expected, "{shows}");
        assert!(item.truncated, "{shows}");
    }
    let whole = cut(&"x".repeat(60), 60);
    assert_eq!((whole.content.len(), whole.truncated), (60, false));
    // One grapheme cluster of three characters.
    for (most, kept) in [(60, 57), (61, 60), (62, 60)] {
        let item = cut(&"x\u{331}\u{332}".repeat(30), most);
        let found = (item.content.chars().count(), item.truncated);
        assert_eq!(found, (kept, true), "{most}: {:?}", item.content);
    }
}

#[test]
fn invisible_characters_are_removed() {
    let hidden = "a\u{1b}[31mred\u{1b}[0m \u{202e}x\u{200b}y\u{e0041}\u{7}";
    let expected = ["ared xy"];
    assert_eq!(of(hidden), expected);
    assert_eq!(of_json(json!([hidden]), None), expected);
    assert_eq!(
        of_json(json!({ "title": "t", hidden: hidden }), None),
        ["title: t\nared xy: ared xy"]
    );
    let embedded = answer(vec![ContentBlock::embedded_text("file:///a", hidden)]);
    assert_eq!(contents(&embedded, None), expected);
    // Color sequences do not hide the form of lines.
    assert_eq!(of("\u{1b}[35ma.rs\u{1b}[0m:\u{1b}[32m1\u{1b}[0m:x\nb.rs:2:y").len(), 2);
}

#[test]
fn failures_are_recognized_in_all_forms() {
    // REQ-AGR-09
    assert!(is_failure(&CallToolResult::error(vec![ContentBlock::text("x")])));
    let reply =
        json!({ "success": false, "error": { "code": "NOT_FOUND_RESOURCE", "message": "x" } });
    for failed in [
        reply.clone(),
        json!({ "error": "password s3cret refused" }),
        json!({ "error": { "code": 500, "message": "token s3cret" } }),
        json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32603, "message": "s3cret" } }),
        json!({ "error": "s3cret", "results": [] }),
        json!({ "error": "s3cret", "details": [{ "field": "a" }] }),
        json!({ "success": false, "message": "token s3cret" }),
        json!({ "success": false }),
        json!({ "ok": false, "data": null }),
        json!({ "isError": true, "content": [{ "type": "text", "text": "s3cret" }] }),
        json!({ "status": "error", "message": "token s3cret" }),
        json!({ "status": 403, "title": "Forbidden", "detail": "s3cret" }),
        json!({ "statusCode": 404, "message": "s3cret" }),
        json!({ "errors": [{ "message": "s3cret" }], "data": null }),
        json!({ "result": { "error": "s3cret" } }),
        json!({ "result": "Error: s3cret" }),
        json!({ "content": [{ "type": "text", "text": "Error: s3cret" }] }),
        json!(["Error: s3cret"]),
        json!([{ "error": "s3cret", "code": 7 }]),
        json!("Failed to search: s3cret"),
    ] {
        assert!(is_failure(&text(failed.to_string())), "{failed}");
        assert!(is_failure(&structured(failed.clone())), "{failed}");
        let mut only = answer(vec![]);
        only.structured_content = Some(failed.clone());
        assert!(is_failure(&only), "{failed}");
    }
    assert!(is_failure(&text("{'error': 's3cret'}")), "as Python writes it");
    for failed in [
        "Database error: no such table: s3cret",
        "Traceback (most recent call last):\n  File …",
        "Error: s3cret",
        "**Error:** s3cret",
        "❌ Error: s3cret",
        "ValueError: s3cret",
        "java.io.IOException: s3cret",
        "Error executing query: s3cret",
        "Error searching docs: s3cret",
        "Error [404]: s3cret",
        "Failed to search: s3cret",
        "Unable to reach db.internal with s3cret",
        "MCP error -32603: s3cret",
        "Request failed with status code 500",
        "Access denied for user 's3cret'",
        "API Error: s3cret",
    ] {
        assert!(is_failure(&text(failed)), "{failed}");
        let with_hint = vec![ContentBlock::text(failed), ContentBlock::text("Try again later.")];
        assert!(is_failure(&answer(with_hint)), "{failed}");
    }
}

#[test]
fn texts_about_errors_are_not_failures() {
    for good in [
        text("Error handling in Rust"),
        text("Error: ENOENT means that a file is missing; see the handbook, chapter 3."),
        text("TypeError: x is not a function. How to fix it: call a function."),
        text("Errors are values."),
        text("Failed states\n\nAs Rotberg has it, a state has failed when …"),
        text(format!("Error: {}", "a document ".repeat(200))),
        text("# Error: in the book\n\nThis error occurs when a page is missing."),
        text("{\"success\": true, \"data\": null}"),
        text(json!({ "error": null, "results": [{ "title": "a" }] }).to_string()),
        text(json!({ "error": "one shard of three", "results": [{ "title": "a" }] }).to_string()),
        text(json!({ "error": false, "title": "a" }).to_string()),
        text(json!({ "status": "failed", "job": "nightly", "duration": 3 }).to_string()),
        text(json!({ "title": "A bug", "body": "It fails.", "error": "exit 1" }).to_string()),
        text(
            json!({ "code": 404, "message": "Not Found", "description": "There is none." })
                .to_string(),
        ),
        text(json!([{ "error": "a" }, { "error": "b" }]).to_string()),
        text(json!([{ "time": "10:00", "error": "a" }]).to_string()),
        answer(vec![
            ContentBlock::text("Error: ENOENT: no such file, in issue 7"),
            ContentBlock::text("Cats sleep"),
            ContentBlock::text("Dogs bark"),
        ]),
        answer(vec![]),
    ] {
        assert!(!is_failure(&good), "{good:?}");
    }
    // Among several text blocks, a failure is left out and counted.
    let several = answer(vec![
        ContentBlock::text("Cats sleep"),
        ContentBlock::text("Error: s3cret"),
        ContentBlock::text("Dogs bark"),
    ]);
    let split = split(&several, None, 10, 100);
    let kept: Vec<_> = split.items.iter().map(|item| item.content.as_str()).collect();
    assert_eq!((kept, split.left_out), (vec!["Cats sleep", "Dogs bark"], 1));
}

#[test]
fn empty_answers_are_recognized() {
    for (given, expected) in [
        (text("No results found"), true),
        (text("{\"entities\":[],\"relations\":[]}"), true),
        (answer(vec![]), true),
        (text("x"), false),
        (answer(vec![ContentBlock::image("AAAA", "image/png")]), false),
    ] {
        assert_eq!(is_empty_answer(&given, None), expected, "{given:?}");
    }
}

// Properties of arbitrary input.

fn any_text() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "\n",
        "\n\n",
        "---",
        "===",
        "# ",
        "## ",
        "a.rs:1:",
        "/a/b",
        "1. ",
        "2. ",
        "Title: ",
        "```",
        "~~~",
        "[",
        "]",
        "{",
        "}",
        "\"",
        ":",
        ",",
        "é",
        "e\u{301}",
        "字",
        "👨‍👩‍👧",
        "\u{1b}[0m",
        "\u{202e}",
        "\u{0}",
        " ",
        "word",
        "No results found",
        "a-1-",
        "--",
        "\r\n",
        "\t",
        "\u{feff}",
        "```json",
        "\u{fdfa}",
    ]);
    let mixed = prop::collection::vec(parts, 0..60).prop_map(|parts| parts.concat());
    prop_oneof![mixed, "\\PC{0,80}", ".{0,60}"]
}

fn any_json() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec![
        "items",
        "results",
        "data",
        "success",
        "error",
        "title",
        "text",
        "content",
        "type",
        "url",
        "node",
        "total",
        "x",
        "result",
        "\u{1b}[0m",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any_text().prop_map(Value::from),
        Just(Value::from("text")),
    ];
    leaf.prop_recursive(7, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((names.clone(), inner), 0..5).prop_map(|members| {
                Value::Object(members.into_iter().map(|(name, it)| (name.to_owned(), it)).collect())
            }),
        ]
    })
}

fn any_answer() -> impl Strategy<Value = CallToolResult> {
    let block = prop_oneof![
        4 => any_text().prop_map(ContentBlock::text),
        2 => any_json().prop_map(|value| ContentBlock::text(value.to_string())),
        1 => any_text().prop_map(|data| ContentBlock::image(data, "image/png")),
        1 => (any_text(), any_text()).prop_map(|(uri, text)| ContentBlock::embedded_text(uri, text)),
        1 => (any_text(), any_text()).prop_map(|(uri, name)| ContentBlock::resource_link(Resource::new(uri, name))),
    ];
    (prop::collection::vec(block, 0..4), prop::option::of(any_json())).prop_map(
        |(blocks, structured)| {
            let mut answer = answer(blocks);
            answer.structured_content = structured;
            answer
        },
    )
}

proptest! {
    #[test]
    fn arbitrary_answers_become_limited_clean_items(
        answer in any_answer(),
        path in prop::option::of(prop::sample::select(vec!["items", "data.items", "/data/0", "", ".", "x.x.x", "/~", "0"])),
        max_items in 0_usize..8,
        max_chars in 1_usize..40,
    ) {
        let split = split(&answer, path, max_items, max_chars);
        prop_assert!(split.items.len() <= max_items);
        for item in &split.items {
            prop_assert!(item.content.chars().count() <= max_chars, "{:?}", item);
            prop_assert!(!item.content.trim().is_empty());
            prop_assert_eq!(&*clean(&item.content), item.content.as_str());
            if let Some(uri) = &item.uri {
                prop_assert!(!uri.contains(char::is_whitespace) && uri.contains(':'));
            }
        }
        prop_assert_eq!(&self::split(&answer, path, max_items, max_chars), &split);
        let _ = (is_failure(&answer), is_empty_answer(&answer, path));
    }

    #[test]
    fn every_omitted_item_is_counted(list in prop::collection::vec("[a-z]{1,9}", 0..30), most in 0_usize..40) {
        let split = split(&structured(json!({ "items": list })), None, most, 100);
        prop_assert_eq!(split.items.len() + split.left_out, list.len());
        for (item, given) in split.items.iter().zip(&list) {
            prop_assert_eq!(&item.content, given);
            prop_assert!(!item.truncated);
        }
    }

    #[test]
    fn cuts_keep_grapheme_clusters(given in any_text(), chars in 1_usize..30) {
        let (start, is_cut) = cut::at_paragraph(&given, chars);
        prop_assert!(given.starts_with(start));
        prop_assert_eq!(is_cut, given.chars().count() > chars);
        prop_assert!(start.chars().count() <= chars);
    }

    #[test]
    fn parts_are_parts_of_the_text(given in any_text()) {
        for part in blocks::ruled(&given).or_else(|| blocks::split(&given)).into_iter().flatten() {
            prop_assert!(given.contains(part.as_ref()), "{:?}", part);
        }
        for part in lines::found(&given).into_iter().flatten() {
            for line in part.lines() {
                prop_assert!(given.contains(line));
            }
        }
    }
}

/// Splits half a megabyte of each adversarial input. In quadratic time, the test would take hours.
#[test]
fn long_adversarial_answers_are_split() {
    let many = |part: &str| part.repeat(512 * 1024 / part.len());
    let nested = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    for (shows, given) in [
        ("rules", many("---\n")),
        ("labels", many("a: b\n\n")),
        ("different labels", (0..40_000).map(|number| format!("l{number}: b\n\n")).collect()),
        ("numbers", (1..60_000).map(|number| format!("{number}. x\n")).collect()),
        ("headings", many("# a\n")),
        ("fences", many("```\n")),
        ("one line", many("a-1-")),
        ("lines of files", (0..30_000).map(|number| format!("f{number}.rs:1:x\n")).collect()),
        ("lines around them", format!("a.rs:1:x\n{}", many("a-b-c-d-e-f-1-x\n"))),
        ("openings of commands", many("\u{9d}")),
        ("openings of commands, with an escape", many("\u{1b}]")),
        ("braces", many("{")),
        ("lists of Python", format!("[{}", many("{'a': ["))),
        ("a letter of many marks", format!("e{}", many("\u{301}"))),
        ("lists in lists", format!("[{}]", vec![nested; 2000].join(","))),
        (
            "many members",
            format!(
                "{{{}}}",
                (0..40_000).map(|it| format!("\"k{it}\":1")).collect::<Vec<_>>().join(",")
            ),
        ),
        (
            "text in text",
            json!({ "result": json!({ "result": many("x ") }).to_string() }).to_string(),
        ),
        ("white space", many(" \n")),
        ("one word", many("x")),
    ] {
        let answer = text(given);
        let split = split(&answer, None, 100, 4000);
        assert!(split.items.len() <= 100, "{shows}");
    }
}
