//! Compiles macro expansions in unusual scopes: without a prelude, with denied warnings, with a renamed runtime, and
//! with the author's own types named like those of the standard library.

#![deny(warnings)]

/// A crate that re-exports the runtime.
mod framework {
    pub(crate) mod inner {
        pub(crate) use mcp_aql as aql;
    }
}

/// A scope without any imports except those of this file. Macros are named by their paths.
mod no_prelude {
    #![no_implicit_prelude]

    use ::std::clone::Clone;

    #[derive(Clone)]
    pub(crate) struct Clock(pub(crate) u64);

    #[derive(::mcp_aql::ParamGroup)]
    pub(crate) struct Paging {
        /// How many.
        #[param(default = 20, minimum = 1, enum = [20, 50])]
        pub(crate) first: u32,
        /// Cursor to continue from.
        pub(crate) after: ::std::option::Option<::std::string::String>,
    }

    #[derive(Debug, ::mcp_aql::OperationError)]
    pub(crate) enum Fault {
        #[operation_error(
            code = "NOT_FOUND_RESOURCE",
            details(resource_type = "task", resource_id = 0, tries = 1)
        )]
        Missing(u32, u8),
        #[operation_error(code = "PERMISSION_DENIED", message = "No")]
        Refused,
        #[operation_error(transparent)]
        Other(::mcp_aql::OperationError),
    }

    /// Find a task.
    #[::mcp_aql::operation(
        category = "READ",
        wrap = "task",
        deprecated(replacement = "look"),
        example("one", { "number": 1, "tags": [] }),
    )]
    pub(crate) async fn get_task(
        ::mcp_aql::State(clock): ::mcp_aql::State<Clock>,
        context: ::mcp_aql::Context,
        /// Its number.
        #[param(default = 1, minimum = 0, maximum = 9)]
        number: u64,
        /// Labels.
        #[param(default = ::std::vec::Vec::new(), max_items = 2, sensitive)]
        tags: ::std::vec::Vec<::std::string::String>,
        #[param(group)] page: Paging,
    ) -> ::std::result::Result<u64, Fault> {
        let _ = (context, tags, page.first, page.after);
        if number > 5 {
            return ::std::result::Result::Err(Fault::Missing(1, 2));
        }
        if number > 4 {
            return ::std::result::Result::Err(Fault::Refused);
        }
        if number > 3 {
            let other = ::mcp_aql::OperationError::permission_denied("no");
            return ::std::result::Result::Err(Fault::Other(other));
        }
        ::std::result::Result::Ok(clock.0)
    }

    /// Implements `JsonSchema` by hand, because its derive macro needs a prelude.
    macro_rules! schema_of {
        ($ty:ident) => {
            impl ::schemars::JsonSchema for $ty {
                fn schema_name() -> ::std::borrow::Cow<'static, str> {
                    ::std::borrow::Cow::Borrowed(::std::stringify!($ty))
                }

                fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                    ::std::convert::From::from(true)
                }
            }
        };
    }

    schema_of!(Book);
    schema_of!(Shelf);
    schema_of!(Author);

    #[derive(Clone, ::serde::Serialize, ::mcp_aql::Resource)]
    #[resource(
        presets(minimal = [book_id, author.name], full = ["due-back", _computed.length]),
        default_sort(shelf desc, book_id),
        relationships(references = "Mentions another book.")
    )]
    pub(crate) struct Book {
        /// Its number.
        #[resource(id, sort)]
        pub(crate) book_id: u32,
        /// Its title.
        #[resource(search, filter, sort, group)]
        pub(crate) r#type: ::std::string::String,
        /// Its status.
        #[resource(filter, sort, group)]
        pub(crate) shelf: ::std::option::Option<Shelf>,
        /// Its author.
        #[resource(nested)]
        pub(crate) author: ::std::option::Option<::std::boxed::Box<Author>>,
        /// The previous volume.
        #[serde(skip_serializing_if = "::std::option::Option::is_none")]
        pub(crate) prequel: ::std::option::Option<::std::boxed::Box<Self>>,
        /// Date of its return.
        #[serde(rename = "due-back")]
        pub(crate) due_back: ::std::string::String,
        #[serde(skip)]
        pub(crate) seen: bool,
    }

    #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, ::serde::Serialize)]
    pub(crate) enum Shelf {
        Low,
        High,
    }

    #[derive(Clone, ::serde::Serialize, ::mcp_aql::Resource)]
    pub(crate) struct Author {
        /// Name.
        #[resource(filter)]
        #[deprecated]
        pub(crate) name: ::std::string::String,
    }

    #[::mcp_aql::computed_fields]
    impl Book {
        /// Length of its title.
        #[computed(filter, sort, group, numeric)]
        pub(crate) fn length(&self) -> usize {
            self.r#type.len()
        }

        /// The book itself.
        #[computed(name = "copy")]
        #[deprecated]
        fn copied(&self) -> ::std::option::Option<Self> {
            let _ = self.seen;
            ::std::option::Option::Some(self.clone())
        }

        /// Never there.
        #[computed]
        #[cfg(any())]
        fn absent(&self) -> Absent {
            Absent
        }
    }

    /// Search books.
    #[::mcp_aql::operation(category = "READ", example = { "query": "tea", "limit": 3 })]
    pub(crate) fn search_books(
        #[query(
            accept(offset, page, preset, order),
            without(aggregate),
            without_count,
            page_size = 5,
            max_page_size = 50,
            backend = ::mcp_aql::query::Capabilities::all()
        )]
        query: ::mcp_aql::CollectionQuery<Book>,
    ) -> ::std::result::Result<::mcp_aql::Page<Book>, ::mcp_aql::OperationError> {
        query.run(&[])
    }

    /// Find a book.
    #[::mcp_aql::operation(category = "READ")]
    pub(crate) fn get_book(
        #[query(accept(preset))] fields: ::mcp_aql::Fields<Book>,
    ) -> ::mcp_aql::query::SelectedFields<Book> {
        fields.of(Book {
            book_id: 1,
            r#type: ::std::convert::From::from("tea"),
            shelf: ::std::option::Option::Some(Shelf::High),
            author: ::std::option::Option::None,
            prequel: ::std::option::Option::None,
            due_back: ::std::convert::From::from("soon"),
            seen: Shelf::Low < Shelf::High,
        })
    }

    /// Empty the cache.
    #[::mcp_aql::operation(
        category = "DELETE",
        danger(
            level = "dangerous",
            reasons = ["All of it is gone"],
            confirmation_message = "Empty {name}?",
            cooldown_seconds = 5,
            requires_reauth,
        )
    )]
    pub(crate) fn purge_cache(
        /// Its name.
        name: ::std::string::String,
    ) {
        let _ = name;
    }

    /// Export everything.
    #[::mcp_aql::operation(
        category = "EXECUTE",
        danger(requires_reauth),
        lifecycle(cancel, retry, progress)
    )]
    pub(crate) async fn start_export(execution: ::mcp_aql::ExecutionContext) -> u32 {
        execution.attempt()
    }

    /// Operations without a declared danger whose names imply one. The macro warns about each of them.
    #[expect(deprecated)]
    pub(crate) mod undeclared {
        /// Empty the cache.
        #[::mcp_aql::operation(category = "DELETE")]
        pub(crate) fn purge_all() {}
    }

    #[expect(deprecated)]
    pub(crate) mod undeclared_methods {
        pub(crate) struct Cache<T>(pub(crate) T);

        #[::mcp_aql::operations]
        impl<T> Cache<T> {
            /// Empty the cache.
            #[operation(category = "DELETE")]
            pub(crate) fn purge_all(&self) {
                let _ = &self.0;
            }
        }
    }

    pub(crate) struct Tasks<T>(pub(crate) T);

    #[::mcp_aql::operations]
    impl<T> Tasks<T> {
        /// Return the version.
        #[operation(category = "READ")]
        pub(crate) fn version(&self) -> u8 {
            let _ = &self.0;
            1
        }
    }
}

