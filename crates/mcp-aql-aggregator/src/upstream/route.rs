//! Prevents loops of aggregators that query each other.
//!
//! A query carries the names of the aggregators that it has passed through, and is not sent to any
//! of them again. Child processes receive the names in a variable, calls in `_meta`:
//!
//! ```json
//! { "mcp-aql-aggregator/path": "0123456789abcdef,fedcba9876543210" }
//! ```

use std::sync::Arc;

use hmac_sha256::Hash;
use serde_json::{Map, Value};

use super::Failure;

/// The environment variable with the names of the aggregators above a process.
pub(crate) const VARIABLE: &str = "MCP_AQL_AGGREGATOR_PATH";
/// The member of `_meta` with the names of the aggregators of a call.
pub(crate) const META: &str = "mcp-aql-aggregator/path";
/// The member of `_meta` that an MCP-AQL adapter passes on to its operations. At most 64 characters
/// are kept.
pub(crate) const LABEL: &str = "requestId";
/// Prefix of such a label. The number of aggregators and the names of the last ones follow.
const LABEL_PREFIX: &str = "via:";
/// Maximum number of names in a label.
const MAX_LABEL_NAMES: usize = 3;
/// Maximum number of aggregators on a route.
const MAX_HOPS: usize = 8;
/// Length of an aggregator's name in hexadecimal digits.
const NAME_CHARS: usize = 16;

/// The aggregators that a query has passed through. The last one is this aggregator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    own: Arc<str>,
    before: Vec<Arc<str>>,
    /// Number of aggregators before this one. Some of them may not be known by name.
    hops: usize,
}

impl Route {
    /// Creates the route of an aggregator. `mark` is the value of [`VARIABLE`] with which it was
    /// started.
    ///
    /// Its name is a hash of its servers. Two aggregators with the same servers count as the same
    /// one, because the second would only repeat the results of the first.
    pub(crate) fn new<'s>(servers: impl IntoIterator<Item = &'s str>, mark: Option<&str>) -> Self {
        let mut hash = Hash::new();
        for server in servers {
            hash.update((server.len() as u64).to_le_bytes());
            hash.update(server);
        }
        let own: String =
            hash.finalize().iter().take(NAME_CHARS / 2).map(|byte| format!("{byte:02x}")).collect();
        let before = read(mark.unwrap_or_default());
        Self { own: own.into(), hops: before.len(), before }
    }

    /// Returns the route of a query that arrived with this `_meta`.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Loop`] if the query has passed through this aggregator before.
    pub(crate) fn of_query(&self, meta: Option<&Map<String, Value>>) -> Result<Self, Failure> {
        let told = meta.and_then(|meta| meta.get(META)).and_then(Value::as_str);
        self.after(told.unwrap_or_default(), 0)
    }

    /// Returns the route of a query that arrived with this [`label`](Self::label).
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Loop`] if the query has passed through this aggregator before.
    pub(crate) fn of_label(&self, label: Option<&str>) -> Result<Self, Failure> {
        let told = label.and_then(|label| label.strip_prefix(LABEL_PREFIX));
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

    /// Rejects a route that must not be continued.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::Loop`] if the route contains this aggregator twice, or too many
    /// aggregators.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let is_loop = self.before.contains(&self.own) || self.hops >= MAX_HOPS;
        if is_loop { Err(Failure::Loop) } else { Ok(()) }
    }

    /// Returns the value of [`META`] for the servers.
    pub(super) fn names(&self) -> String {
        let names = self.before.iter().chain([&self.own]);
        names.map(AsRef::as_ref).collect::<Vec<&str>>().join(",")
    }

    /// Returns a shorter form with the last aggregators and their total number. The number alone
    /// ends every loop, because it is limited.
    pub(super) fn label(&self) -> String {
        let names: Vec<&str> = self.before.iter().chain([&self.own]).map(AsRef::as_ref).collect();
        let last = names.get(names.len().saturating_sub(MAX_LABEL_NAMES)..).unwrap_or_default();
        format!("{LABEL_PREFIX}{},{}", self.hops.saturating_add(1), last.join(","))
    }
}

/// Parses a list of names. Invalid names are ignored, and only the maximum number is kept.
fn read(text: &str) -> Vec<Arc<str>> {
    let names = text.split(',').map(str::trim);
    let names = names.filter(|name| {
        name.len() == NAME_CHARS && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    names.take(MAX_HOPS).map(Arc::from).collect()
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
        assert_ne!(docs.names(), both.names());
        assert_eq!(docs.of_query(None).unwrap(), docs);
        // One aggregator queries the other. This is not a loop yet.
        let asked = both.of_query(Some(&meta(&docs.names()))).unwrap();
        assert_eq!(asked.names(), format!("{},{}", docs.names(), both.names()));
        // The second one queries the first again.
        assert_eq!(docs.of_query(Some(&meta(&asked.names()))), Err(Failure::Loop));
        // A child process of the first one.
        assert_eq!(Route::new(["docs", "more"], Some(&asked.names())).check(), Err(Failure::Loop));
        assert_eq!(Route::new(["other"], Some(&asked.names())).check(), Ok(()));
    }

    #[test]
    fn labels_are_short_and_detect_loops() {
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
    fn long_routes_are_rejected_and_invalid_names_ignored() {
        let many: Vec<_> = (0..MAX_HOPS).map(|n| format!("{n:016x}")).collect();
        let route = Route::new(["docs"], None);
        assert_eq!(route.of_query(Some(&meta(&many.join(",")))), Err(Failure::Loop));
        assert!(route.of_query(Some(&meta(&many[1..].join(",")))).is_ok());
        let odd = format!("x,{},,{}", "é".repeat(16), "g".repeat(16));
        assert_eq!(route.of_query(Some(&meta(&odd))).unwrap().names(), route.names());
        let wrong = Map::from_iter([(META.to_owned(), serde_json::json!({"a": 1}))]);
        assert_eq!(route.of_query(Some(&wrong)).unwrap(), route);
    }
}
