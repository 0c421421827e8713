//! Checks that the rejection of a mistaken `input` suffices to send the right call next.

use serde_json::{Value, json};

use super::input::wrongs;
use super::{Subject, only, subjects};
use crate::cases::{Cases, Finding};
use crate::checks::refusals::{Refusal, misspelt};
use crate::items::Field;
use crate::run::Run;
use crate::shape::Fault;

/// Maximum number of misspelled fields per resource.
const MAX_MISSPELT_FIELDS: usize = 3;

pub(super) async fn flat_explained(run: &Run, cases: &Cases) {
    for subject in subjects(run, cases).await {
        let Some((name, value, _)) = subject.change().await else { continue };
        // Other checks report operations without `input`, and those that accept fields next to it.
        if subject.update.parameter("input").is_none() || subject.update.parameter(name).is_some() {
            continue;
        }
        let flat = [vec![(name, value.clone())], vec![(name, value), ("input", json!({}))]];
        for params in flat {
            let Some(exchange) = subject.call(params).await else { continue };
            let Some(refusal) = Refusal::of(&exchange) else { continue };
            cases.expect(refusal.mentions("input"), || {
                Finding::of(&exchange, subject.field(name)).expected(format!(
                    "`input` in the message or in the details, because `{name}` belongs inside it"
                ))
            });
        }
    }
}

/// Misspells fields and expects the rejections to state the right names.
async fn misspell(subject: &Subject<'_>, fields: &[Field<'_>]) {
    let &Subject { run, cases, .. } = subject;
    let Some(now) = subject.stored().await else { return };
    let is_field = |name: &str| fields.iter().any(|field| field.name == name);
    let wrong = fields.iter().filter_map(|field| {
        let wrong = misspelt(field.name).filter(|wrong| !is_field(wrong))?;
        let value = field.other(run, now.get(field.name).unwrap_or(&Value::Null))?;
        Some((field.name, wrong, value))
    });
    for (name, wrong, value) in wrong.take(MAX_MISSPELT_FIELDS) {
        // Some documented fields may not be changeable. Use only those that the operation accepts.
        let input = only(name, value.clone());
        let Some(control) = subject.send(input).await else { continue };
        if !control.succeeded() {
            continue;
        }
        let input = only(&wrong, value);
        let Some(exchange) = subject.send(input).await else { continue };
        let refusal = Refusal::of(&exchange).filter(|refusal| refusal.mentions(&wrong));
        let Some(refusal) = refusal else { continue };
        cases.expect(refusal.mentions(name), || {
            Finding::of(&exchange, subject.field(name)).expected(format!(
                "`{name}` in the message or in the details, because `{wrong}` is a misspelling of \
                 it"
            ))
        });
    }
}

pub(super) async fn field_explained(run: &Run, cases: &Cases) {
    for subject in subjects(run, cases).await {
        let fields = subject.thing.resource.changeable(run);
        for field in &fields {
            for (fault, value) in wrongs(*field) {
                let input = only(field.name, value);
                let Some(exchange) = subject.send(input).await else {
                    continue;
                };
                // The check `updates.values_checked` reports accepted values.
                let Some(refusal) = Refusal::of(&exchange) else { continue };
                // Some documented fields may not be changeable. Their rejection need not list allowed values.
                let is_unknown = refusal.failure.code.contains("UNKNOWN");
                let words = field.shape.words().filter(|_| fault == Fault::Word && !is_unknown);
                let says =
                    refusal.mentions(field.name) && words.is_none_or(|words| refusal.lists(words));
                cases.expect(says, || {
                    let expected = match words {
                        Some(words) => format!(
                            "`{}` and its allowed values: {}",
                            field.name,
                            Value::from(words)
                        ),
                        None => format!("`{}` in the message or in the details", field.name),
                    };
                    Finding::of(&exchange, subject.field(field.name)).expected(expected).fix(
                        "name the field inside `input` and the expected value, as for other \
                         parameters",
                    )
                });
            }
        }
        misspell(&subject, &fields).await;
        if fields.is_empty() {
            cases.skip_without(format!(
                "a field of `{}` with a known type: document the fields in a type that `input` \
                 names",
                subject.update.name
            ));
        }
    }
}