/// The runtime under another path.
mod renamed {
    use crate::hygiene::framework::inner::aql;

    #[derive(aql::ParamGroup)]
    #[param_group(crate = crate::hygiene::framework::inner::aql)]
    pub(crate) struct Paging {
        /// How many.
        #[param(default = usize::MAX / 2)]
        pub(crate) first: usize,
    }

    #[derive(Debug, aql::OperationError)]
    #[operation_error(crate = crate::hygiene::framework::inner::aql)]
    pub(crate) enum Fault {
        #[operation_error(code = "PERMISSION_DENIED", message = "No", details(who = who))]
        Refused { who: String },
    }

    /// Count.
    #[aql::operation(category = "READ", crate = crate::hygiene::framework::inner::aql)]
    pub(crate) fn count(#[param(group)] page: Paging) -> Result<usize, Fault> {
        if page.first == 0 { Err(Fault::Refused { who: "me".into() }) } else { Ok(page.first) }
    }

    pub(crate) struct Tasks;

    #[derive(serde::Serialize, schemars::JsonSchema, aql::Resource)]
    #[resource(crate = crate::hygiene::framework::inner::aql)]
    pub(crate) struct Book {
        /// Its number.
        #[resource(id)]
        pub(crate) book_id: u32,
    }

    #[aql::computed_fields(crate = aql)]
    impl Book {
        /// Its number, doubled.
        #[computed(filter)]
        pub(crate) fn twice(&self) -> u32 {
            self.book_id * 2
        }
    }

