//! Reads all pages in either direction, and tries cursors that do not belong to the request.

use serde_json::{Value, json};

use super::filters::{filter, found, keys, query, sort};
use super::random::{chance, generator, one};
use super::tasks::{Tasks, code};

pub(crate) const CASES: usize = 4_000;

fn ids(rows: &Value) -> Vec<&str> {
    rows.as_array().unwrap().iter().map(|row| row["task_id"].as_str().unwrap()).collect()
}

#[test]
fn pages_together_are_the_whole_in_either_direction() {
    // REQ-PAG-01, REQ-PAG-04, REQ-PAG-05, REQ-PAG-09, REQ-PAG-10
    let (mut random, seed) = generator("pages");
    let mut tasks = Tasks::start();
    let rows = tasks.fill(&mut random, 90);
    let mut cases = 0;
    while cases < CASES {
        let filter = if random.bool() { json!({}) } else { filter(&mut random, &rows, 1) };
        let keys = keys(&mut random);
        let query = chance(&mut random, 25).then(|| query(&mut random));
        let mut base = json!({ "filter": filter, "fields": ["task_id"] });
        if !keys.is_empty() {
            base["sort"] = sort(&keys);
        }
        let mut operation = "list_tasks";
        if let Some(query) = &query {
            base["query"] = json!(query);
            operation = "search_tasks";
        }
        let backwards = random.bool();
        let (size, from, cursor, more, behind) = if backwards {
            ("last", "before", "startCursor", "hasPreviousPage", "hasNextPage")
        } else {
            ("first", "after", "endCursor", "hasNextPage", "hasPreviousPage")
        };
        let wanted = found(&rows, query.as_deref(), &filter, &keys);
        let wanted = json!(wanted);
        let wanted = ids(&wanted);
        let mut rest = wanted.clone();
        let mut position = Value::Null;
        loop {
            cases += 1;
            let count = random.usize(1..=25);
            let mut params = base.clone();
            params[size] = json!(count);
            if !position.is_null() {
                params[from] = position.clone();
            }
            let reply = tasks.call("read", operation, params.clone());
            let context = format!("seed {seed}, case {cases}: {params}: {reply}");
            assert_eq!(code(&reply), None, "{context}");
            let page = &reply["data"];
            let taken = count.min(rest.len());
            let expected = if backwards {
                rest.split_off(rest.len() - taken)
            } else {
                rest.drain(..taken).collect()
            };
            assert_eq!(ids(&page["items"]), expected, "{context}");
            let info = &page["pageInfo"];
            assert_eq!(info["totalCount"], wanted.len(), "{context}");
            assert_eq!(info[more], !rest.is_empty(), "{context}");
            assert_eq!(info[behind], !position.is_null(), "{context}");
            if rest.is_empty() {
                break;
            }
            position = info[cursor].clone();
            if chance(&mut random, 20) {
                cases += 1;
                let forged = forged(&mut random, position.as_str().unwrap());
                params[from] = json!(forged);
                let reply = tasks.call("read", operation, params.clone());
                let context = format!("seed {seed}, case {cases}: {params}: {reply}");
                assert!(
                    code(&reply).is_some_and(|code| code.starts_with("VALIDATION_")),
                    "{context}"
                );
            }
        }
    }
}

/// Changes, removes or adds a character of a cursor.
fn forged(random: &mut fastrand::Rng, cursor: &str) -> String {
    let mut characters: Vec<char> = cursor.chars().collect();
    let place = random.usize(..characters.len());
    match random.u8(..3) {
        0 => {
            let other = if characters[place] == 'A' { 'B' } else { 'A' };
            characters[place] = other;
        }
        1 => drop(characters.remove(place)),
        _ => characters.insert(place, *one(random, &['A', 'z', '7'])),
    }
    characters.into_iter().collect()
}
