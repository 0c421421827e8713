//! Sets up the OpenTelemetry providers from the standard environment variables.

use std::sync::mpsc;
use std::time::Duration;

use opentelemetry::global;
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, RetryPolicy, SpanExporter, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;

use crate::collector_client::CollectorClient;

/// How long the program waits for the collector before it exits.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// Default time limit of an export.
const DEFAULT_REQUEST_LIMIT: Duration = Duration::from_secs(10);
/// The only supported encoding. It is also OpenTelemetry's default.
const PROTOBUF: &str = "http/protobuf";

/// The providers of an adapter. Dropping them shuts them down.
pub(crate) struct Providers {
    traces: Option<SdkTracerProvider>,
    metrics: Option<SdkMeterProvider>,
}

/// Reads an environment variable. Empty variables count as unset.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Providers {
    /// Sets up the global providers requested by the environment. Returns `None` if it requests none.
    pub(crate) fn from_env(adapter: &str) -> Result<Option<Self>, String> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let (traces, metrics) = (exports("TRACES", &variable)?, exports("METRICS", &variable)?);
        if !traces && !metrics {
            return Ok(None);
        }
        let client = CollectorClient::new(request_limit(&variable)?)?;
        let resource = resource(adapter, &variable);
        let traces = traces.then(|| trace_provider(&client, &resource)).transpose();
        let metrics = metrics.then(|| meter_provider(&client, &resource)).transpose();
        let problem = |error: ExporterBuildError| format!("OpenTelemetry: {error}");
        let providers =
            Self { traces: traces.map_err(problem)?, metrics: metrics.map_err(problem)? };
        global::set_text_map_propagator(TraceContextPropagator::new());
        if let Some(traces) = &providers.traces {
            global::set_tracer_provider(traces.clone());
        }
        if let Some(metrics) = &providers.metrics {
            global::set_meter_provider(metrics.clone());
        }
        Ok(Some(providers))
    }

    /// Exports all recorded data, and waits at most [`FLUSH_TIMEOUT`] for the collector.
    pub(crate) fn flush(&self) {
        self.within_timeout("flush", |traces, metrics| {
            traces
                .map_or(Ok(()), |it| it.force_flush())
                .and(metrics.map_or(Ok(()), |it| it.force_flush()))
        });
    }

    fn within_timeout(
        &self,
        what: &'static str,
        work: fn(Option<&SdkTracerProvider>, Option<&SdkMeterProvider>) -> OTelSdkResult,
    ) {
        let (traces, metrics) = (self.traces.clone(), self.metrics.clone());
        let (done, end) = mpsc::sync_channel(1);
        std::thread::spawn(move || done.send(work(traces.as_ref(), metrics.as_ref())));
        match end.recv_timeout(FLUSH_TIMEOUT) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, what, "the collector rejected part of the export")
            }
            Err(_) => tracing::warn!(what, "the collector did not answer in time"),
        }
    }
}

impl Drop for Providers {
    fn drop(&mut self) {
        self.within_timeout("shutdown", |traces, metrics| {
            traces
                .map_or(Ok(()), |it| it.shutdown())
                .and(metrics.map_or(Ok(()), |it| it.shutdown()))
        });
    }
}

/// Returns `true` if the environment requests the export of a signal, either `TRACES` or `METRICS`.
///
/// Unlike in OpenTelemetry, the default is not a collector on this machine. Adapters are started by many clients on
/// many machines, and most of them run no collector. So nothing is exported unless an endpoint is set:
///
/// ```console
/// $ OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 tasks serve
/// ```
fn exports(signal: &str, variable: Variables<'_>) -> Result<bool, String> {
    if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(false);
    }
    let exporter = format!("OTEL_{signal}_EXPORTER");
    match variable(&exporter).as_deref() {
        Some("none") => return Ok(false),
        None | Some("otlp") => {}
        Some(other) => return Err(format!("{exporter} is {other:?}: write `otlp` or `none`")),
    }
    let of_signal = |setting: &str| {
        let names = [
            format!("OTEL_EXPORTER_OTLP_{signal}_{setting}"),
            format!("OTEL_EXPORTER_OTLP_{setting}"),
        ];
        names.into_iter().find_map(|name| Some((variable(&name)?, name)))
    };
    if of_signal("ENDPOINT").is_none() {
        return Ok(false);
    }
    match of_signal("PROTOCOL") {
        Some((protocol, name)) if protocol != PROTOBUF => {
            Err(format!("{name} is {protocol:?}: write `{PROTOBUF}`, and the endpoint for HTTP"))
        }
        _ => Ok(true),
    }
}

