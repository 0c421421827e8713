//! Unit tests of the expansions: snapshots and a limit on their length.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{operation, operation_error, param_group};

/// Formats tokens as Rust source.
fn pretty(tokens: TokenStream) -> String {
    match syn::parse2(tokens.clone()) {
        Ok(file) => prettyplease::unparse(&file),
        Err(error) => panic!("{error}: {tokens}"),
    }
}

fn get_task() -> String {
    let options = quote!(category = "READ", example = { "number": 7 });
    let item = quote! {
        /// Find a task.
        pub async fn get_task(
            State(store): State<Store>,
            /// Its number.
            #[param(minimum = 1)]
            number: u32,
            /// Fields to return.
            fields: Option<Vec<String>>,
        ) -> Result<Task, TaskError> {
            store.get(number, fields).await
        }
    };
    pretty(operation::expand(options, item))
}

fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../tests/snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings
}

fn snapshot(name: &str, text: &str) {
    settings().bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn a_free_function() {
    snapshot("operation", &get_task());
}

#[test]
fn a_faulty_function() {
    let item = quote! {
        fn get_task(number: u32) {}
    };
    snapshot("operation_with_faults", &pretty(operation::expand(quote!(), item)));
}

#[test]
fn a_block() {
    let item = quote! {
        impl<S: Store> Tasks<S> {
            /// Count the tasks.
            #[operation(category = "READ")]
            pub fn count_tasks(&self) -> usize {
                self.store.len()
            }

            /// Change a task.
            #[operation(category = "UPDATE")]
            #[cfg(feature = "write")]
            async fn update_task(
                &self,
                /// Which one.
                task_id: String,
                input: Update<Task>,
            ) -> Result<Task, TaskError> {
                self.store.update(task_id, input).await
            }

            fn helper(&self) {}
        }
    };
    snapshot("operations", &pretty(operation::expand_block(quote!(), item)));
}

#[test]
fn queries() {
    let item = quote! {
        impl Tasks {
            /// List tasks.
            #[operation(category = "READ")]
            async fn list_tasks(&self, query: CollectionQuery<Task>) -> Result<Page<Task>, TaskError> {
                self.store.list(query).await
            }

            /// Search tasks.
            #[operation(category = "READ", example = { "query": "milk", "first": 3 })]
            async fn search_tasks(
                &self,
                #[query(
                    accept(offset, preset),
                    without(aggregate),
                    without_count,
                    page_size = 10,
                    max_page_size = 50,
                    backend = sql::capabilities()
                )]
                query: mcp_aql::CollectionQuery<Task>,
            ) -> Result<Page<Task>, TaskError> {
                self.store.list(query).await
            }

            /// Follow relationships.
            #[operation(category = "READ")]
            async fn query_relationships(
                &self,
                #[query(max_depth = 3)] query: RelationshipQuery<Task>,
            ) -> Result<Relationships, TaskError> {
                query.run(&self.store).await
            }
        }
    };
    snapshot("queries", &pretty(operation::expand_block(quote!(), item)));
}

#[test]
fn dangers_and_executions() {
    let item = quote! {
        impl Tasks {
            /// Delete a task.
            #[operation(
                category = "DELETE",
                danger(
                    level = "destructive",
                    reasons = ["Its comments go too", "Nobody has a copy"],
                    confirmation_message = "Delete task '{task_id}'?",
                    cooldown_seconds = 30,
                    requires_reauth
                )
            )]
            fn delete_task(
                &self,
                /// Which one.
                task_id: String,
            ) -> Result<(), TaskError> {
                self.store.delete(task_id)
            }

            /// Export the tasks.
            #[operation(
                category = "EXECUTE",
                danger(reasons = ["They leave the house"]),
                lifecycle(cancel, progress)
            )]
            async fn export_tasks(
                &self,
                execution: ExecutionContext,
                /// Where to.
                target: String,
            ) -> Result<usize, TaskError> {
                self.store.export(execution, target).await
            }

            /// Empty the cache.
            #[operation(category = "DELETE")]
            #[cfg(feature = "cache")]
            async fn purge_cache(&self) {
                self.cache.clear().await
            }
        }
    };
    snapshot("dangers_and_executions", &pretty(operation::expand_block(quote!(), item)));
}

#[test]
fn a_group() {
    let item = quote! {
        struct Paging {
            /// How many.
            #[param(default = 20, minimum = 1, maximum = 100)]
            first: u32,
            /// Cursor to continue from.
            after: Option<String>,
        }
    };
    snapshot("param_group", &pretty(param_group::expand(item)));
}

#[test]
fn an_error_type() {
    let item = quote! {
        enum TaskError {
            #[operation_error(
                code = "NOT_FOUND_RESOURCE",
                details(resource_type = "task", resource_id = id)
            )]
            Missing { id: String },
            #[operation_error(code = "RATE_LIMIT_EXCEEDED", details(limit = 0))]
            Full(u32),
            #[operation_error(transparent)]
            Other(OperationError),
            Io(std::io::Error),
        }
    };
    snapshot("operation_error", &pretty(operation_error::expand(item)));
}

/// Without the function itself and its table, the expansion of one operation has fewer than 30 lines.
#[test]
fn an_expansion_is_short() {
    let text = get_task();
    let (_, generated) = text.split_once("#[doc(hidden)]").unwrap();
    let lines: Vec<_> = generated.lines().collect();
    let starts = |line: &str, with: &str| line.trim_start().starts_with(with);
    let table = lines.iter().position(|line| starts(line, "__rt::OperationSpec")).unwrap();
    let closure = lines.iter().position(|line| starts(line, "|(),")).unwrap();
    let without_table = lines.len() - (closure - table);
    assert!(without_table < 30, "{without_table} lines:\n{generated}");
}
