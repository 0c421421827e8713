//! The output and exit codes of `query` and `check`.

use serde_json::{Value, json};

use super::support::{Setup, scripted};

#[tokio::test]
async fn a_query_on_the_terminal() {
    let setup = Setup::new(
        vec![
            scripted("docs", "--results 2 --text pin_a_version_{i}"),
            scripted("mail", "--results 1 --text lunch"),
            scripted("broken", "--call error:s3cret"),
        ],
        &json!({}),
    );
    let (code, out, err) = setup.run(&["query", "pin a version"]).await;
    assert_eq!(code, 0, "{err}");
    let lines: Vec<_> = out.lines().collect();
    assert!(lines[0].contains("SCORE") && lines[1].contains("docs"), "{out}");
    assert!(out.contains("protocol error") && out.contains("2 of 3 servers answered"), "{out}");
    assert!(!out.contains("s3cret") && !err.contains("s3cret"), "{out}{err}");

    let words = ["query", "pin a version", "--server", "docs", "--max-results", "10", "--json"];
    let (code, out, err) = setup.run(&words).await;
    assert_eq!(code, 0, "{err}");
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["metadata"]["serversQueried"], 1);
    assert_eq!(answer["results"][0]["server"], "docs");

    let calls = json!([{ "tool": "search_docs" }, { "tool": "search_docs" }]);
    let part = Setup::new(
        vec![scripted("docs", "--call tool-error:s3cret --times 1")],
        &json!({ "servers": { "docs": { "calls": calls } } }),
    );
    let (code, out, err) = part.run(&["query", "pin a version"]).await;
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("ok; tool error") && !out.contains("s3cret"), "{out}");

    let off = ("off".to_owned(), json!({ "command": "x", "disabled": true }));
    let (code, out, err) = Setup::new(vec![off], &json!({})).run(&["query", "x"]).await;
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("no server is enabled"), "{err}");

    let (code, out, err) = setup.run(&["query", "x", "--server", "broken"]).await;
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("broken: protocol error"), "{err}");
}

#[tokio::test]
async fn a_query_only_waits_for_its_own_servers() {
    let setup = Setup::new(
        vec![scripted("docs", "--text pin_a_version_{i}"), scripted("mute", "--start never")],
        &json!({ "startTimeoutMs": 600_000 }),
    );
    let words = ["query", "pin a version", "--server", "docs"];
    let in_time = std::time::Duration::from_secs(120);
    let (code, out, err) = tokio::time::timeout(in_time, setup.run(&words)).await.unwrap();
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("1 of 1 servers answered"), "{out}");
}

#[tokio::test]
async fn invalid_input_exits_with_3() {
    let setup = Setup::new(vec![scripted("docs", "")], &json!({}));
    for (words, told) in [
        (vec!["query", "x", "--max-results", "5"], "a number from 10 to 100"),
        (vec!["query", "x", "--server", "dogs"], "'dogs' is not configured; the servers are: docs"),
        (vec!["query", ""], "Must have 1 to 10000 characters"),
        (vec!["serve", "--face", "round"], "mcp-aql"),
        (vec!["check", "--query", ""], "1 to 10000 characters"),
        (vec!["serve", "--http", "nowhere"], "invalid"),
        (vec!["serve", "--allow-remote"], "--http"),
    ] {
        let (code, out, err) = setup.run(&words).await;
        assert_eq!((code, out.as_str()), (3, ""), "{words:?}: {err}");
        assert!(err.contains(told), "{words:?}: {err}");
    }
    std::fs::write(setup.config(), r#"{"mcpServers": {"a": {"comand": "x"}}}"#).unwrap();
    let (code, _, err) = setup.run(&["query", "x"]).await;
    assert_eq!(code, 3);
    assert!(err.contains("comand"), "{err}");
    std::fs::remove_file(setup.config()).unwrap();
    let (code, _, err) = setup.run(&["check"]).await;
    assert_eq!(code, 3);
    assert!(err.contains("servers.json"), "{err}");
}

#[tokio::test]
async fn check_shows_calls_and_parsed_answers() {
    let setup = Setup::new(
        vec![
            scripted("docs", "--results 5 --text pin_{i}"),
            scripted("time", "--tool get_time"),
            ("off".to_owned(), json!({ "command": "x", "disabled": true })),
        ],
        &json!({}),
    );
    let (code, out, err) = setup.run(&["check", "--query", "a version"]).await;
    assert_eq!(code, 0, "{out}{err}");
    for told in [
        "docs: ready",
        "tool search_docs: a search tool annotated as read-only",
        "\n    template  {",
        "\n    call      {\"limit\":30,\"query\":\"a version\"}\n    answer    ",
        "5 items",
        "time: no query tool",
        "discovery could not identify a search tool: name one in `aggregator.servers.NAME.calls`",
        "off: disabled",
    ] {
        assert!(out.contains(told), "{told} is not in\n{out}");
    }
    // One tool is called in two ways, and each shows its own answer.
    let calls = json!([
        { "tool": "search_docs", "arguments": { "query": "first {query|raw}" } },
        { "tool": "search_docs", "arguments": { "query": "then {keyword|raw}" } },
    ]);
    let setup = Setup::new(
        vec![scripted("docs", "--results 1 --text found_{query}")],
        &json!({ "servers": { "docs": { "calls": calls } } }),
    );
    let (code, out, err) = setup.run(&["check", "--query", "cats sleeping"]).await;
    assert_eq!(code, 0, "{out}{err}");
    let (first, then) = out.split_once("then {keyword|raw}").unwrap();
    assert!(first.contains("found first cats sleeping") && !first.contains("found then"), "{out}");
    assert!(then.contains("found then cats") && then.contains("found then sleeping"), "{out}");
    let setup = Setup::new(
        vec![
            scripted("docs", ""),
            scripted("crashes", "--start crash --stderr 200"),
            scripted("dies", "--call exit"),
        ],
        &json!({}),
    );
    let (code, out, err) = setup.run(&["check"]).await;
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("crashes: failed to start") && out.contains("stderr: eee"), "{out}");
    let (_, dies) = out.split_once("dies: ").unwrap();
    assert!(dies.starts_with("exited") && dies.contains("template"), "{out}");
    assert!(dies.contains("cause: the process exited: exit status: 3"), "{out}");
}
