//! The aggregators that a query has come through: none of them is asked again.

use std::sync::Arc;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::Failure;

/// The variable in which a process is told by which aggregators it was started.
pub(crate) const VARIABLE: &str = "MCP_AQL_AGGREGATOR_PATH";
/// Where a call says so in its `_meta`.
pub(crate) const META: &str = "mcp-aql-aggregator/path";
/// The other place, which an MCP-AQL adapter hands on to its operations, and no more than 64 characters of it.
pub(crate) const LABEL: &str = "requestId";
/// What such a label begins with; then come how many aggregators there were, and the names of the last.
const LABELLED: &str = "via:";
/// So many names have room in it.
const MOST_LABELLED: usize = 3;
/// So many aggregators may be asked one through the other.
const MOST_HOPS: usize = 8;
/// What names an aggregator: hexadecimal digits.
const NAME: usize = 16;

/// The aggregators that a query has come through, the last of which is this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    own: Arc<str>,
    before: Vec<Arc<str>>,
    /// So many were before, of which some may not be known by name.
    hops: usize,
}

impl Route {
    /// Of an aggregator with these servers, started with this value of [`VARIABLE`].
    ///
    /// Two aggregators that have the same servers are the same one: asking the one from the other would only
    /// give again what is known.
    pub(crate) fn new<'s>(servers: impl IntoIterator<Item = &'s str>, mark: Option<&str>) -> Self {
        let mut hash = Sha256::new();
        for server in servers {
            hash.update((server.len() as u64).to_le_bytes());
            hash.update(server);
        }
        let own: String =
            hash.finalize().iter().take(NAME / 2).map(|byte| format!("{byte:02x}")).collect();
        let before = read(mark.unwrap_or_default());
        Self { own: own.into(), hops: before.len(), before }
    }

    /// The way of a query that came with this `_meta`.
    ///
    /// # Errors
    /// [`Failure::Loop`] when it has been here before.
    pub(crate) fn of_query(&self, meta: Option<&Map<String, Value>>) -> Result<Self, Failure> {
        let told = meta.and_then(|meta| meta.get(META)).and_then(Value::as_str);
        self.after(told.unwrap_or_default(), 0)
    }

    /// The way of a query that came with this [`label`](Self::label).
    ///
    /// # Errors
    /// [`Failure::Loop`] when it has been here before.
    pub(crate) fn of_label(&self, label: Option<&str>) -> Result<Self, Failure> {
        let told = label.and_then(|label| label.strip_prefix(LABELLED));
        let (hops, names) = told.and_then(|told| told.split_once(',')).unwrap_or_default();
        self.after(names, hops.parse().unwrap_or_default())
    }

    fn after(&self, told: &str, hops: usize) -> Result<Self, Failure> {
        let mut before = self.before.clone();
        for name in read(told) {
            if !before.contains(&name) {
                before.push(name);
            }
        }
        let hops = hops.max(before.len());
        let route = Self { own: Arc::clone(&self.own), before, hops };
        route.check().map(|()| route)
    }

    /// # Errors
    /// [`Failure::Loop`] when it leads through this aggregator twice, or through too many.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let is_loop = self.before.contains(&self.own) || self.hops >= MOST_HOPS;
        if is_loop { Err(Failure::Loop) } else { Ok(()) }
    }

    /// What servers are told.
    pub(super) fn told(&self) -> String {
        let names = self.before.iter().chain([&self.own]);
        names.map(AsRef::as_ref).collect::<Vec<&str>>().join(",")
    }

    /// The same in short: the last aggregators, and how many there were, so that every loop ends.
    pub(super) fn label(&self) -> String {
        let names: Vec<&str> = self.before.iter().chain([&self.own]).map(AsRef::as_ref).collect();
        let last = names.get(names.len().saturating_sub(MOST_LABELLED)..).unwrap_or_default();
        format!("{LABELLED}{},{}", self.hops.saturating_add(1), last.join(","))
    }
}

/// The names in a text. What cannot be names is left out; of too many, enough is kept to see that.
fn read(text: &str) -> Vec<Arc<str>> {
    let names = text.split(',').map(str::trim);
    let names = names
        .filter(|name| name.len() == NAME && name.bytes().all(|byte| byte.is_ascii_hexdigit()));
    names.take(MOST_HOPS).map(Arc::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(text: &str) -> Map<String, Value> {
        Map::from_iter([(META.to_owned(), text.into())])
    }

    #[test]
    fn an_aggregator_that_was_passed_is_not_asked_again() {
        let docs = Route::new(["docs", "more"], None);
        let both = Route::new(["docs", "memory"], None);
        assert_ne!(docs.told(), both.told());
        assert_eq!(docs.of_query(None).unwrap(), docs);
        // One asks the other: no loop yet.
        let asked = both.of_query(Some(&meta(&docs.told()))).unwrap();
        assert_eq!(asked.told(), format!("{},{}", docs.told(), both.told()));
        // And that one asks the first again.
        assert_eq!(docs.of_query(Some(&meta(&asked.told()))), Err(Failure::Loop));
        // A child of its own.
        assert_eq!(Route::new(["docs", "more"], Some(&asked.told())).check(), Err(Failure::Loop));
        assert_eq!(Route::new(["other"], Some(&asked.told())).check(), Ok(()));
    }

    #[test]
    fn labels_are_short_and_tell_of_loops_too() {
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| Route::new([name], None));
        let in_b = b.of_label(Some(&a.label())).unwrap();
        let in_c = c.of_label(Some(&in_b.label())).unwrap();
        let in_d = d.of_label(Some(&in_c.label())).unwrap();
        assert!(in_d.label().len() <= 64);
        for passed in [&b, &c, &d] {
            assert_eq!(passed.of_label(Some(&in_d.label())), Err(Failure::Loop));
        }
        let mut route = in_d;
        for name in ["e", "f", "g", "h"] {
            route = Route::new([name], None).of_label(Some(&route.label())).unwrap();
        }
        assert_eq!(Route::new(["i"], None).of_label(Some(&route.label())), Err(Failure::Loop));
        for other in ["some other id", "via:", "via:x", "via:,", "via:9999999999999999999999,"] {
            assert_eq!(a.of_label(Some(other)).unwrap(), a);
        }
        assert_eq!(a.of_label(None).unwrap(), a);
    }

    #[test]
    fn long_ways_end_and_garbage_does_no_harm() {
        let many: Vec<_> = (0..MOST_HOPS).map(|n| format!("{n:016x}")).collect();
        let route = Route::new(["docs"], None);
        assert_eq!(route.of_query(Some(&meta(&many.join(",")))), Err(Failure::Loop));
        assert!(route.of_query(Some(&meta(&many[1..].join(",")))).is_ok());
        let odd = format!("x,{},,{}", "é".repeat(16), "g".repeat(16));
        assert_eq!(route.of_query(Some(&meta(&odd))).unwrap().told(), route.told());
        let wrong = Map::from_iter([(META.to_owned(), serde_json::json!({"a": 1}))]);
        assert_eq!(route.of_query(Some(&wrong)).unwrap(), route);
    }
}
