//! The way from a request to a source file.

use crate::database::{Database, Error, MAX_TABLES, Request};
use crate::resource::Resource;
use crate::table::Table;
use crate::value_type::TypeNames;
use crate::{postgres, render, sqlite};

/// The generated source, and remarks about tables and columns that it leaves out.
#[derive(Debug, Clone)]
pub struct Generated {
    /// A complete `main.rs`.
    pub source: String,
    /// The parts that are missing, one sentence each.
    pub remarks: Vec<String>,
}

/// Reads the tables and writes the source of an adapter.
///
/// # Errors
/// If the database cannot be read, a requested table does not exist, or no table can be a resource.
pub async fn generate(request: &Request) -> Result<Generated, Error> {
    let (tables, views) = match &request.database {
        Database::Postgres(url) => {
            let schema = request.schema.as_deref().unwrap_or("public");
            postgres::tables(url, schema, &request.tables).await?
        }
        Database::Sqlite(path) => sqlite::tables(path, &request.tables)?,
    };
    let mut generated = write(request, &tables)?;
    if request.tables.is_empty() && views > 0 {
        generated.remarks.push(format!("Views are left out. Their number: {views}."));
    }
    Ok(generated)
}

fn write(request: &Request, tables: &[Table]) -> Result<Generated, Error> {
    let mut resources: Vec<Resource> = Vec::new();
    let mut remarks = Vec::new();
    let mut names = TypeNames::of(tables);
    for table in tables {
        match Resource::of(table, &mut names) {
            Ok(resource) => {
                let same = |other: &&Resource| other.type_name == resource.type_name;
                if let Some(other) = resources.iter().find(same) {
                    return Err(Error::SameName(other.table.clone(), resource.table));
                }
                remarks.extend(resource.remarks.iter().cloned());
                resources.push(resource);
            }
            Err(remark) => remarks.push(remark),
        }
    }
    if resources.is_empty() {
        return Err(Error::NoResource(remarks));
    }
    if resources.len() > MAX_TABLES {
        return Err(Error::TooMany(resources.len()));
    }
    let source = render::source(request, &resources);
    Ok(Generated { source, remarks })
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use mcp_aql_protocol::{RESERVED_PARAMETERS, is_public_name};
    use mcp_aql_text::is_hidden;
    use proptest::prelude::*;
    use syn::punctuated::Punctuated;
    use syn::visit::Visit;
    use syn::{Attribute, File, Ident, Item, LitStr, Meta, Stmt, Token, UseTree};

    use super::{Generated, write};
    use crate::database::{Database, Request};
    use crate::table::{Column, ColumnKind, Table};

    /// Text that would leave the place where it is written, and names that mean something in the source.
    fn foreign_text() -> impl Strategy<Value = String> {
        let part = prop::sample::select(vec![
            "a",
            "B",
            "_",
            " ",
            "1",
            "'",
            "\"",
            "\\",
            "`",
            "```",
            "~~~",
            "/",
            "*/",
            "/*",
            "//",
            "#",
            "!",
            "#[x]",
            "{",
            "}",
            "(",
            ")",
            ";",
            ",",
            "\n",
            "\r",
            "\u{2028}",
            "\u{202e}",
            "\u{2066}",
            "\u{200b}",
            "\u{1b}[2J",
            "\u{9b}",
            "\u{0}",
            "\u{8}",
            "\u{ad}",
            "\u{e0041}",
            "\u{fe0f}",
            "\u{301}",
            "\u{df}",
            "\u{130}",
            "\u{1f600}",
            "macro_rules! env { () => {} }",
            "fn main() {}",
            "self",
            "type",
            "operations",
            "params",
            "operation",
            "adapter",
            "main",
            "id",
            "_version",
            "option",
            "string",
            "filter",
            "update",
            "Self",
            "crate",
            "super",
            "match",
            "async",
            "gen",
            "userId",
            "user_id",
            "UserID",
            "user id",
            "日本",
            "ﬁ",
            "<script>",
        ]);
        let parts = prop::collection::vec(part.clone(), 0..5).prop_map(|parts| parts.concat());
        prop_oneof![8 => parts, 1 => part.prop_map(|part| part.repeat(100))]
    }

    fn kind() -> impl Strategy<Value = ColumnKind> {
        let list = |entries: ColumnKind| ColumnKind::Array {
            name: "x[]".to_owned(),
            entries: Box::new(entries),
        };
        let values = prop::collection::vec(foreign_text(), 0..4);
        prop_oneof![
            Just(ColumnKind::Boolean),
            Just(ColumnKind::Integer(2)),
            Just(ColumnKind::Integer(4)),
            Just(ColumnKind::Integer(8)),
            Just(ColumnKind::Number(4)),
            Just(ColumnKind::Number(8)),
            Just(ColumnKind::Instant),
            Just(ColumnKind::Text { max_length: None }),
            Just(ColumnKind::Uuid),
            Just(ColumnKind::Date),
            Just(ColumnKind::LocalInstant("timestamp")),
            Just(ColumnKind::Json),
            Just(list(ColumnKind::Integer(4))),
            (foreign_text(), values).prop_map(|(name, values)| ColumnKind::Enum { name, values }),
            foreign_text().prop_map(ColumnKind::Other),
            foreign_text().prop_map(ColumnKind::Unsupported),
        ]
    }

    fn column() -> impl Strategy<Value = Column> {
        let default = prop_oneof![
            foreign_text().prop_map(|text| format!("'{}'", text.replace('\'', "''"))),
            foreign_text(),
            Just("'{\"a\": [\"\\u0001\\b\", 3000000000, -1, 1e300]}'".to_owned()),
            Just("[".repeat(100)),
        ];
        let texts = (prop::option::of(default), prop::option::of(foreign_text()));
        (foreign_text(), kind(), any::<[bool; 4]>(), texts).prop_map(
            |(
                name,
                kind,
                [is_nullable, is_numbered, is_generated, is_numeric],
                (default, comment),
            )| Column {
                note: None,
                numeric_type: is_numeric.then(|| name.clone()),
                name,
                kind,
                is_nullable,
                default,
                is_numbered,
                is_generated,
                comment,
            },
        )
    }

    fn table() -> impl Strategy<Value = Table> {
        let texts = (foreign_text(), prop::option::of(foreign_text()), foreign_text());
        (texts, prop::collection::vec(column(), 1..6), foreign_text()).prop_map(
            |((name, comment, other), columns, value)| {
                let column = |place: usize| {
                    columns.get(place % columns.len()).map(|it: &Column| it.name.clone())
                };
                let check = format!(
                    "\"{}\" IN ('{}')",
                    column(1).unwrap_or_default(),
                    value.replace('\'', "''")
                );
                Table {
                    name,
                    comment,
                    primary_key: column(0).into_iter().collect(),
                    foreign_keys: BTreeMap::from_iter(column(2).map(|name| (name, other))),
                    checks: vec![check],
                    columns,
                    ..Table::default()
                }
            },
        )
    }

    /// Counts what a function contains beside calls.
    #[derive(Default)]
    struct Inner(usize);

    impl Visit<'_> for Inner {
        fn visit_stmt(&mut self, statement: &Stmt) {
            self.0 += usize::from(matches!(statement, Stmt::Item(_) | Stmt::Macro(_)));
            syn::visit::visit_stmt(self, statement);
        }
    }

    /// The name in JSON of a field or variant.
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

    /// Panics unless all names of a kind are unique, and callers can write those of parameters.
    fn has_unique_names(items: &[Item], source: &str) {
        let (mut types, mut functions) = (Vec::new(), Vec::new());
        for item in items {
            match item {
                Item::Use(item) => imported(&item.tree, &mut types),
                Item::Fn(item) => functions.push(item.sig.ident.to_string()),
                Item::Enum(item) => {
                    types.push(item.ident.to_string());
                    are_unique(item.variants.iter().map(|it| it.ident.to_string()), source);
                    are_unique(
                        item.variants.iter().map(|it| json_name(&it.ident, &it.attrs)),
                        source,
                    );
                }
                Item::Struct(item) => {
                    types.push(item.ident.to_string());
                    types.extend(["Filter", "Update"].map(|end| format!("{}{end}", item.ident)));
                    let idents =
                        || item.fields.iter().filter_map(|it| Some((it.ident.as_ref()?, it)));
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

    /// Panics if a source has an item that no table asked for, or text that acts on a reader's terminal.
    fn has_only_what_was_planned(generated: &Generated) {
        let Generated { source, remarks } = generated;
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
        for function in functions {
            let mut inner = Inner::default();
            inner.visit_item_fn(function);
            assert_eq!(inner.0, 0, "{source}");
        }
    }

    proptest! {
        #[test]
        fn a_foreign_database_writes_no_code(tables in prop::collection::vec(table(), 1..4), name in foreign_text()) {
            let request = Request { database: Database::Sqlite(String::new()), schema: None, tables: Vec::new(), name };
            match write(&request, &tables) {
                Ok(generated) => has_only_what_was_planned(&generated),
                Err(error) => assert!(!mcp_aql_text::visible_lines(&error.to_string()).contains('\u{1b}')),
            }
        }
    }
}
