//! Checks that a generated source contains the requested items and no others. A fuzz target uses the same checks.

use std::collections::BTreeSet;

use mcp_aql_protocol::{RESERVED_PARAMETERS, is_public_name};
use mcp_aql_text::is_hidden;
use syn::punctuated::Punctuated;
use syn::visit::Visit;
use syn::{Attribute, File, Ident, Item, LitStr, Meta, PatIdent, Stmt, Token, UseTree};

/// Collects the names of variables.
#[derive(Default)]
struct Variables(BTreeSet<String>);

impl Visit<'_> for Variables {
    fn visit_pat_ident(&mut self, pattern: &PatIdent) {
        self.0.insert(pattern.ident.to_string());
        syn::visit::visit_pat_ident(self, pattern);
    }
}

/// Counts the items and macro calls inside of a function.
#[derive(Default)]
struct Inner(usize);

impl Visit<'_> for Inner {
    fn visit_stmt(&mut self, statement: &Stmt) {
        self.0 += usize::from(matches!(statement, Stmt::Item(_) | Stmt::Macro(_)));
        syn::visit::visit_stmt(self, statement);
    }
}

/// Returns the name of a field or variant in JSON.
fn json_name(ident: &Ident, attributes: &[Attribute]) -> String {
    let options = attributes.iter().filter(|attribute| attribute.path().is_ident("serde"));
    let renames = options.filter_map(|attribute| {
        let all = Punctuated::<Meta, Token![,]>::parse_terminated;
        let options = attribute.parse_args_with(all).unwrap();
        options.into_iter().find_map(|option| {
            let Meta::NameValue(option) = option else { return None };
            let value = option.value;
            option.path.is_ident("rename").then(|| syn::parse_quote!(#value))
        })
    });
    let name = renames.map(|name: LitStr| name.value()).next();
    name.unwrap_or_else(|| ident.to_string().trim_start_matches("r#").to_owned())
}

/// Panics if a name occurs twice.
fn are_unique(names: impl IntoIterator<Item = String>, source: &str) {
    let mut known = BTreeSet::new();
    for name in names {
        assert!(!known.contains(&name), "{name} twice: {source}");
        known.insert(name);
    }
}

fn imported(tree: &UseTree, names: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => imported(&path.tree, names),
        UseTree::Name(name) => names.push(name.ident.to_string()),
        UseTree::Group(group) => group.items.iter().for_each(|item| imported(item, names)),
        UseTree::Glob(_) | UseTree::Rename(_) => {}
    }
}

/// Panics unless all names of a kind are unique, and unless callers can write the names of parameters.
fn has_unique_names(items: &[Item], source: &str) {
    let (mut types, mut functions) = (Vec::new(), Vec::new());
    for item in items {
        match item {
            Item::Use(item) => imported(&item.tree, &mut types),
            Item::Fn(item) => functions.push(item.sig.ident.to_string()),
            Item::Enum(item) => {
                types.push(item.ident.to_string());
                are_unique(item.variants.iter().map(|it| it.ident.to_string()), source);
                are_unique(item.variants.iter().map(|it| json_name(&it.ident, &it.attrs)), source);
            }
            Item::Struct(item) => {
                types.push(item.ident.to_string());
                types.extend(["Filter", "Update"].map(|end| format!("{}{end}", item.ident)));
                let idents = || item.fields.iter().filter_map(|it| Some((it.ident.as_ref()?, it)));
                are_unique(idents().map(|(ident, _)| ident.to_string()), source);
                let names: Vec<_> =
                    idents().map(|(ident, it)| json_name(ident, &it.attrs)).collect();
                for name in &names {
                    assert!(name == "_version" || is_public_name(name), "{name}: {source}");
                    assert!(!RESERVED_PARAMETERS.contains(&name.as_str()), "{source}");
                }
                are_unique(names, source);
            }
            _ => {}
        }
    }
    are_unique(types, source);
    are_unique(functions, source);
}

/// Panics if the comment of a table or column would become a code sample, because documentation tests compile and run
/// samples.
///
/// The words of a line must be separated by single spaces. Otherwise they could be indented code after the mark of a
/// list.
fn has_no_samples(source: &str) {
    for line in source.lines().filter_map(|line| line.trim().strip_prefix("///")) {
        let is_sample = ["  ", "\t", "```", "~~~"].iter().any(|mark| line.contains(mark));
        assert!(!is_sample, "{line}: {source}");
    }
}

/// Panics if a source has an unrequested item, or characters that control a reader's terminal.
pub(super) fn has_only_what_was_planned(source: &str, remarks: &[String]) {
    has_no_samples(source);
    let hidden = source.chars().find(|letter| *letter != '\n' && is_hidden(*letter));
    assert_eq!(hidden, None, "{source}");
    assert!(!remarks.iter().any(|remark| remark.contains(is_hidden)), "{remarks:?}");
    let File { attrs, items, .. } =
        syn::parse_file(source).unwrap_or_else(|error| panic!("{error}: {source}"));
    assert!(attrs.iter().all(|attribute| attribute.path().is_ident("doc")));
    let (mut structs, mut functions) = (0, Vec::new());
    for item in &items {
        match item {
            Item::Use(_) | Item::Enum(_) => {}
            Item::Struct(_) => structs += 1,
            Item::Fn(function) => functions.push(function),
            _ => panic!("an item that no table asked for: {source}"),
        }
    }
    assert_eq!(functions.len(), structs + 2, "{source}");
    has_unique_names(&items, source);
    let mut variables = Variables::default();
    functions.iter().for_each(|function| variables.visit_item_fn(function));
    for function in functions {
        let name = function.sig.ident.to_string();
        assert!(!variables.0.contains(&name), "the variable `{name}` hides a function: {source}");
        let mut inner = Inner::default();
        inner.visit_item_fn(function);
        assert_eq!(inner.0, 0, "{source}");
    }
}
