//! Introspection queries that features and extensions add: their trait, and how `introspect` publishes them.

use serde_json::Value;

use super::RegisteredOperation;
use crate::error::OperationError;
use crate::util::BoxFuture;

/// A query answered by `introspect` in addition to `operations` and `types`. Features add such queries (choice C-35).
/// The set of queries is fixed when the adapter is built.
///
/// ```json
/// { "operation": "introspect", "params": { "query": "danger", "name": "delete_task" } }
/// ```
pub trait FurtherQuery: Send + Sync {
    /// Returns the value of the parameter `query`.
    fn query(&self) -> &'static str;

    /// Returns `true` if the parameter `name` can select one entry of the answer.
    fn takes_name(&self) -> bool {
        false
    }

    /// Returns the members of `data`. The answer must only name operations for which `is_shown` returns `true`.
    fn answer<'a>(
        &'a self,
        name: Option<&'a str>,
        is_shown: IsShown<'a>,
    ) -> BoxFuture<'a, Result<Value, OperationError>>;
}

/// Returns `true` if the caller may call an operation.
pub(crate) type IsShown<'a> = &'a (dyn Fn(&str) -> bool + Send + Sync);

/// The additional queries of an adapter.
pub(crate) type FurtherQueries = Vec<Box<dyn FurtherQuery>>;

/// Adds the queries to the `enum` of the parameter `query`, so that clients can discover them (choice C-35).
pub(crate) fn publish(introspect: &mut RegisteredOperation, further: &FurtherQueries) {
    let query = introspect.parameters.iter_mut().find(|parameter| &*parameter.name == "query");
    if let Some(query) = query {
        let allowed = &mut query.shape.checks.allowed;
        for each in further {
            let word = Value::from(each.query());
            if !allowed.contains(&word) {
                allowed.push(word);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Weather;

    impl FurtherQuery for Weather {
        fn query(&self) -> &'static str {
            "weather"
        }

        fn answer<'a>(
            &'a self,
            _name: Option<&'a str>,
            _is_shown: IsShown<'a>,
        ) -> BoxFuture<'a, Result<Value, OperationError>> {
            Box::pin(std::future::ready(Ok(json!({ "sky": "clear" }))))
        }
    }

    /// Builds an adapter with one additional query.
    fn adapter() -> crate::Adapter {
        crate::Adapter::builder("beds")
            .without_config()
            .build()
            .unwrap()
            .with_further_query(Weather)
    }

    #[tokio::test]
    async fn a_further_query_is_published_answered_and_named_in_errors() {
        // REQ-INT-20, REQ-INT-28
        let adapter = adapter();
        let answer = adapter.call("introspect", json!({ "query": "weather" })).await;
        assert_eq!(*answer.data(), json!({ "sky": "clear" }));
        let asked = json!({ "query": "operations", "name": "introspect" });
        let answer = adapter.call("introspect", asked).await;
        let published = &answer.data()["operation"]["parameters"][0]["enum"];
        assert_eq!(*published, json!(["operations", "types", "danger", "weather"]));
        let answer = adapter.call("introspect", json!({ "query": "wether" })).await;
        assert_eq!(answer.code(), Some("INVALID_QUERY_TYPE"));
        let message = answer.error().map(|error| error.message.as_str()).unwrap_or_default();
        assert!(
            message.contains("operations, types, danger, weather. Did you mean 'weather'?"),
            "{message}"
        );
    }

    #[tokio::test]
    async fn rejects_parameters_that_a_query_does_not_accept() {
        // REQ-INT-28, REQ-PAG-01
        let adapter = adapter();
        let parameters = [
            ("name", json!("introspect")),
            ("category", json!("READ")),
            ("prefix", json!("i")),
            ("names", json!(["introspect"])),
            ("parameters", json!(true)),
            ("first", json!(1)),
            ("after", json!("x")),
            ("last", json!(1)),
            ("before", json!("x")),
        ];
        for (query, name, accepted, described) in [
            ("operations", Some("introspect"), &["name"][..], "no other parameter"),
            ("types", None, &["name", "prefix"], "only 'name' or 'prefix'"),
            ("types", Some("Page"), &["name"], "no other parameter"),
            ("danger", None, &["name"], "only 'name'"),
            ("danger", Some("introspect"), &["name"], "no other parameter"),
            ("weather", None, &[], "no other parameter"),
        ] {
            for (parameter, value) in &parameters {
                let mut asked = json!({ "query": query });
                if let Some(name) = name {
                    asked["name"] = json!(name);
                }
                asked[parameter] = value.clone();
                let answer = adapter.call("introspect", asked.clone()).await;
                if accepted.contains(parameter) {
                    assert!(answer.is_success(), "{asked}");
                    continue;
                }
                let with = if name.is_some() { " with 'name'" } else { "" };
                let expected = format!(
                    "Parameter '{parameter}' is not accepted by query '{query}'{with}. The query accepts \
                     {described}: leave '{parameter}' out"
                );
                assert_eq!(answer.code(), Some("INTROSPECTION_ERROR"), "{asked}");
                assert_eq!(answer.error().map(|error| &*error.message), Some(&*expected));
            }
        }
    }
}
