//! Tests of the reference pages: they are complete, well-formed, and safe against strings of authors.

use std::collections::BTreeSet;

use mcp_aql::constraint::{Bound, Constraint, EnumValue, Format};
use mcp_aql::prelude::*;
use mcp_aql::table::{
    Call, DefaultSpec, Deprecation, ExampleSpec, OperationEntry, OperationSpec, ParameterEntry,
    ParameterSpec, ReturnsSpec,
};
use mcp_aql::{AdapterBuilder, EndpointMode, EndpointProfile, Operations, SemanticCategory, docs};
use pulldown_cmark::{Event, Options, Parser, Tag};
use regex::Regex;
use serde_json::{Value, json};

/// A book on the shelf.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, JsonSchema, UpdateInput)]
struct Book {
    /// Which book.
    #[resource(id)]
    book_id: u32,
    /// Title as printed on the cover.
    #[param(min_length = 1, max_length = 200)]
    title: String,
    /// Its author.
    #[update_input(replace)]
    authors: Vec<Author>,
    /// Grows with every change.
    #[resource(read_only)]
    _version: u64,
}

/// Someone who writes.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, JsonSchema)]
struct Author {
    name: String,
    kind: Kind,
}

/// The kind of a writer.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Person,
    Group,
}

/// The state of a loan.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "lowercase")]
enum Loan {
    /// The book is out.
    Out { since: String },
    /// The book is back.
    Back,
}

struct Shelf;

#[operations]
impl Shelf {
    /// Add a book.
    ///
    /// The book is on the shelf at once:
    ///
    /// - **first** by author,
    /// - then by `title`.
    ///
    /// [How shelves work](https://example.org/shelves)
    #[operation(category = "CREATE", example("with its writer", {
        "title": "Pipes | and *stars*", "authors": [{ "name": "Ada", "kind": "person" }],
    }))]
    fn add_book(
        &self,
        /// Title as printed on the cover.
        #[param(min_length = 1, max_length = 200)]
        title: String,
        /// Its author.
        #[param(max_items = 9)]
        authors: Vec<Author>,
        /// Its status.
        #[param(default = "a|b", pattern = "^(a|b|[|])+$")]
        place: String,
        /// Key to the cupboard.
        #[param(sensitive)]
        key: Option<String>,
        /// The shelf's old name.
        #[param(deprecated(replacement = "place", removal_date = "2031-05-06"))]
        row: Option<u8>,
    ) -> Book {
        let _ = (place, key, row);
        Book { book_id: 1, title, authors, _version: 1 }
    }

    /// List the books.
    #[operation(category = "READ", deprecated(replacement = "add_book"))]
    fn list_books(&self) -> Vec<Book> {
        Vec::new()
    }

    /// Change a book.
    #[operation(category = "UPDATE")]
    fn update_book(
        &self,
        /// Which book.
        book_id: u32,
        input: Update<Book>,
        if_match: IfMatch<u64>,
    ) -> Result<Book, OperationError> {
        let _ = (input, if_match);
        Err(OperationError::not_found("book", book_id.to_string()))
    }

    /// Give back a book.
    #[operation(category = "EXECUTE", rationale = "giving back is something that happens")]
    fn return_book(
        &self,
        /// Which book.
        book_id: u32,
    ) -> Loan {
        let _ = book_id;
        Loan::Back
    }
}

fn shelf() -> AdapterBuilder {
    Adapter::builder("shelf")
        .version("1.2.3")
        .instructions("Books live on *shelves*.")
        .operations(Shelf)
        .without_config()
}

const HOSTILE: &str = "</script></style><script>alert(1)</script><img src=x onerror=\"alert('2')\"> \
                       --> ]]> &lt; `</code><b>` **<i>** [x](javascript:alert(3)) \
                       [y](https://example.org/\"onclick=\"alert(4)) | a\u{7}\n\n- <li>\n\n```\n</pre>\n```";
const HOSTILE_EXAMPLE: &str =
    r#"{"text":"</script><img src=x onerror=alert(1)>","kind":"\"><svg onload=alert(5)>"}"#;

/// An adapter with markup in each string of its author.
struct Hostile;