/// Returns the time limit of an export. OpenTelemetry's exporters expect their HTTP client to enforce it.
fn request_limit(variable: Variables<'_>) -> Result<Duration, String> {
    let name = "OTEL_EXPORTER_OTLP_TIMEOUT";
    match variable(name) {
        None => Ok(DEFAULT_REQUEST_LIMIT),
        Some(value) => match value.parse() {
            Ok(milliseconds) => Ok(Duration::from_millis(milliseconds)),
            Err(_) => Err(format!("{name} is {value:?}: write a number of milliseconds")),
        },
    }
}

/// Describes the service. A service name in the environment takes precedence over the name of the adapter.
fn resource(adapter: &str, variable: Variables<'_>) -> Resource {
    let is_named = variable("OTEL_SERVICE_NAME").is_some()
        || variable("OTEL_RESOURCE_ATTRIBUTES").is_some_and(|attributes| {
            attributes.split(',').any(|each| each.trim_start().starts_with("service.name="))
        });
    let builder = Resource::builder();
    let builder = if is_named { builder } else { builder.with_service_name(adapter.to_owned()) };
    builder.build()
}

/// Retries once, in case the collector was just closing the connection. With more retries, every command would wait for
/// seconds before it exits if the collector is not running.
fn one_retry() -> RetryPolicy {
    RetryPolicy::recommended().with_max_retries(1)
}

fn trace_provider(
    client: &CollectorClient,
    resource: &Resource,
) -> Result<SdkTracerProvider, ExporterBuildError> {
    let exporter = SpanExporter::builder().with_http().with_http_client(client.clone());
    let exporter = exporter.with_retry_policy(one_retry());
    let provider = SdkTracerProvider::builder().with_resource(resource.clone());
    Ok(provider.with_batch_exporter(exporter.build()?).build())
}

fn meter_provider(
    client: &CollectorClient,
    resource: &Resource,
) -> Result<SdkMeterProvider, ExporterBuildError> {
    let exporter = MetricExporter::builder().with_http().with_http_client(client.clone());
    let exporter = exporter.with_retry_policy(one_retry());
    let provider = SdkMeterProvider::builder().with_resource(resource.clone());
    Ok(provider.with_periodic_exporter(exporter.build()?).build())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exports_with(variables: &[(&str, &str)]) -> Result<bool, String> {
        exports("TRACES", &|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn nothing_is_exported_without_an_endpoint() {
        const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318");
        for (variables, exported) in [
            (&[][..], false),
            (&[("OTEL_TRACES_EXPORTER", "otlp")], false),
            (&[("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://localhost:4318")], false),
            (&[ENDPOINT], true),
            (&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://localhost:4318/v1/traces")], true),
            (&[ENDPOINT, ("OTEL_TRACES_EXPORTER", "none")], false),
            (&[ENDPOINT, ("OTEL_SDK_DISABLED", "True")], false),
            (&[ENDPOINT, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")], true),
        ] {
            assert_eq!(exports_with(variables), Ok(exported), "{variables:?}");
        }
    }

    #[test]
    fn unsupported_settings_are_problems_that_say_what_to_write() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4317");
        let problem = exports_with(&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
        let expected = "OTEL_EXPORTER_OTLP_PROTOCOL is \"grpc\": write `http/protobuf`, and the endpoint for HTTP";
        assert_eq!(problem, Err(expected.to_owned()));
        let problem = exports_with(&[endpoint, ("OTEL_TRACES_EXPORTER", "zipkin")]);
        let expected = "OTEL_TRACES_EXPORTER is \"zipkin\": write `otlp` or `none`";
        assert_eq!(problem, Err(expected.to_owned()));
    }

    #[test]
    fn the_environment_names_the_service() {
        let name = |variables: &[(&str, &str)]| {
            let found = resource("tasks", &|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            });
            found.get(&"service.name".into()).map(|name| name.to_string())
        };
        assert_eq!(name(&[]).as_deref(), Some("tasks"));
        // The SDK itself reads these variables, from the environment of the process. There they are not set.
        for set in [("OTEL_SERVICE_NAME", "a"), ("OTEL_RESOURCE_ATTRIBUTES", "x=1, service.name=a")]
        {
            assert_ne!(name(&[set]).as_deref(), Some("tasks"), "{set:?}");
        }
    }
}
