//! Stand-ins for the items of disabled features, so that a compile error names the feature to enable.
//!
//! Without them, rustc would only report an unknown method or an unknown name of the prelude. Full paths need no
//! stand-in, because rustc names the feature of a `#[cfg]`ed item itself.
//!
//! None of this code ever runs: each item has a bound that no type satisfies. Methods whose arguments have no type to
//! bound use `for<'a> &'a ()`, because rustc checks a bound of this form only when the method is called.

#[cfg(not(feature = "query"))]
pub use query::{CollectionQuery, Fields, RelationshipGraph, RelationshipQuery, WithResources};

#[cfg(not(feature = "query"))]
mod query {
    use std::marker::PhantomData;

    use crate::AdapterBuilder;

    /// The bound of every stand-in in this module. No type implements it.
    #[diagnostic::on_unimplemented(
        message = "this needs the feature `query` of `mcp-aql`, which is off",
        label = "needs the feature `query`",
        note = "write `mcp-aql = {{ version = \"0.1.0\", features = [\"query\"] }}` in Cargo.toml, with the features that are there already"
    )]
    pub trait QueryFeature {}

    /// Stands in for the parameters of a collection query.
    #[derive(Debug)]
    pub struct CollectionQuery<T: QueryFeature>(PhantomData<T>);

    /// Stands in for the parameters of field selection.
    #[derive(Debug)]
    pub struct Fields<T: QueryFeature>(PhantomData<T>);

    /// Stands in for the parameters of a relationship query.
    #[derive(Debug)]
    pub struct RelationshipQuery<T: QueryFeature>(PhantomData<T>);

    /// Stand-in for the method of the feature.
    pub trait WithResources: Sized {
        #[doc(hidden)]
        fn resource<S: QueryFeature>(self, _store: S) -> Self {
            self
        }
    }

    impl WithResources for AdapterBuilder {}

    /// Stands in for the result of a relationship query.
    #[derive(Debug)]
    pub struct RelationshipGraph(());
}

#[cfg(not(feature = "safety"))]
pub use safety::{ByOperator, OperatorAccess, WithSafetyLoop};

#[cfg(not(feature = "safety"))]
mod safety {
    use crate::Policy;
    use crate::{Adapter, AdapterBuilder};

    /// The bound of every stand-in in this module. No type implements it.
    #[diagnostic::on_unimplemented(
        message = "this needs the feature `safety` of `mcp-aql`, which is off",
        label = "needs the feature `safety`",
        note = "write `mcp-aql = {{ version = \"0.1.0\", features = [\"safety\"] }}` in Cargo.toml, with the features that are there already"
    )]
    pub trait SafetyFeature {}

    /// Stand-in for the methods of the feature on the builder.
    pub trait WithSafetyLoop: Sized {
        #[doc(hidden)]
        fn safety_loop<S: SafetyFeature>(self, _safety_loop: S) -> Self {
            self
        }
    }

    impl WithSafetyLoop for AdapterBuilder {}

    /// Stand-in for the methods of the feature on `Adapter`.
    pub trait OperatorAccess {
        #[doc(hidden)]
        fn operator<O>(&self) -> Option<O>
        where
            for<'a> &'a (): SafetyFeature,
        {
            None
        }
    }

    impl OperatorAccess for Adapter {}

    /// Stand-in for the methods of the feature on `Policy`.
    pub trait ByOperator: Sized {
        #[doc(hidden)]
        #[must_use]
        fn by_operator(self) -> Self
        where
            for<'a> &'a (): SafetyFeature,
        {
            self
        }
    }

    impl ByOperator for Policy {}
}

#[cfg(not(feature = "http"))]
pub use http::ServeHttp;

#[cfg(not(feature = "http"))]
mod http {
    use std::future::{Ready, ready};

    use crate::Adapter;
    use crate::Result;

    /// The bound of every stand-in in this module. No type implements it.
    #[diagnostic::on_unimplemented(
        message = "this needs the feature `http` of `mcp-aql`, which is off",
        label = "needs the feature `http`",
        note = "write `mcp-aql = {{ version = \"0.1.0\", features = [\"http\"] }}` in Cargo.toml, with the features that are there already"
    )]
    pub trait HttpFeature {}

    /// Stand-in for the methods of the feature.
    pub trait ServeHttp {
        #[doc(hidden)]
        fn router<O: HttpFeature>(&self, _options: &O) {}

        #[doc(hidden)]
        fn serve_http<A, O: HttpFeature>(&self, _address: A, _options: O) -> Ready<Result> {
            ready(Ok(()))
        }

        #[doc(hidden)]
        fn serve_listener<L, O: HttpFeature, S>(
            &self,
            _listener: L,
            _options: O,
            _stop: S,
        ) -> Ready<Result> {
            ready(Ok(()))
        }
    }

    impl ServeHttp for Adapter {}
}

#[cfg(not(feature = "cli"))]
pub use cli::RunAdapter;

#[cfg(not(feature = "cli"))]
mod cli {
    use std::future::{Ready, ready};
    use std::process::ExitCode;

    use crate::Adapter;
    use crate::Result;

    /// The bound of every stand-in in this module. No type implements it.
    #[diagnostic::on_unimplemented(
        message = "this needs the feature `cli` of `mcp-aql`, which is off",
        label = "needs the feature `cli`",
        note = "write `mcp-aql = {{ version = \"0.1.0\", features = [\"cli\"] }}` in Cargo.toml, with the features that are there already"
    )]
    pub trait CliFeature {}

    /// Stand-in for the methods of the feature.
    pub trait RunAdapter {
        #[doc(hidden)]
        fn run(&self) -> Ready<Result>
        where
            for<'a> &'a (): CliFeature,
        {
            ready(Ok(()))
        }

        #[doc(hidden)]
        fn run_with_args<A>(&self, _args: A) -> Ready<Result<ExitCode>>
        where
            for<'a> &'a (): CliFeature,
        {
            ready(Ok(ExitCode::SUCCESS))
        }

        #[doc(hidden)]
        fn run_command<O: CliFeature>(&self, _options: O) -> Ready<Result> {
            ready(Ok(()))
        }
    }

    impl RunAdapter for Adapter {}
}

#[cfg(not(feature = "opentelemetry"))]
pub use opentelemetry::WithOpenTelemetry;

#[cfg(not(feature = "opentelemetry"))]
mod opentelemetry {
    use crate::AdapterBuilder;

    /// The bound of every stand-in in this module. No type implements it.
    #[diagnostic::on_unimplemented(
        message = "this needs the feature `opentelemetry` of `mcp-aql`, which is off",
        label = "needs the feature `opentelemetry`",
        note = "write `mcp-aql = {{ version = \"0.1.0\", features = [\"opentelemetry\"] }}` in Cargo.toml, with the features that are there already"
    )]
    pub trait OpenTelemetryFeature {}

    /// Stand-in for the methods of the feature.
    pub trait WithOpenTelemetry: Sized {
        #[doc(hidden)]
        #[must_use]
        fn opentelemetry(self) -> Self
        where
            for<'a> &'a (): OpenTelemetryFeature,
        {
            self
        }

        #[doc(hidden)]
        #[must_use]
        fn opentelemetry_from_env(self) -> Self
        where
            for<'a> &'a (): OpenTelemetryFeature,
        {
            self
        }
    }

    impl WithOpenTelemetry for AdapterBuilder {}
}
