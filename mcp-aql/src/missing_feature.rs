//! Stand-ins for the items of disabled features: each use of one is a compile error that names the
//! feature. Without them, a method or a name of the prelude would only be unknown. Full paths need
//! no stand-in, since rustc names the feature itself.
//!
//! None of this code ever runs: each item has a bound that no type satisfies. rustc does not check
//! a bound of the form `for<'a> &'a ()` until the method is called.

#[cfg(not(feature = "query"))]
pub use query::{CollectionQuery, Fields, RelationshipGraph, RelationshipQuery};

#[cfg(not(feature = "query"))]
mod query {
    use std::marker::PhantomData;

    /// The bound of every stand-in. No type implements it.
    #[diagnostic::on_unimplemented(
        message = "the feature `query` of `mcp-aql` is off, and this needs it",
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

    /// Stands in for the result of a relationship query.
    #[derive(Debug)]
    pub struct RelationshipGraph(());
}

#[cfg(not(feature = "limits"))]
mod limits {
    use std::future::{Ready, ready};

    use crate::adapter::AdapterBuilder;
    use crate::error::OperationError;
    use crate::operation::Context;

    /// The bound of every stand-in. No type implements it.
    #[diagnostic::on_unimplemented(
        message = "the feature `limits` of `mcp-aql` is off, and this needs it",
        label = "needs the feature `limits`",
        note = "write `mcp-aql = {{ version = \"0.1.0\", features = [\"limits\"] }}` in Cargo.toml, with the features that are there already"
    )]
    pub trait LimitsFeature {}

    impl AdapterBuilder {
        #[doc(hidden)]
        pub fn rate_limits<L: LimitsFeature>(self, _limits: L) -> Self {
            self
        }
    }

    impl Context {
        #[doc(hidden)]
        pub fn report_usage<U: LimitsFeature>(&self, _usage: U) {}

        #[doc(hidden)]
        pub fn upstream_answered(
            &self,
            _status: u16,
            _headers: &[(&str, &str)],
        ) -> Ready<Result<(), OperationError>>
        where
            for<'a> &'a (): LimitsFeature,
        {
            ready(Ok(()))
        }
    }
}

#[cfg(not(feature = "safety"))]
mod safety {
    use crate::adapter::{Adapter, AdapterBuilder};
    use crate::gatekeeper::Policy;

    /// The bound of every stand-in. No type implements it.
    #[diagnostic::on_unimplemented(
        message = "the feature `safety` of `mcp-aql` is off, and this needs it",
        label = "needs the feature `safety`",
        note = "write `mcp-aql = {{ version = \"0.1.0\", features = [\"safety\"] }}` in Cargo.toml, with the features that are there already"
    )]
    pub trait SafetyFeature {}

    impl AdapterBuilder {
        #[doc(hidden)]
        pub fn safety_loop<S: SafetyFeature>(self, _safety_loop: S) -> Self {
            self
        }
    }

    impl Adapter {
        #[doc(hidden)]
        pub fn operator<O>(&self) -> Option<O>
        where
            for<'a> &'a (): SafetyFeature,
        {
            None
        }
    }

    impl Policy {
        #[doc(hidden)]
        #[must_use]
        pub fn by_operator(self) -> Self
        where
            for<'a> &'a (): SafetyFeature,
        {
            self
        }
    }
}

#[cfg(all(feature = "safety", not(feature = "console")))]
mod console {
    use crate::safety_loop::SafetyLoop;

    /// The bound of every stand-in. No type implements it.
    #[diagnostic::on_unimplemented(
        message = "the feature `console` of `mcp-aql` is off, and this needs it",
        label = "needs the feature `console`",
        note = "write `mcp-aql = {{ version = \"0.1.0\", features = [\"console\"] }}` in Cargo.toml, with the features that are there already"
    )]
    pub trait ConsoleFeature {}

    impl SafetyLoop {
        #[doc(hidden)]
        #[must_use]
        pub fn console<O: ConsoleFeature>(self, _options: O) -> Self {
            self
        }
    }
}

#[cfg(not(feature = "http"))]
mod http {
    use std::future::{Ready, ready};

    use crate::adapter::Adapter;
    use crate::main_error::Result;

    /// The bound of every stand-in. No type implements it.
    #[diagnostic::on_unimplemented(
        message = "the feature `http` of `mcp-aql` is off, and this needs it",
        label = "needs the feature `http`",
        note = "write `mcp-aql = {{ version = \"0.1.0\", features = [\"http\"] }}` in Cargo.toml, with the features that are there already"
    )]
    pub trait HttpFeature {}

    impl Adapter {
        #[doc(hidden)]
        pub fn router<O: HttpFeature>(&self, _options: &O) {}

        #[doc(hidden)]
        pub fn serve_http<A, O: HttpFeature>(&self, _address: A, _options: O) -> Ready<Result> {
            ready(Ok(()))
        }

        #[doc(hidden)]
        pub fn serve_listener<L, O: HttpFeature, S>(
            &self,
            _listener: L,
            _options: O,
            _stop: S,
        ) -> Ready<Result> {
            ready(Ok(()))
        }
    }
}

#[cfg(not(feature = "stdio"))]
mod stdio {
    use std::future::{Ready, ready};

    use crate::adapter::Adapter;
    use crate::main_error::Result;

    /// The bound of every stand-in. No type implements it.
    #[diagnostic::on_unimplemented(
        message = "the feature `stdio` of `mcp-aql` is off, and this needs it",
        label = "needs the feature `stdio`",
        note = "write `mcp-aql = {{ version = \"0.1.0\", features = [\"stdio\"] }}` in Cargo.toml, with the features that are there already"
    )]
    pub trait StdioFeature {}

    impl Adapter {
        #[doc(hidden)]
        pub fn serve_stdio(&self) -> Ready<Result>
        where
            for<'a> &'a (): StdioFeature,
        {
            ready(Ok(()))
        }
    }
}

#[cfg(not(feature = "cli"))]
mod cli {
    use std::future::{Ready, ready};
    use std::process::ExitCode;

    use crate::adapter::Adapter;
    use crate::main_error::Result;

    /// The bound of every stand-in. No type implements it.
    #[diagnostic::on_unimplemented(
        message = "the feature `cli` of `mcp-aql` is off, and this needs it",
        label = "needs the feature `cli`",
        note = "write `mcp-aql = {{ version = \"0.1.0\", features = [\"cli\"] }}` in Cargo.toml, with the features that are there already"
    )]
    pub trait CliFeature {}

    impl Adapter {
        #[doc(hidden)]
        pub fn run(&self) -> Ready<Result>
        where
            for<'a> &'a (): CliFeature,
        {
            ready(Ok(()))
        }

        #[doc(hidden)]
        pub fn run_with_args<A>(&self, _args: A) -> Ready<Result<ExitCode>>
        where
            for<'a> &'a (): CliFeature,
        {
            ready(Ok(ExitCode::SUCCESS))
        }

        #[doc(hidden)]
        pub fn run_command<O: CliFeature>(&self, _options: O) -> Ready<Result> {
            ready(Ok(()))
        }
    }
}
