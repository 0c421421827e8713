//! What is created can be read, as it was submitted.

use serde_json::{Map, Value};

use super::{Body, Check, Keyword, later};
use crate::cases::{Cases, Finding, Skip};
use crate::pages;
use crate::resources::{self, Role, same};
use crate::run::{Run, arguments};
use crate::values::Shape;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "creates.form",
        title: "What a CREATE operation answers tells which thing was created",
        requirements: &["REQ-RSP-11"],
        keyword: Keyword::Should,
        level: 2,
        body: Body::Changes(later!(form)),
    },
    Check {
        id: "creates.read_back",
        title: "What was created is read with every field as it was submitted",
        requirements: &["REQ-CNF-04", "REQ-CNF-13"],
        keyword: Keyword::Must,
        level: 2,
        body: Body::Changes(later!(read_back)),
    },
    Check {
        id: "creates.defaults_shown",
        title: "What was left out has its documented default",
        requirements: &["REQ-RQ-09"],
        keyword: Keyword::Must,
        level: 2,
        body: Body::Changes(later!(defaults_shown)),
    },
    Check {
        id: "creates.rejected_whole",
        title: "A CREATE that is refused leaves nothing behind",
        requirements: &["REQ-RQ-08", "REQ-RQ-06"],
        keyword: Keyword::Must,
        level: 2,
        body: Body::Alone(later!(rejected_whole)),
    },
];

async fn form(run: &Run, cases: &Cases) {
    for kind in run.kinds(Role::Create, cases) {
        let Some(create) = kind.operation(run, Role::Create) else { continue };
        let params = match run.valid(create) {
            Ok(params) => params,
            Err(why) => {
                cases.skip(why);
                continue;
            }
        };
        let Some(made) = run.create(kind, params, cases).await else { continue };
        if !made.succeeded() {
            cases.skip(Skip::NoFixture(format!(
                "`{name}` creates nothing for us, it answers {}: give parameters under [params.{name}]",
                made.told(),
                name = create.name,
            )));
            continue;
        }
        let id = made.data().and_then(|data| kind.identity(kind.object(data)?));
        cases.expect(id.is_some(), || {
            Finding::of(
                &made,
                &create.name,
                format!("`data.{}` with the `{}` of what was created", kind.name, kind.id),
                "answer with the new thing under its own name, its identifier included: nobody can \
                 read, change or remove it else",
            )
        });
    }
}

async fn read_back(run: &Run, cases: &Cases) {
    for kind in run.kinds(Role::Create, cases) {
        let Some(create) = kind.operation(run, Role::Create) else { continue };
        let Some(thing) = run.make(kind, cases).await else { continue };
        let Some(looked) = run.look(&thing, cases).await else { continue };
        let Some(object) = looked.data().and_then(|data| kind.object(data)) else {
            cases.fail(Finding::of(
                &looked,
                &create.name,
                format!("a success with the {} that `{}` has just created", kind.name, create.name),
                "store what is created before you answer that it is",
            ));
            continue;
        };
        let returned = looked_type(run, looked.operation());
        for (name, sent) in &thing.sent {
            if name.starts_with('_') || sent.is_null() {
                continue;
            }
            let subject = format!("{}, parameter `{name}`", create.name);
            let finding = |expected: String| Finding {
                sent: Value::Array(vec![thing.made.sent(), looked.sent()]),
                ..Finding::of(
                    &looked,
                    subject,
                    expected,
                    "keep what was submitted, and show it under the name of the parameter",
                )
            };
            match object.get(name) {
                Some(there) => {
                    cases.expect(same(sent, there), || {
                        finding(format!("`{name}` as it was submitted: {sent}"))
                    });
                }
                None => {
                    // What is not shown at all is meant for something else than to be read.
                    let shown = returned.iter().any(|field| field.name == name);
                    if shown {
                        cases.fail(finding(format!("`{name}`, which was submitted as {sent}")));
                    }
                }
            }
        }
    }
}

/// The fields of what an operation returns.
fn looked_type<'r>(run: &'r Run, operation: &str) -> Vec<resources::Field<'r>> {
    let operation = run.adapter.operation(operation);
    let name =
        operation.and_then(|operation| operation.details().pointer("/returns/name")?.as_str());
    name.map(|name| resources::fields_of(&run.adapter, name)).unwrap_or_default()
}

