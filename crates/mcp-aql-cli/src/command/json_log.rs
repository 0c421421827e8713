//! Formats log lines as JSON objects.
//!
//! The fields of the event, and those of each span, are in objects of their own. Otherwise a field could have the name
//! of another member: the formatter of tracing-subscriber writes `name` twice for a span with such a field.
//!
//! ```json
//! {
//!   "timestamp": "…", "level": "WARN", "target": "tasks",
//!   "fields": { "message": "…" },
//!   "spans": [{ "name": "call", "fields": {} }]
//! }
//! ```

use std::fmt;

use chrono::{SecondsFormat, Utc};
use mcp_aql_text::visible_json;
use serde::Serialize;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::Record;
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

use super::telemetry::trace_ids;

/// Formats events, and the fields of spans.
pub(super) struct JsonLines;

/// A line of the log.
#[derive(Serialize)]
struct Line<'a> {
    timestamp: String,
    level: &'a str,
    target: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span_id: Option<String>,
    /// The fields of the event. Its message is the field `message`.
    fields: Map<String, Value>,
    /// The spans that contain the event, from the outermost to the innermost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    spans: Vec<SpanOfLine>,
}

#[derive(Serialize)]
struct SpanOfLine {
    name: &'static str,
    fields: Map<String, Value>,
}

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Map::new();
        event.record(&mut FieldVisitor(&mut fields));
        let mut spans = Vec::new();
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            let extensions = span.extensions();
            let fields = extensions.get::<FormattedFields<N>>().map(|fields| parse(fields));
            spans.push(SpanOfLine { name: span.name(), fields: fields.unwrap_or_default() });
        }
        let (trace_id, span_id) = trace_ids().unzip();
        let line = Line {
            timestamp: Utc::now().to_rfc3339_opts(SecondsFormat::Micros, true),
            level: event.metadata().level().as_str(),
            target: event.metadata().target(),
            trace_id,
            span_id,
            fields,
            spans,
        };
        let line = serde_json::to_string(&line).map_err(|_| fmt::Error)?;
        writeln!(writer, "{}", visible_json(&line))
    }
}

impl<'writer> FormatFields<'writer> for JsonLines {
    fn format_fields<R: RecordFields>(
        &self,
        mut writer: Writer<'writer>,
        fields: R,
    ) -> fmt::Result {
        let mut map = Map::new();
        fields.record(&mut FieldVisitor(&mut map));
        write!(writer, "{}", Value::from(map))
    }

    fn add_fields(
        &self,
        current: &'writer mut FormattedFields<Self>,
        fields: &Record<'_>,
    ) -> fmt::Result {
        let mut map = parse(current);
        fields.record(&mut FieldVisitor(&mut map));
        current.fields = Value::from(map).to_string();
        Ok(())
    }
}

fn parse(fields: &str) -> Map<String, Value> {
    serde_json::from_str(fields).unwrap_or_default()
}

/// Collects fields. If a field is recorded twice, the later value wins.
struct FieldVisitor<'a>(&'a mut Map<String, Value>);

impl FieldVisitor<'_> {
    fn add(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for FieldVisitor<'_> {
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex, PoisonError};

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(work: impl FnOnce()) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        let layer = tracing_subscriber::fmt::layer()
            .with_writer(move || writer.clone())
            .fmt_fields(JsonLines)
            .event_format(JsonLines);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), work);
        let lines = lines.0.lock().unwrap().clone();
        String::from_utf8(lines).unwrap()
    }

    #[test]
    fn fields_never_have_the_name_of_another_member() {
        let line = logged(|| {
            let span = tracing::info_span!("outer", name = "a", late = tracing::field::Empty);
            span.record("late", 1);
            span.record("late", 2);
            let _entered = span.enter();
            let _inner = tracing::info_span!("inner", target = "t", spans = true).entered();
            tracing::warn!(level = 1.5, target = "x", name = "b", error = %"bad\n\"text\"", "done");
        });
        let expected = concat!(
            r#""level":"WARN","target":"mcp_aql_cli::command::json_log::tests","#,
            r#""fields":{"error":"bad\n\"text\"","level":1.5,"message":"done","name":"b","target":"x"},"#,
            r#""spans":[{"name":"outer","fields":{"late":2,"name":"a"}},"#,
            r#"{"name":"inner","fields":{"spans":true,"target":"t"}}]}"#,
            "\n"
        );
        assert!(line.ends_with(expected), "{line}");
        assert!(line.starts_with(r#"{"timestamp":"2"#), "{line}");
        assert_eq!(line.lines().count(), 1);
    }

    #[test]
    fn no_text_changes_the_direction_of_a_line() {
        const HIDDEN: &str = "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\
                              \u{2068}\u{2069}\u{200b}\u{1b}\u{9b}\u{7f}\u{2028}";
        let line = logged(|| {
            let _entered = tracing::info_span!("call", text = HIDDEN).entered();
            tracing::warn!(error = %HIDDEN, list = ?[HIDDEN], "{HIDDEN}");
        });
        let hidden = line.trim_end().chars().find(|each| mcp_aql_text::is_hidden(*each));
        assert_eq!(hidden, None, "{line}");
        let line: Value = serde_json::from_str(&line).unwrap();
        let (fields, spans) = (&line["fields"], &line["spans"]);
        for text in [&fields["error"], &fields["message"], &spans[0]["fields"]["text"]] {
            assert_eq!(text, HIDDEN);
        }
    }
}
