//! Parses `fields` and `preset`.
use mcp_aql_protocol::is_public_name;
use serde_json::Value;

use mcp_aql_core::internal::schema::{OpenPath, OpenPaths, Projection, ReportedFields, Selection};

use super::{QueryFaults, QuerySurface};
use crate::entry::QueryParams;
use crate::model::{ResourceSchema, ShownPath};

/// The kind of an operation's result. It determines the default fields (REQ-FLD-06).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultKind {
    Single,
    Collection,
    Search,
}

/// Returns the preset of a call without `fields`.
pub(crate) const fn default_preset(family: ResultKind) -> &'static str {
    match family {
        ResultKind::Single => "full",
        ResultKind::Collection => "standard",
        ResultKind::Search => "minimal",
    }
}

/// The presets of every resource.
const STANDARD: [&str; 3] = ["minimal", "standard", "full"];

/// Maximum number of paths in a request.
const MAX_PATHS: usize = 200;

/// Maximum number of names in a path. A selection is as deep as its longest path, so this limits its depth.
///
/// Requests nest at most 64 levels (REQ-ENC-12), and so do the values they store. Longer paths therefore
/// match nothing.
const MAX_PATH_NAMES: usize = 64;

/// Maximum length of a path. The reply repeats the paths.
const MAX_PATH_BYTES: usize = 512;

/// Maximum total length of the paths of a request. The reply repeats them outside of the result, so they are
/// not part of its size limit.
const MAX_PATHS_BYTES: usize = 8 << 10;

/// Returns the presets of a resource.
pub(crate) fn preset_names(table: &ResourceSchema) -> Vec<&str> {
    let own = table.presets.iter().map(|preset| preset.name);
    STANDARD.into_iter().chain(own.filter(|name| !STANDARD.contains(name))).collect()
}

/// The selected fields. `given` is `true` if the caller chose them.
pub(crate) struct ParsedFields {
    pub(crate) selection: Selection,
    pub(crate) given: bool,
}

/// Parses `fields`, and `preset` if it is accepted. `fields` is a preset or a list of paths:
///
/// ```json
/// { "fields": "minimal" }
/// { "fields": ["title", "metadata.owner", "_computed.age_days"] }
/// ```
pub(crate) fn read_fields(
    surface: &QuerySurface<'_>,
    given: &mut QueryParams<'_>,
    default: &str,
    faults: &mut QueryFaults,
) -> ParsedFields {
    let fields = given.take("fields");
    let preset = given.take("preset");
    let asked = fields.is_some() || preset.is_some();
    let mut selection = Selection {
        reported: ReportedFields::Preset(String::new()),
        projection: Projection::none(),
        computed: Vec::new(),
        open: None,
    };
    if let Some(Value::String(name)) = &preset {
        add_preset(surface, "preset", name, &mut selection, faults);
    }
    match &fields {
        Some(Value::String(name)) => add_preset(surface, "fields", name, &mut selection, faults),
        Some(Value::Array(paths)) => add_paths(surface, paths, &mut selection, faults),
        Some(other) => {
            faults.wrong_type("fields", "string or array of string", other);
        }
        None if preset.is_none() => add_preset(surface, "fields", default, &mut selection, faults),
        None => {}
    }
    selection.open = OpenPaths::of(&selection.projection);
    given.late_warnings.extend(selection.open.clone().map(|open| open as _));
    ParsedFields { selection, given: asked }
}

fn add_preset(
    surface: &QuerySurface<'_>,
    param: &str,
    name: &str,
    selection: &mut Selection,
    faults: &mut QueryFaults,
) {
    let table = surface.table;
    let names = preset_names(table);
    if !names.contains(&name) {
        let meant = paths_in(surface, name);
        faults.unknown_meaning(param, "preset", name, &names, meant);
        return;
    }
    selection.reported =
        match std::mem::replace(&mut selection.reported, ReportedFields::Preset(String::new())) {
            ReportedFields::Preset(known) if known.is_empty() || known == name => {
                ReportedFields::Preset(name.to_owned())
            }
            ReportedFields::Preset(known) => ReportedFields::Paths(vec![known, name.to_owned()]),
            ReportedFields::Paths(mut known) => {
                known.push(name.to_owned());
                ReportedFields::Paths(known)
            }
        };
    match table.presets.iter().find(|preset| preset.name == name) {
        Some(preset) => {
            for path in preset.paths.iter().filter(|path| surface.selects(path)) {
                add(surface, path, false, selection);
            }
        }
        None if name == "minimal" => {
            let searched = table.fields.iter().find(|field| field.search && !field.computed);
            let id = table.id.and_then(|id| table.field(id));
            let shown = id.into_iter().chain(searched).filter(|field| surface.selects(&field.path));
            for field in shown {
                selection.projection.add(&field.path, Projection::All);
            }
        }
        // All stored fields. The row needs no projection if the backend supports all of them.
        None => selection.projection.join(surface.all_of("", &table.members)),
    }
}

