use mcp_aql_protocol::is_public_name;
use serde_json::Value;

use super::{Faults, Offer};
use crate::query::entry::Given;
use crate::query::model::{ShownPath, Table};
use crate::query::select::{OpenPath, OpenPaths, Pick, Selection, Told};
use crate::vocab::json_type;

/// What an operation gives, which settles what it shows unasked (REQ-FLD-06).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Single,
    Collection,
    Search,
}

/// The preset of an operation that was asked for none.
pub(crate) const fn default_preset(family: Family) -> &'static str {
    match family {
        Family::Single => "full",
        Family::Collection => "standard",
        Family::Search => "minimal",
    }
}

/// The presets that every resource has.
const STANDARD: [&str; 3] = ["minimal", "standard", "full"];

/// So many paths a request may name.
const MOST_PATHS: usize = 200;

/// The presets of a resource.
pub(crate) fn preset_names(table: &Table) -> Vec<&str> {
    let own = table.presets.iter().map(|preset| preset.name);
    STANDARD.into_iter().chain(own.filter(|name| !STANDARD.contains(name))).collect()
}

/// What is shown, and whether the caller asked for it.
pub(crate) struct Selected {
    pub(crate) selection: Selection,
    pub(crate) given: bool,
}

/// Reads `fields`, and `preset` where that is accepted.
pub(crate) fn read_fields(
    offer: &Offer<'_>,
    given: &mut Given<'_>,
    default: &str,
    faults: &mut Faults,
) -> Selected {
    let fields = given.take("fields");
    let preset = given.take("preset");
    let asked = fields.is_some() || preset.is_some();
    let mut selection = Selection {
        told: Told::Preset(String::new()),
        pick: Pick::none(),
        computed: Vec::new(),
        open: None,
    };
    if let Some(Value::String(name)) = &preset {
        add_preset(offer, "preset", name, &mut selection, faults);
    }
    match &fields {
        Some(Value::String(name)) => add_preset(offer, "fields", name, &mut selection, faults),
        Some(Value::Array(paths)) => add_paths(offer, paths, &mut selection, faults),
        Some(other) => {
            faults.wrong_type("fields", "string or array of string", json_type(other));
        }
        None if preset.is_none() => add_preset(offer, "fields", default, &mut selection, faults),
        None => {}
    }
    selection.open = OpenPaths::of(&selection.pick);
    given.open_paths.extend(selection.open.clone());
    Selected { selection, given: asked }
}

fn add_preset(
    offer: &Offer<'_>,
    param: &str,
    name: &str,
    selection: &mut Selection,
    faults: &mut Faults,
) {
    let table = offer.table;
    let names = preset_names(table);
    if !names.contains(&name) {
        faults.unknown(param, "preset", name, &names);
        return;
    }
    selection.told = match std::mem::replace(&mut selection.told, Told::Preset(String::new())) {
        Told::Preset(known) if known.is_empty() || known == name => Told::Preset(name.to_owned()),
        Told::Preset(known) => Told::Paths(vec![known, name.to_owned()]),
        Told::Paths(mut known) => {
            known.push(name.to_owned());
            Told::Paths(known)
        }
    };
    match table.presets.iter().find(|preset| preset.name == name) {
        Some(preset) => {
            for path in preset.paths.iter().filter(|path| offer.selects(path)) {
                add(offer, path, false, selection);
            }
        }
        None if name == "minimal" => {
            let searched = table.fields.iter().find(|field| field.search && !field.computed);
            let id = table.id.and_then(|id| table.field(id));
            let shown = id.into_iter().chain(searched).filter(|field| offer.selects(&field.path));
            for field in shown {
                selection.pick.add(&field.path, Pick::All);
            }
        }
        // All that is stored: the row as it is, where the backend has all of it.
        None => selection.pick.join(offer.all_of("", &table.members)),
    }
}

fn add_paths(offer: &Offer<'_>, paths: &[Value], selection: &mut Selection, faults: &mut Faults) {
    if paths.is_empty() || paths.len() > MOST_PATHS {
        let what = format!("must name 1 to {MOST_PATHS} fields");
        faults.refuse("fields", &what, "a preset, or a list of field paths");
    }
    let mut told = match &selection.told {
        Told::Preset(name) if name.is_empty() => Vec::new(),
        Told::Preset(name) => vec![name.clone()],
        Told::Paths(paths) => paths.clone(),
    };
    for (index, path) in paths.iter().take(MOST_PATHS).enumerate() {
        let param = format!("fields[{index}]");
        let Some(path) = path.as_str() else {
            faults.wrong_type(&param, "string", json_type(path));
            continue;
        };
        let known = offer.selects(path) && is_path(path) && add(offer, path, true, selection);
        if known {
            told.push(path.to_owned());
        } else {
            let valid = all_paths(offer);
            let valid: Vec<_> = valid.iter().map(String::as_str).collect();
            faults.unknown(&param, "field", path, &valid);
        }
    }
    selection.told = Told::Paths(told);
}

/// Whether a text has the form of a path (REQ-FLD-04). A name that the resource itself writes with a
/// leading underscore, such as `_version`, is one too.
fn is_path(path: &str) -> bool {
    path.split('.').all(|part| is_public_name(part.strip_prefix('_').unwrap_or(part)))
}

/// Adds what a path leads to, if there is such a thing.
fn add(offer: &Offer<'_>, path: &str, by_caller: bool, selection: &mut Selection) -> bool {
    match offer.table.shown(path) {
        Some(ShownPath::Stored) => {
            let members = path
                .split('.')
                .try_fold(&offer.table.members, |members, name| members.known.get(name));
            let part = members.map_or(Pick::All, |members| offer.all_of(path, members));
            selection.pick.add(path, part);
        }
        Some(ShownPath::Open) => {
            // A preset is the author's: a caller need not know that a row lacks a part of it.
            let pick = if by_caller {
                Pick::open(OpenPath::new(path, offer.table.members.near(path)))
            } else {
                Pick::All
            };
            selection.pick.add(path, pick);
        }
        Some(ShownPath::Computed(place)) => {
            if !selection.computed.contains(&place) {
                selection.computed.push(place);
            }
        }
        None => return false,
    }
    true
}

/// All paths of a resource that can be shown.
pub(crate) fn all_paths(offer: &Offer<'_>) -> Vec<String> {
    let computed = offer.table.fields.iter().filter(|field| field.computed);
    let mut paths = offer.table.members.paths();
    paths.extend(computed.map(|field| field.path.clone()));
    paths.retain(|path| offer.selects(path));
    paths
}
