//! Finds cycles between the modules of a crate, separately for the children of each module.
//!
//! A path is a dependency on the module that defines the item. Re-exports are followed to that module. A parent and its
//! child never form a cycle, because a child extends its parent.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Item, UseTree};

use crate::source::{Crate, Module};

/// A cycle: sibling modules that depend on each other.
pub struct Cycle {
    /// The path of the parent, for example `crate` for the root.
    pub parent: String,
    /// The siblings in the cycle.
    pub modules: Vec<String>,
    /// For each dependency in the cycle: from, to, and one file that contains such a path.
    pub examples: Vec<(String, String, String)>,
}

type Path = Vec<String>;

/// Returns all dependencies between modules of the crate, with an example of each.
pub fn dependencies(source: &Crate) -> BTreeMap<(Path, Path), String> {
    let resolver = Resolver::new(source);
    let mut found = BTreeMap::new();
    for module in &source.modules {
        let mut paths = Vec::new();
        for item in &module.items {
            match item {
                Item::Use(item) => use_paths(&item.tree, &mut Vec::new(), &mut |path, _| {
                    paths.push(path.to_vec());
                }),
                item => token_paths(item.to_token_stream(), &mut paths),
            }
        }
        for path in paths {
            if let Some(target) = resolver.module_of(module, &path, 0)
                && target != module.path
            {
                found
                    .entry((module.path.clone(), target))
                    .or_insert_with(|| format!("{}: {}", module.file.display(), path.join("::")));
            }
        }
    }
    found
}

/// Returns all cycles of a crate.
pub fn cycles(source: &Crate) -> Vec<Cycle> {
    let dependencies = dependencies(source);
    let mut levels: BTreeMap<Path, BTreeMap<String, BTreeMap<String, String>>> = BTreeMap::new();
    for ((from, to), example) in &dependencies {
        let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        if let (Some(a), Some(b)) = (from.get(common), to.get(common)) {
            let level = levels.entry(from.iter().take(common).cloned().collect()).or_default();
            level.entry(a.clone()).or_default().entry(b.clone()).or_insert_with(|| example.clone());
        }
    }
    levels.iter().flat_map(|(parent, level)| rings(parent, level)).collect()
}