impl Operations for Hostile {
    const OPERATIONS: &'static [OperationEntry<Self>] = &[OperationEntry::new(
        OperationSpec::new("show_text", SemanticCategory::Read, HOSTILE)
            .rationale(HOSTILE)
            .deprecated(Deprecation::new().removal_date(HOSTILE))
            .parameters(&[
                ParameterEntry::One(
                    ParameterSpec::required::<String>("text", HOSTILE)
                        .constraints(&[Constraint::Pattern("<img src=x onerror=alert.1.>")]),
                ),
                ParameterEntry::One(
                    ParameterSpec::optional::<String>("kind", HOSTILE)
                        .default(DefaultSpec::Json(r#""\"><svg onload=alert(5)>""#))
                        .constraints(&[Constraint::Enum(&[
                            EnumValue::Str("\"><svg onload=alert(5)>"),
                            EnumValue::Number(Bound::Int(1)),
                        ])]),
                ),
                ParameterEntry::One(
                    ParameterSpec::optional::<String>("day", HOSTILE)
                        .constraints(&[Constraint::Format(Format::Date)]),
                ),
            ])
            .examples(&[ExampleSpec { description: HOSTILE, params: HOSTILE_EXAMPLE }])
            .returns(ReturnsSpec::of::<Odd, _>()),
        |_, call: Call| Box::pin(async move { call.reply(Odd { field: 1 }) }),
    )];
}

#[derive(serde::Serialize, JsonSchema)]
#[schemars(rename = "<b>Odd</b>", description = "</script><img src=x onerror=alert(1)>")]
struct Odd {
    #[serde(rename = "<i>")]
    #[schemars(description = "\"><svg onload=alert(5)>")]
    field: u8,
}

fn hostile() -> AdapterBuilder {
    Adapter::builder("</title><script>alert(0)</script>")
        .version("\"><img src=x>")
        .instructions(HOSTILE)
        .profile(EndpointProfile::custom("odd").family("look", HOSTILE, [SemanticCategory::Read]))
        .operations(Hostile)
        .without_config()
}

/// Returns the page without its own style and script.
fn markup(page: &str) -> String {
    let own = Regex::new(r"(?s)<(style|script)>\n.*?\n</(style|script)>").unwrap();
    assert_eq!(own.find_iter(page).count(), 2, "one style, one script");
    own.replace_all(page, "").into_owned()
}

