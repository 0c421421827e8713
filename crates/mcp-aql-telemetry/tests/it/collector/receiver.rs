//! A collector on the loopback interface that keeps all received requests.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

/// A request to the collector: its path, headers and body.
type Received = (&'static str, HeaderMap, Bytes);

/// The collector. Clones share the received requests.
#[derive(Clone, Default)]
pub(crate) struct Collector(Arc<Mutex<Vec<Received>>>);

/// The attributes of a span or of a data point, as strings.
pub(crate) type Attributes = BTreeMap<String, String>;

impl Collector {
    /// Starts the collector. Also returns its address.
    pub(crate) async fn start() -> (Self, SocketAddr) {
        let collector = Self::default();
        let keep = |path: &'static str| {
            axum::routing::post(
                move |State(collector): State<Self>, headers: HeaderMap, body: Bytes| async move {
                    collector.0.lock().unwrap().push((path, headers, body));
                    StatusCode::OK
                },
            )
        };
        let router = axum::Router::new()
            .route("/v1/traces", keep("traces"))
            .route("/v1/metrics", keep("metrics"))
            .with_state(collector.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        (collector, address)
    }

    fn received(&self, path: &str) -> Vec<Bytes> {
        let received = self.0.lock().unwrap();
        received.iter().filter(|it| it.0 == path).map(|it| it.2.clone()).collect()
    }

    /// Returns the headers of all requests.
    pub(crate) fn headers(&self) -> Vec<HeaderMap> {
        self.0.lock().unwrap().iter().map(|it| it.1.clone()).collect()
    }

    /// Returns `true` if any body contains this string.
    pub(crate) fn contains(&self, text: &str) -> bool {
        let has = |body: &Bytes| body.windows(text.len()).any(|part| part == text.as_bytes());
        self.0.lock().unwrap().iter().any(|(_, _, body)| has(body))
    }

    /// Returns all spans, and the attributes of their services.
    pub(crate) fn spans(&self) -> (Vec<Span>, Vec<Attributes>) {
        let (mut spans, mut services) = (Vec::new(), Vec::new());
        for body in self.received("traces") {
            for group in ExportTraceServiceRequest::decode(body).unwrap().resource_spans {
                services.push(attributes(&group.resource.unwrap().attributes));
                spans.extend(group.scope_spans.into_iter().flat_map(|scope| scope.spans));
            }
        }
        (spans, services)
    }

    /// Returns the last data points of a metric with their counts. Metrics are cumulative, so earlier points are not
    /// needed.
    pub(crate) fn points(&self, name: &str) -> Vec<(Attributes, u64)> {
        let mut points = BTreeMap::new();
        for body in self.received("metrics") {
            let groups = ExportMetricsServiceRequest::decode(body).unwrap().resource_metrics;
            let scopes = groups.into_iter().flat_map(|group| group.scope_metrics);
            let metrics = scopes.flat_map(|scope| scope.metrics);
            for metric in metrics.filter(|metric| metric.name == name) {
                match metric.data.unwrap() {
                    Data::Sum(sum) => points.extend(sum.data_points.into_iter().map(|point| {
                        let Some(Number::AsInt(count)) = point.value else { panic!("{point:?}") };
                        (attributes(&point.attributes), u64::try_from(count).unwrap())
                    })),
                    Data::Histogram(histogram) => {
                        points.extend(histogram.data_points.into_iter().map(|point| {
                            assert_eq!(point.explicit_bounds.first(), Some(&0.01));
                            (attributes(&point.attributes), point.count)
                        }));
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        points.into_iter().collect()
    }

    /// Returns the sum of a metric's counts over the data points with these attributes.
    pub(crate) fn count(&self, name: &str, wanted: &[(&str, &str)]) -> u64 {
        let fits = |found: &Attributes| {
            wanted.iter().all(|(key, value)| found.get(*key).is_some_and(|it| it == value))
        };
        self.points(name).iter().filter(|(found, _)| fits(found)).map(|(_, count)| count).sum()
    }
}

/// Converts attributes to strings.
pub(crate) fn attributes(given: &[KeyValue]) -> Attributes {
    let text = |value: &Option<AnyValue>| match value.as_ref().and_then(|it| it.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        other => panic!("{other:?}"),
    };
    given.iter().map(|it| (it.key.clone(), text(&it.value))).collect()
}