fn rings(parent: &[String], level: &BTreeMap<String, BTreeMap<String, String>>) -> Vec<Cycle> {
    let reach = |start: &String| {
        let mut seen = BTreeSet::new();
        let mut open = vec![start];
        while let Some(name) = open.pop() {
            for next in level.get(name).into_iter().flat_map(BTreeMap::keys) {
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&String, BTreeSet<String>> =
        level.keys().map(|name| (name, reach(name))).collect();
    let mut done = BTreeSet::new();
    let mut found = Vec::new();
    for (name, from_here) in &reached {
        if done.contains(*name) || !from_here.contains(*name) {
            continue;
        }
        let ring: Vec<String> = from_here
            .iter()
            .filter(|other| reached.get(other).is_some_and(|back| back.contains(*name)))
            .cloned()
            .collect();
        done.extend(ring.iter().cloned());
        let mut examples = Vec::new();
        for (from, to) in level {
            for (to, example) in to {
                if ring.contains(from) && ring.contains(to) {
                    examples.push((from.clone(), to.clone(), example.clone()));
                }
            }
        }
        let parent = if parent.is_empty() { "crate".to_owned() } else { parent.join("::") };
        found.push(Cycle { parent, modules: ring, examples });
    }
    found
}

/// Resolves paths to the module that defines the item.
struct Resolver<'a> {
    /// For each module: the imported names with the paths in the `use` items.
    imports: BTreeMap<&'a [String], BTreeMap<String, Path>>,
    /// For each module: the paths of glob imports.
    globs: BTreeMap<&'a [String], Vec<Path>>,
    modules: BTreeMap<&'a [String], &'a Module>,
    defined: BTreeMap<&'a [String], BTreeSet<String>>,
    /// The name by which macro expansions inside the crate refer to it.
    root: String,
}

impl<'a> Resolver<'a> {
    fn new(source: &'a Crate) -> Self {
        let mut resolver = Self {
            imports: BTreeMap::new(),
            globs: BTreeMap::new(),
            modules: BTreeMap::new(),
            defined: BTreeMap::new(),
            root: source.name.replace('-', "_"),
        };
        for module in &source.modules {
            let mut imports = BTreeMap::new();
            let mut globs = Vec::new();
            let mut defined = BTreeSet::new();
            for item in &module.items {
                match item {
                    Item::Use(item) => {
                        use_paths(&item.tree, &mut Vec::new(), &mut |path, name| match name {
                            Some(name) => _ = imports.insert(name, path.to_vec()),
                            None => globs.push(path.to_vec()),
                        });
                    }
                    Item::Const(item) => _ = defined.insert(item.ident.to_string()),
                    Item::Enum(item) => _ = defined.insert(item.ident.to_string()),
                    Item::Fn(item) => _ = defined.insert(item.sig.ident.to_string()),
                    Item::Static(item) => _ = defined.insert(item.ident.to_string()),
                    Item::Struct(item) => _ = defined.insert(item.ident.to_string()),
                    Item::Trait(item) => _ = defined.insert(item.ident.to_string()),
                    Item::Type(item) => _ = defined.insert(item.ident.to_string()),
                    _ => {}
                }
            }
            resolver.imports.insert(&module.path, imports);
            resolver.globs.insert(&module.path, globs);
            resolver.modules.insert(&module.path, module);
            resolver.defined.insert(&module.path, defined);
        }
        resolver
    }

    /// Returns the module that defines the item of `path`, as written in `module`. Returns `None` for other crates.
    fn module_of(&self, module: &Module, path: &[String], depth: usize) -> Option<Path> {
        let mut rest = path.iter().map(String::as_str).peekable();
        let mut place = match *rest.peek()? {
            first if first == "crate" || first == self.root => {
                rest.next();
                Path::new()
            }
            "self" => {
                rest.next();
                module.path.clone()
            }
            "super" => {
                let mut place = module.path.clone();
                while rest.next_if_eq(&"super").is_some() {
                    place.pop();
                }
                place
            }
            first => {
                let mut child = module.path.clone();
                child.push(first.to_owned());
                let imported = self.imports.get(module.path.as_slice())?.get(first);
                if !self.modules.contains_key(child.as_slice()) && imported.is_none() {
                    return None;
                }
                module.path.clone()
            }
        };
        for name in rest {
            let mut child = place.clone();
            child.push(name.to_owned());
            if self.modules.contains_key(child.as_slice()) {
                place = child;
                continue;
            }
            let here = *self.modules.get(place.as_slice())?;
            if self.defined.get(place.as_slice())?.contains(name) {
                return Some(place);
            }
            if let Some(target) = self.imports.get(place.as_slice())?.get(name) {
                // An import whose path begins with the imported name itself belongs to another crate.
                if depth > 8
                    || target.first().map(String::as_str) == Some(name) && target.len() == 1
                {
                    return None;
                }
                return self.module_of(here, target, depth + 1);
            }
            for glob in self.globs.get(place.as_slice())? {
                let mut longer = glob.clone();
                longer.push(name.to_owned());
                if depth < 8
                    && let Some(found) = self.module_of(here, &longer, depth + 1)
                    && self.defined.get(found.as_slice()).is_some_and(|names| names.contains(name))
                {
                    return Some(found);
                }
            }
            break;
        }
        Some(place)
    }
}

/// Calls `found` for each path in a `use` tree, with the imported name. A glob has no name.
pub fn use_paths(
    tree: &UseTree,
    prefix: &mut Path,
    found: &mut impl FnMut(&[String], Option<String>),
) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            use_paths(&path.tree, prefix, found);
            prefix.pop();
        }
        UseTree::Name(name) if name.ident == "self" => found(prefix, prefix.last().cloned()),
        UseTree::Name(name) => {
            prefix.push(name.ident.to_string());
            found(prefix, Some(name.ident.to_string()));
            prefix.pop();
        }
        UseTree::Rename(rename) => {
            let itself = rename.ident == "self";
            if !itself {
                prefix.push(rename.ident.to_string());
            }
            found(prefix, Some(rename.rename.to_string()));
            if !itself {
                prefix.pop();
            }
        }
        UseTree::Glob(_) => found(prefix, None),
        UseTree::Group(group) => {
            for tree in &group.items {
                use_paths(tree, prefix, found);
            }
        }
    }
}

/// Collects all paths of two or more segments in the tokens, including those in macro arguments.
fn token_paths(tokens: TokenStream, found: &mut Vec<Path>) {
    let mut path = Path::new();
    let mut colons = 0;
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            // This is a `use` inside a function. Collect its whole tree.
            TokenTree::Ident(name) if name == "use" => {
                let is_end = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ';');
                let tree: TokenStream =
                    tokens.by_ref().take_while(|token| !is_end(token)).collect();
                if let Ok(tree) = syn::parse2::<UseTree>(tree) {
                    use_paths(&tree, &mut Path::new(), &mut |path, _| found.push(path.to_vec()));
                }
            }
            TokenTree::Ident(name) => {
                if colons != 2 {
                    finish(&mut path, found);
                }
                path.push(name.to_string());
                colons = 0;
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            other => {
                finish(&mut path, found);
                colons = 0;
                if let TokenTree::Group(group) = other {
                    token_paths(group.stream(), found);
                }
            }
        }
    }
    finish(&mut path, found);
}

fn finish(path: &mut Path, found: &mut Vec<Path>) {
    let path = std::mem::take(path);
    if path.len() > 1 {
        found.push(path);
    }
}
