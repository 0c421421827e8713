//! Compares walks over the links between tasks with the model.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::{Value, json};

use super::random::{chance, generator, one};
use super::tasks::{Call, Tasks, code};

pub(crate) const CASES: usize = 3_000;

/// Requests per graph.
const PER_GRAPH: usize = 500;

/// Source, relationship and target.
type Link = (String, &'static str, String);

fn graph(random: &mut Rng, ids: &[String], count: usize) -> BTreeSet<Link> {
    let link = |random: &mut Rng| {
        let kind = *one(random, &["references", "composes"]);
        (one(random, ids).clone(), kind, one(random, ids).clone())
    };
    (0..count).map(|_| link(random)).filter(|(source, _, target)| source != target).collect()
}

/// Returns the number of steps from the root to each task that it reaches.
fn distances(links: &BTreeSet<&Link>, root: &str, direction: &str) -> BTreeMap<String, u64> {
    let mut distances = BTreeMap::from([(root.to_owned(), 0)]);
    // Each round is one step. The last round finds nothing new.
    for step in 1.. {
        let near: BTreeSet<_> = distances.keys().cloned().collect();
        for (source, _, target) in links {
            if direction != "incoming" && near.contains(source) {
                distances.entry(target.clone()).or_insert(step);
            }
            if direction != "outgoing" && near.contains(target) {
                distances.entry(source.clone()).or_insert(step);
            }
        }
        if distances.len() == near.len() {
            break;
        }
    }
    distances
}

/// Returns the links that a walk of this depth finds, each with the step that finds it first.
fn walked(links: &BTreeSet<&Link>, root: &str, direction: &str, depth: u64) -> BTreeMap<Link, u64> {
    let distances = distances(links, root, direction);
    let mut walked = BTreeMap::new();
    for link in links {
        let (source, _, target) = link;
        let mut steps: Vec<&u64> = Vec::new();
        if direction != "incoming" {
            steps.extend(distances.get(source));
        }
        if direction != "outgoing" {
            steps.extend(distances.get(target));
        }
        if let Some(step) = steps.into_iter().min().filter(|step| **step < depth) {
            walked.insert((*link).clone(), step + 1);
        }
    }
    walked
}

/// Returns the links of a reply, each with its depth.
fn links_of(data: &Value) -> BTreeMap<Link, u64> {
    let kind = |value: &Value| if value == "composes" { "composes" } else { "references" };
    let id = |value: &Value| value.as_str().unwrap().rsplit(':').next().unwrap().to_owned();
    let records = data["relationships"].as_array().unwrap();
    let edges = data["graph"]["edges"].as_array().unwrap();
    assert_eq!(records.len(), edges.len(), "{data}");
    let links = edges.iter().zip(records).map(|(edge, record)| {
        let link = (id(&edge["source"]), kind(&edge["type"]), id(&edge["target"]));
        (link, record["depth"].as_u64().unwrap())
    });
    links.collect()
}

#[test]
fn a_walk_equals_that_of_the_model() {
    // REQ-REL-01, REQ-REL-02, REQ-REL-04, REQ-REL-06
    let (mut random, seed) = generator("relationships");
    for round in 0..CASES / PER_GRAPH {
        let mut tasks = Tasks::start();
        let rows = tasks.fill(&mut random, 12);
        let ids: Vec<_> =
            rows.iter().map(|row| row["task_id"].as_str().unwrap().to_owned()).collect();
        let links = graph(&mut random, &ids, 6 * round);
        let calls: Vec<Call> = links
            .iter()
            .map(|(source, kind, target)| {
                let params =
                    json!({ "task_id": source, "relationship": kind, "target_id": target });
                ("create", "link_tasks", params)
            })
            .collect();
        for reply in tasks.call_all(&calls) {
            assert_eq!(code(&reply), None, "{reply}");
        }
        for case in 0..PER_GRAPH {
            let root = one(&mut random, &ids).clone();
            let direction = *one(&mut random, &["incoming", "outgoing", "both"]);
            let depth = random.u64(1..=5);
            let kind =
                chance(&mut random, 40).then(|| *one(&mut random, &["references", "composes"]));
            let mut params = json!({
                "root": { "element_type": "task", "element_name": root },
                "direction": direction, "depth": depth,
            });
            if let Some(kind) = kind {
                params["relationship"] = json!(kind);
            }
            let followed =
                links.iter().filter(|link| kind.is_none_or(|kind| kind == link.1)).collect();
            let expected = walked(&followed, &root, direction, depth);
            let mut met = BTreeMap::new();
            let size = chance(&mut random, 30).then(|| random.usize(1..=6));
            // Read pages of this size, or everything at once.
            params["first"] = json!(size.unwrap_or(100));
            loop {
                let reply = tasks.call("read", "query_relationships", params.clone());
                let context = format!("seed {seed}, graph {round}, case {case}: {params}: {reply}");
                assert_eq!(code(&reply), None, "{context}");
                let data = &reply["data"];
                for (link, step) in links_of(data) {
                    assert_eq!(met.insert(link, step), None, "an edge came twice: {context}");
                }
                if data["pageInfo"]["hasNextPage"] != true {
                    assert_eq!(met, expected, "{context}");
                    break;
                }
                params["after"] = data["pageInfo"]["endCursor"].clone();
            }
        }
    }
}