    /// Export everything.
    #[aql::operation(
        category = "EXECUTE",
        danger(level = "reversible", reasons = ["It may take long"]),
        lifecycle(progress),
        crate = crate::hygiene::framework::inner::aql
    )]
    pub(crate) async fn start_export(execution: aql::ExecutionContext) -> String {
        execution.id().to_owned()
    }

    /// List books.
    #[aql::operation(category = "READ", crate = crate::hygiene::framework::inner::aql)]
    pub(crate) fn list_books(
        query: aql::CollectionQuery<Book>,
    ) -> Result<aql::Page<Book>, aql::OperationError> {
        query.run(Vec::<Book>::new())
    }

    #[aql::operations(crate = aql)]
    impl Tasks {
        /// Return the version.
        #[operation(category = "READ")]
        pub(crate) fn version() -> u8 {
            1
        }
    }
}

/// Types with the same names as those in an expansion.
#[allow(dead_code)]
mod odd_names {
    use ::mcp_aql::{OperationError, operation, operations};

    pub(crate) struct Result;
    pub(crate) struct Option;
    pub(crate) struct String;
    pub(crate) struct Vec;
    pub(crate) struct Box;
    pub(crate) struct Ok;
    pub(crate) struct Err;
    pub(crate) struct Some;
    pub(crate) struct None;
    pub(crate) struct Call;
    pub(crate) struct OperationEntry;
    pub(crate) struct DangerLevel;
    pub(crate) struct DangerSpec;
    pub(crate) struct LifecycleSpec;
    pub(crate) struct UndeclaredDanger;
    pub(crate) trait Into {}
    pub(crate) trait From {}
    pub(crate) trait Send {}
    pub(crate) mod std {}
    pub(crate) mod core {}
    pub(crate) mod mcp_aql {}

    /// User variables may have the names of the expansion's variables.
    #[operation(category = "READ")]
    pub(crate) fn look(
        /// A number.
        call: u8,
        /// A number.
        arg0: u8,
        /// A number.
        receiver: u8,
    ) -> u8 {
        call + arg0 + receiver
    }

    /// User types may have the names of the expansion's types.
    #[operation(
        category = "EXECUTE",
        rationale = "It is a word",
        danger(level = "reversible", confirmation_message = "{call} of {execution}?"),
        lifecycle(progress)
    )]
    pub(crate) async fn drop_in(
        context: ::mcp_aql::ExecutionContext,
        /// A number.
        execution: u8,
        /// A number.
        call: u8,
    ) -> u8 {
        drop(context);
        execution + call
    }

    #[derive(Debug, OperationError)]
    pub(crate) struct Failure;

    impl ::std::fmt::Display for Failure {
        fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
            formatter.write_str("failure")
        }
    }

    impl ::std::error::Error for Failure {}

    pub(crate) struct Row;
    pub(crate) struct Column0;
    pub(crate) struct Access;
    pub(crate) struct Model;
    pub(crate) trait Resource {}
    pub(crate) trait Fallback {}

    #[derive(serde::Serialize, schemars::JsonSchema, ::mcp_aql::Resource)]
    pub(crate) struct Fields {
        /// A number.
        #[resource(id, sort)]
        row: u8,
        /// A number.
        #[resource(filter, numeric)]
        take: u8,
        /// A number.
        #[resource(group)]
        inner: u8,
    }

    pub(crate) struct Tasks;

    #[operations]
    impl Tasks {
        /// Fail.
        #[operation(category = "EXECUTE")]
        pub(crate) async fn fail(&self) -> ::std::result::Result<u8, Failure> {
            ::std::result::Result::Err(Failure)
        }
    }
}

/// An operation that is marked `#[deprecated]` for rustc is called without a warning.
#[deprecated]
#[mcp_aql::operation(category = "READ")]
/// Return the time in the old format.
fn tell_time() -> u8 {
    1
}

/// Registered but not called elsewhere: not reported as unused.
#[mcp_aql::operation(category = "READ")]
fn get_number() -> u8 {
    7
}