/// Recognizes a string with paths instead of a preset, such as `title` or `title, status`.
fn paths_in(surface: &QuerySurface<'_>, text: &str) -> Option<String> {
    if text.starts_with('[') && serde_json::from_str::<Vec<String>>(text).is_ok() {
        return Some("Send it as JSON, not as a string".to_owned());
    }
    let all = all_paths(surface);
    let paths: Vec<_> = text.split([',', ' ']).filter(|path| !path.is_empty()).collect();
    let is_list = !paths.is_empty()
        && paths.len() <= MAX_PATHS
        && paths.iter().all(|path| all.iter().any(|it| it == path));
    let quoted: Vec<_> = paths.iter().map(|path| format!("'{path}'")).collect();
    is_list.then(|| format!("Send a list: [{}]", quoted.join(", ")))
}

fn add_paths(
    surface: &QuerySurface<'_>,
    paths: &[Value],
    selection: &mut Selection,
    faults: &mut QueryFaults,
) {
    if paths.is_empty() || paths.len() > MAX_PATHS {
        let what =
            format!("must name 1 to {MAX_PATHS} fields: leave it out for the default fields");
        faults.refuse("fields", &what, "a preset, or a list of field paths");
    }
    if paths.iter().filter_map(Value::as_str).map(str::len).sum::<usize>() > MAX_PATHS_BYTES {
        let what = format!(
            "has more than {MAX_PATHS_BYTES} bytes in its paths: name the object around the values"
        );
        faults.refuse(
            "fields",
            &what,
            format!("paths of {MAX_PATHS_BYTES} bytes or less in total"),
        );
        return;
    }
    let mut reported = match &selection.reported {
        ReportedFields::Preset(name) if name.is_empty() => Vec::new(),
        ReportedFields::Preset(name) => vec![name.clone()],
        ReportedFields::Paths(paths) => paths.clone(),
    };
    for (index, path) in paths.iter().take(MAX_PATHS).enumerate() {
        let param = format!("fields[{index}]");
        let Some(path) = path.as_str() else {
            faults.wrong_type(&param, "string", path);
            continue;
        };
        if path.len() > MAX_PATH_BYTES || path.split('.').count() > MAX_PATH_NAMES {
            let limits = format!("{MAX_PATH_NAMES} names and {MAX_PATH_BYTES} bytes");
            let what = format!("is longer than {limits}: name the object around the value");
            faults.refuse(&param, &what, format!("a path of {limits} or less"));
            continue;
        }
        let known = surface.selects(path) && is_path(path) && add(surface, path, true, selection);
        if known {
            reported.push(path.to_owned());
        } else {
            let valid = all_paths(surface);
            let valid: Vec<_> = valid.iter().map(String::as_str).collect();
            let is_preset = preset_names(surface.table).contains(&path);
            let meaning = is_preset.then(|| format!("Send '{path}' alone, not in a list"));
            faults.unknown_meaning(&param, "field", path, &valid, meaning);
        }
    }
    selection.reported = ReportedFields::Paths(reported);
}

/// Returns `true` if a string is a valid path (REQ-FLD-04).
///
/// Names with a leading underscore are valid too, because the resource can have a field such as `_version`.
fn is_path(path: &str) -> bool {
    path.split('.').all(|part| is_public_name(part.strip_prefix('_').unwrap_or(part)))
}

/// Adds the target of a path. Returns `false` if it does not exist.
fn add(surface: &QuerySurface<'_>, path: &str, by_caller: bool, selection: &mut Selection) -> bool {
    match surface.table.shown(path) {
        Some(ShownPath::Stored) => {
            let members = path
                .split('.')
                .try_fold(&surface.table.members, |members, name| members.known.get(name));
            let part = members.map_or(Projection::All, |members| surface.all_of(path, members));
            selection.projection.add(path, part);
        }
        Some(ShownPath::Open) => {
            // Only paths of the caller cause a warning if a row lacks them. Presets are defined by the
            // author, so the caller cannot correct them.
            let projection = if by_caller {
                Projection::open(OpenPath::new(path, surface.table.members.near(path)))
            } else {
                Projection::All
            };
            selection.projection.add(path, projection);
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

/// Returns all selectable paths of a resource.
pub(crate) fn all_paths(surface: &QuerySurface<'_>) -> Vec<String> {
    let computed = surface.table.fields.iter().filter(|field| field.computed);
    let mut paths = surface.table.members.paths();
    paths.extend(computed.map(|field| field.path.clone()));
    paths.retain(|path| surface.selects(path));
    paths
}