async fn defaults_shown(run: &Run, cases: &Cases) {
    let mut has_defaults = false;
    for kind in run.kinds(Role::Create, cases) {
        let Some(create) = kind.operation(run, Role::Create) else { continue };
        let configured = run.settings.file.params.get(&create.name);
        let defaults: Vec<_> = create
            .parameters
            .iter()
            .filter(|parameter| !parameter.required && !resources::is_control(&parameter.name))
            .filter(|parameter| configured.is_none_or(|given| !given.contains_key(&parameter.name)))
            .filter_map(|parameter| Some((parameter.name.as_str(), parameter.member("default")?)))
            .filter(|(_, default)| !default.is_null())
            .collect();
        if defaults.is_empty() {
            continue;
        }
        has_defaults = true;
        let params = match run.valid(create) {
            Ok(params) => params,
            Err(why) => {
                cases.skip(why);
                continue;
            }
        };
        let Some(thing) = run.make_with(kind, params, cases).await else { continue };
        let Some(looked) = run.look(&thing, cases).await else { continue };
        let Some(object) = run.shown(&thing, &looked, cases) else { continue };
        for (name, default) in defaults {
            let Some(there) = object.get(name) else {
                let returned = looked_type(run, looked.operation());
                if !returned.iter().any(|field| field.name == name) {
                    // It is about how it is created, and leaves nothing to be seen.
                    cases.not_applicable(format!(
                        "nothing shows what `{}` makes of the default of `{name}`",
                        create.name
                    ));
                }
                continue;
            };
            cases.expect(same(default, there), || Finding {
                sent: thing.made.sent(),
                ..Finding::shown(
                    format!("{}, parameter `{name}`", create.name),
                    object.clone(),
                    format!("`{name}` with its documented default: {default}"),
                    "put the default in where the parameter is left out, or document the one that you put in",
                )
            });
        }
    }
    if !has_defaults {
        cases.not_applicable("no CREATE operation documents a default");
    }
}

async fn rejected_whole(run: &Run, cases: &Cases) {
    for kind in run.kinds(Role::Create, cases) {
        let Some(create) = kind.operation(run, Role::Create) else { continue };
        if let Some(why) = run.forbids(create) {
            cases.skip(why);
            continue;
        }
        let Some(list) = kind.operation(run, Role::List) else {
            cases.not_applicable(format!("no operation lists what `{}` creates", create.name));
            continue;
        };
        let wrong: Vec<_> = match resources::to_create(run, create) {
            Ok(params) => wrong(run, create, &params).collect(),
            Err(why) => {
                cases.skip(why);
                continue;
            }
        };
        for params in wrong {
            let Some(before) = pages::all(run, list, Map::new(), cases).await else { break };
            let arguments = arguments(&create.name, params);
            let Some(refused) = run.refused(&create.tool, arguments, cases).await else { continue };
            if refused.failure().is_none() {
                // That it is not refused is found elsewhere.
                continue;
            }
            let Some(after) = pages::all(run, list, Map::new(), cases).await else { break };
            cases.expect(before.len() == after.len(), || {
                Finding::of(
                    &refused,
                    &create.name,
                    format!(
                        "`{}` with {} items before and after, and not with {}",
                        list.name,
                        before.len(),
                        after.len()
                    ),
                    "check all parameters before anything is stored, or take back what was",
                )
            });
        }
    }
}

/// The same parameters with a wrong one among them: the first that can be wrong, and the last.
fn wrong(
    run: &Run,
    create: &crate::learn::Operation,
    params: &Map<String, Value>,
) -> impl Iterator<Item = Map<String, Value>> {
    let wrong: Vec<_> = create
        .parameters
        .iter()
        .filter_map(|parameter| {
            let wrong = Shape::of(&run.adapter, parameter).wrong().pop()?;
            let mut params = params.clone();
            params.insert(parameter.name.clone(), wrong.value);
            Some(params)
        })
        .collect();
    let last = wrong.last().cloned();
    wrong.into_iter().take(1).chain(last)
}