struct Numbers(u8);

#[mcp_aql::operations]
impl Numbers {
    /// Return the number.
    #[operation(category = "READ")]
    fn get_own_number(&self) -> u8 {
        self.0
    }
}

/// Errors that `main` can return, in any scope and with type parameters.
mod errors_of_main {
    #![no_implicit_prelude]

    #[derive(::mcp_aql::OperationError)]
    #[operation_error(code = "PERMISSION_DENIED", message = "No", details(who = who))]
    pub(crate) struct Refused<T: ::serde::Serialize> {
        pub(crate) who: T,
    }

    pub(crate) fn refused() -> ::mcp_aql::Result<()> {
        ::std::result::Result::Err(Refused { who: "me" })?;
        ::std::result::Result::Ok(())
    }

    pub(crate) fn failed() -> ::mcp_aql::Result<()> {
        ::std::result::Result::Err(super::odd_names::Failure)?;
        ::std::result::Result::Ok(())
    }
}

#[test]
fn errors_become_those_of_main() {
    assert_eq!(errors_of_main::refused().unwrap_err().to_string(), "PERMISSION_DENIED: No");
    assert_eq!(errors_of_main::failed().unwrap_err().to_string(), "failure");
}

#[test]
fn registered_helpers_are_used() {
    mcp_aql_tests::register(get_number {});
    mcp_aql_tests::register_all(Numbers(7));
}

#[test]
fn tables_are_there() {
    use mcp_aql::Operations;
    use mcp_aql::table::Operation;
    assert_eq!(no_prelude::get_task::OPERATION.spec.name, "get_task");
    assert_eq!(no_prelude::Tasks::<u8>::OPERATIONS.len(), 1);
    assert_eq!(no_prelude::search_books::OPERATION.spec.parameters.len(), 1);
    assert_eq!(no_prelude::get_book::OPERATION.spec.parameters.len(), 1);
    assert_eq!(no_prelude::purge_cache::OPERATION.spec.danger.cooldown_seconds, Some(5));
    assert!(no_prelude::start_export::OPERATION.spec.lifecycle.is_some());
    assert_eq!(no_prelude::undeclared::purge_all::OPERATION.spec.danger.level, None);
    assert_eq!(no_prelude::undeclared_methods::Cache::<u8>::OPERATIONS.len(), 1);
    assert!(renamed::start_export::OPERATION.spec.lifecycle.is_some());
    assert!(odd_names::drop_in::OPERATION.spec.danger.level.is_some());
    assert_eq!(renamed::count::OPERATION.spec.name, "count");
    assert_eq!(renamed::list_books::OPERATION.spec.name, "list_books");
    assert_eq!(renamed::Tasks::OPERATIONS.len(), 1);
    assert_eq!(odd_names::look::OPERATION.spec.parameters.len(), 3);
    assert_eq!(odd_names::Tasks::OPERATIONS.len(), 1);
    assert_eq!(tell_time::OPERATION.spec.name, "tell_time");
}

#[test]
fn tables_of_resources_are_there() {
    use mcp_aql::Resource;

    let paths = |table: &mcp_aql::query::ResourceSchema| -> Vec<String> {
        table.fields().iter().map(|field| field.path.clone()).collect()
    };
    let books = no_prelude::Book::model().schema();
    for path in ["book_id", "type", "author.name", "prequel", "_computed.length", "_computed.copy"]
    {
        assert!(books.index_of(path).is_some(), "{path} of {:?}", paths(books));
    }
    assert!(books.index_of("seen").is_none());
    assert!(books.index_of("_computed.absent").is_none());
    assert!(no_prelude::Book::RESOURCE.has_field("type"));
    assert!(!no_prelude::Book::RESOURCE.has_field("length"));
    assert!(renamed::Book::model().schema().index_of("_computed.twice").is_some());
    assert!(odd_names::Fields::model().schema().index_of("inner").is_some());
}

#[test]
fn macros_find_a_renamed_runtime() {
    use mcp_aql::table::Operation as _;
    use mcp_aql::{Operations as _, Resource as _};
    use mcp_aql_tests_renamed::{Book, Counter, count, list_books};

    assert_eq!(count::OPERATION.spec.examples.len(), 1);
    assert_eq!(Counter::OPERATIONS.len(), 1);
    assert_eq!(list_books::OPERATION.spec.parameters.len(), 1);
    assert!(Book::model().schema().index_of("_computed.twice").is_some());
}
