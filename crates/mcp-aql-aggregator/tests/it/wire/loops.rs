//! Aggregators that query other aggregators.

use serde_json::{Value, json};

use super::support::{Setup, query, scripted, started};

fn aggregator(name: &str, config: &std::path::Path, face: &str) -> (String, Value) {
    let how = json!({
        "command": env!("CARGO_BIN_EXE_mcp-aql-aggregator"),
        "args": ["serve", "--config", config, "--face", face],
    });
    (name.to_owned(), how)
}

#[tokio::test]
async fn an_aggregator_may_query_another() {
    for (face, calls) in [
        (
            "plain",
            json!([{
                "tool": "mcp__proxy__aggregator__query",
                "arguments": { "query": "{query}" },
                "items": "results",
            }]),
        ),
        ("mcp-aql", json!([])),
    ] {
        let below = Setup::new(vec![scripted("docs", "--results 3")], &json!({}));
        let mut settings = json!({});
        if calls != json!([]) {
            settings = json!({ "servers": { "below": { "calls": calls } } });
        }
        let setup = Setup::new(
            vec![aggregator("below", &below.config(), face), scripted("mail", "--results 1")],
            &settings,
        );
        let client = setup.connect(&[]).await;
        started(&client).await;
        // The lower aggregator may still be starting servers.
        let mut answer = Value::Null;
        for _ in 0..100 {
            answer = query(&client, json!({ "query": "result" })).await;
            if answer["metadata"]["serversSucceeded"] == 2 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        assert_eq!(answer["metadata"]["serversSucceeded"], 2, "{face}: {answer}");
        let of_below = answer["metadata"]["servers"][0]["resultsRaw"].as_u64().unwrap();
        assert!(of_below >= 1, "{face}: {answer}");
        client.cancel().await.unwrap();
    }
}

#[tokio::test]
async fn an_aggregator_does_not_query_itself() {
    for face in ["plain", "mcp-aql"] {
        let setup = Setup::new(Vec::new(), &json!({}));
        let docs = scripted("docs", "--results 3");
        let own = aggregator("self", &setup.config(), face);
        setup.write(
            vec![docs, own],
            &json!({ "servers": { "self": { "calls": [{
            "tool": if face == "plain" { "mcp__proxy__aggregator__query" } else { "mcp_aql_read" },
            "arguments": if face == "plain" {
                json!({ "query": "{query}" })
            } else {
                json!({ "operation": "search_servers", "params": { "query": "{query}" } })
            },
        }] } } }),
        );
        let client = setup.connect(&[]).await;
        started(&client).await;
        let answer = query(&client, json!({ "query": "result" })).await;
        let servers = &answer["metadata"]["servers"];
        assert_eq!(servers[0]["status"], "ok", "{face}: {answer}");
        assert_eq!(servers[1]["results"], 0, "{face}: {answer}");
        assert_ne!(servers[1]["status"], "ok", "{face}: {answer}");
        client.cancel().await.unwrap();
    }
}

#[tokio::test]
async fn two_aggregators_that_query_each_other_over_http_stop() {
    // A port that is free now is most likely still free when the first one listens on it.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (one, two) = (Setup::new(Vec::new(), &json!({})), Setup::new(Vec::new(), &json!({})));
    let at = |port: u16| json!({ "url": format!("http://127.0.0.1:{port}/mcp") });
    let calls = json!([{
        "tool": "mcp__proxy__aggregator__query",
        "arguments": { "query": "{query}" },
        "items": "results",
    }]);
    two.write(
        vec![scripted("notes", "--results 2"), ("one".to_owned(), at(port))],
        &json!({ "servers": { "one": { "calls": calls.clone() } } }),
    );
    let (_second, second) = two.listen(&[]).await;
    let second = second.rsplit(':').next().unwrap().parse().unwrap();
    one.write(
        vec![scripted("docs", "--results 2"), ("two".to_owned(), at(second))],
        &json!({ "servers": { "two": { "calls": calls } } }),
    );
    let mut first = one
        .command(&["serve", "--http", &format!("127.0.0.1:{port}")])
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let client = loop {
        if tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
            break super::support::at(&format!("127.0.0.1:{port}")).await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    // Each answers with the other's results. The call that would return to itself is left out.
    let other = super::support::at(&format!("127.0.0.1:{second}")).await;
    for client in [&client, &other] {
        let mut answer = Value::Null;
        for _ in 0..200 {
            answer = query(client, json!({ "query": "result" })).await;
            // An answer that waits for a time limit takes three seconds each time. On a busy
            // machine, others sometimes take as long.
            let is_quick = answer["metadata"]["processingTimeMs"].as_u64().unwrap() < 2500;
            if answer["metadata"]["serversSucceeded"] == 2 && is_quick {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        assert_eq!(answer["metadata"]["serversSucceeded"], 2, "{answer}");
        let took = answer["metadata"]["processingTimeMs"].as_u64().unwrap();
        assert!(took < 2500, "each query waits for a time limit: {answer}");
    }
    first.kill().await.unwrap();
}