/// Returns the start tags with their attributes. The attributes contain neither `<` nor `>`.
fn tags(page: &str) -> Vec<(String, Vec<(String, String)>)> {
    let tag = Regex::new(r"<([a-zA-Z][^\s>/]*)([^>]*)>").unwrap();
    let attribute = Regex::new(r#"([^\s="]+)="([^"]*)""#).unwrap();
    tag.captures_iter(&markup(page))
        .map(|found| {
            let inside = attribute.captures_iter(&found[2]);
            let pairs = inside.map(|one| (one[1].to_owned(), one[2].to_owned())).collect();
            (found[1].to_owned(), pairs)
        })
        .collect()
}

fn attributes(page: &str, name: &str) -> Vec<String> {
    let all = tags(page).into_iter().flat_map(|(_, attributes)| attributes);
    all.filter(|(known, _)| known == name).map(|(_, value)| value).collect()
}

async fn introspect(adapter: &Adapter, params: Value) -> Value {
    adapter.call("introspect", params).await.data().clone()
}

#[test]
fn markdown_reads_like_this() {
    insta::assert_snapshot!(docs::markdown(&shelf().build().unwrap()));
}

#[tokio::test]
async fn everything_that_clients_can_query_is_on_the_pages() {
    let adapter = shelf().build().unwrap();
    let pages = [docs::markdown(&adapter), docs::html(&adapter)];
    let [markdown, html] = &pages;
    let ids: BTreeSet<_> = attributes(html, "id").into_iter().collect();
    let list = introspect(&adapter, json!({ "query": "operations" })).await;
    let operations = list["operations"].as_array().unwrap();
    assert_eq!(operations.len(), 5);
    for operation in operations {
        let name = operation["name"].as_str().unwrap();
        assert!(ids.contains(&format!("operation-{name}")), "{name}");
        assert!(markdown.contains(&format!("### {name}\n")), "{name}");
        let details = introspect(&adapter, json!({ "query": "operations", "name": name })).await;
        let details = &details["operation"];
        for parameter in details["parameters"].as_array().unwrap() {
            let id = format!("parameter-{name}-{}", parameter["name"].as_str().unwrap());
            assert!(ids.contains(&id), "{id}");
            assert!(markdown.contains(&format!("<a id=\"{id}\"></a>`")), "{id}");
        }
        for page in &pages {
            assert!(page.contains(details["mcpTool"].as_str().unwrap()), "{name}");
        }
    }
    let list = introspect(&adapter, json!({ "query": "types" })).await;
    for each in list["types"].as_array().unwrap() {
        let name = each["name"].as_str().unwrap();
        assert!(ids.contains(&format!("type-{name}")), "{name}");
        assert!(markdown.contains(&format!("### {name}\n")), "{name}");
        let details = introspect(&adapter, json!({ "query": "types", "name": name })).await;
        let start = html.find(&format!("id=\"type-{name}\"")).unwrap();
        let (_, article) = html.split_at(start);
        let (article, _) = article.split_once("</article>").unwrap();
        for field in details["type"]["fields"].as_array().into_iter().flatten() {
            let field = field["name"].as_str().unwrap();
            assert!(article.contains(&format!("<code>{field}</code>")), "{name}.{field}");
        }
        for value in details["type"]["values"].as_array().into_iter().flatten() {
            let value = value.as_str().unwrap();
            assert!(article.contains(&format!("<code>{value}</code>")), "{name}: {value}");
        }
    }
    for page in &pages {
        for (shows, text) in [
            ("a constraint", "1 to 200 characters"),
            ("a removal", "to be removed on 2031-05-06"),
            ("a limit", "10 MiB"),
            ("a mode", "a tool for each family"),
            ("a code of UPDATE", "VALIDATION_READ_ONLY_FIELD"),
            ("a code of if_match", "CONFLICT_VERSION_MISMATCH"),
            ("a code of introspect", "INVALID_QUERY_TYPE"),
            ("a code of an operation's own", "NOT_FOUND_RESOURCE"),
        ] {
            assert!(page.contains(text), "{shows}: {text}");
        }
    }
}

#[test]
fn ids_are_unique_and_links_lead_somewhere() {
    let anchor = Regex::new(r#"<a id="([^"]*)"></a>"#).unwrap();
    let link = Regex::new(r"\]\(#([^)]*)\)").unwrap();
    for adapter in [shelf(), hostile()].map(|builder| builder.build().unwrap()) {
        let html = docs::html(&adapter);
        let ids = attributes(&html, "id");
        let unique: BTreeSet<_> = ids.iter().collect();
        assert_eq!(ids.len(), unique.len());
        for href in attributes(&html, "href") {
            match href.strip_prefix('#') {
                Some(id) => assert!(ids.iter().any(|known| known == id), "{href}"),
                None => {
                    assert!(href == "data:," || href.starts_with("https://example.org/"), "{href}")
                }
            }
        }
        for name in ["aria-controls", "aria-describedby", "for", "data-for"] {
            for id in attributes(&html, name) {
                assert!(ids.contains(&id), "{name}: {id}");
            }
        }

        let markdown = docs::markdown(&adapter);
        let anchors: Vec<_> =
            anchor.captures_iter(&markdown).map(|found| found[1].to_owned()).collect();
        let unique: BTreeSet<_> = anchors.iter().collect();
        assert_eq!(anchors.len(), unique.len());
        assert!(link.find_iter(&markdown).count() > 20);
        for found in link.captures_iter(&markdown) {
            assert!(anchors.iter().any(|known| *known == found[1]), "{}", &found[1]);
        }
    }
}

#[test]
fn hostile_text_stays_text() {
    let adapter = hostile().build().unwrap();
    let page = docs::html(&adapter);
    let known: BTreeSet<_> = tags(&docs::html(&shelf().build().unwrap()))
        .into_iter()
        .flat_map(|(tag, attributes)| {
            attributes.into_iter().map(move |(name, _)| format!("{tag} {name}"))
        })
        .collect();
    for (tag, attributes) in tags(&page) {
        for (name, value) in attributes {
            let use_of = format!("{tag} {name}");
            assert!(known.contains(&use_of), "{use_of}=\"{value}\"");
        }
        let plain = ["img", "svg", "i", "script", "title", "iframe", "object"];
        assert!(!plain.contains(&tag.as_str()) || tag == "title", "<{tag}>");
    }
    assert_eq!(page.matches("</script").count(), 1);
    assert_eq!(page.matches("</style").count(), 1);
    assert_eq!(page.matches("</title").count(), 1);
    assert!(page.contains("&lt;img src=x onerror=&quot;alert(&#39;2&#39;)&quot;&gt;"));
    assert!(!page.contains('\u{7}'));
}

/// Code hosts render HTML inside Markdown, so none of it may come from the author.
#[test]
fn hostile_text_stays_text_in_markdown() {
    let markdown = docs::markdown(&hostile().build().unwrap());
    let own = Regex::new("^(<a id=\"[^\"<>]*\">|</a>|<!-- Written[^<>]*-->)\n?$").unwrap();
    let (mut columns, mut tables) = (0, 0);
    let mut text = String::new();
    for (event, range) in Parser::new_ext(&markdown, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => {
                assert!(
                    html.split_inclusive('>').all(|tag| own.is_match(tag) || tag == "\n"),
                    "{html}"
                );
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                let leads =
                    dest_url.starts_with('#') || dest_url.starts_with("https://example.org/");
                assert!(leads, "{dest_url}");
            }
            Event::Start(Tag::Image { dest_url, .. }) => unreachable!("an image: {dest_url}"),
            Event::Start(Tag::Table(alignments)) => {
                (columns, tables) = (alignments.len(), tables + 1);
            }
            // A reader would silently drop cells without a column.
            Event::Start(Tag::TableHead | Tag::TableRow) => {
                let row = markdown[range].replace(r"\|", "");
                assert_eq!(row.matches('|').count(), columns + 1, "{row}");
            }
            Event::Text(more) | Event::Code(more) => text.push_str(&more),
            _ => {}
        }
    }
    assert!(tables > 5);
    for shown in ["<img src=x onerror=\"alert('2')\">", "</script></style>", "&lt;", "</code><b>"] {
        assert!(text.contains(shown), "{shown}");
    }
}

#[test]
fn the_page_loads_nothing() {
    let page = docs::html(&shelf().build().unwrap());
    assert!(page.contains("default-src &#39;none&#39;"));
    let attributes: Vec<_> = tags(&page)
        .into_iter()
        .flat_map(|(tag, pairs)| {
            pairs.into_iter().map(move |(name, value)| (tag.clone(), name, value))
        })
        .collect();
    for (tag, name, value) in &attributes {
        assert!(
            !["src", "srcset", "data", "action", "poster"].contains(&name.as_str()),
            "{tag} {name}"
        );
        assert!(tag == "a" || !value.contains("//"), "{tag} {name}=\"{value}\"");
    }
    assert!(attributes.iter().any(|(tag, _, value)| tag == "a" && value.starts_with("https://")));
    for (name, own) in [
        ("page.css", include_str!("../../../crates/mcp-aql-cli/src/docs/html/page.css")),
        ("page.js", include_str!("../../../crates/mcp-aql-cli/src/docs/html/page.js")),
    ] {
        for load in ["http:", "https:", "@import", "url(", "fetch(", "import(", "import ", "</"] {
            assert!(!own.contains(load), "{name}: {load}");
        }
    }
}

#[test]
fn pages_follow_the_mode_and_are_the_same_every_time() {
    for (mode, tool, shows) in [
        (EndpointMode::Semantic, "mcp_aql_create", "a tool for each family"),
        (EndpointMode::Single, "mcp_aql", "for everything"),
        (EndpointMode::All, "mcp_aql_create", "and <code>mcp_aql</code> for everything"),
    ] {
        let adapter = || shelf().mode(mode).build().unwrap();
        let html = docs::html(&adapter());
        assert!(html.contains(shows), "{shows}");
        let name = format!(
            "<span class=\"n\">&quot;name&quot;</span>: <span class=\"s\">&quot;{tool}&quot;</span>"
        );
        assert!(html.contains(&name), "{tool}");
        assert_eq!(
            html.contains("error-VALIDATION_ENDPOINT_MISMATCH"),
            mode != EndpointMode::Single
        );
        assert_eq!(html, docs::html(&adapter()));
        assert_eq!(docs::markdown(&adapter()), docs::markdown(&adapter()));
    }
}
