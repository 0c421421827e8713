//! The layout of the tables, and its migrations.

use sea_query::{
    Alias, ColumnDef, ConditionalStatement as _, Expr, ExprTrait as _, Func, Index,
    IndexCreateStatement, PostgresQueryBuilder, Query, SchemaStatementBuilder, SqliteQueryBuilder,
    Table,
};

use super::{Dialect, NUMBER, RECORD, Statement, StoreError, Tables, VERSION, Value};

/// The table with the version of the layout.
const LAYOUT: &str = "mcp_aql_layout";

/// The migrations, one for each version of the layout. An empty database has version 0. If you change the layout,
/// append a migration and keep the others, because existing databases have already run them.
const MIGRATIONS: &[Migration] = &[create_records, create_indexes];

/// Returns the statements that migrate a database to the next version.
type Migration = fn(&Tables) -> Result<Vec<Statement>, StoreError>;

/// Creates the table of records, with their keys as primary key.
fn create_records(tables: &Tables) -> Result<Vec<Statement>, StoreError> {
    let text = |name: &'static str| {
        let mut column = ColumnDef::new(name);
        column.text();
        if tables.dialect == Dialect::Postgres {
            // Order by bytes, regardless of the database's language.
            column.extra("COLLATE \"C\"");
        }
        column
    };
    let table = Table::create()
        .table(tables.table(RECORD))
        .col(text("collection").not_null())
        .col(text("key").not_null())
        .col(text("value").not_null())
        .col(ColumnDef::new("version").big_integer().not_null())
        .col(text("group_key"))
        // Microseconds since 1970.
        .col(ColumnDef::new("expires_at").big_integer())
        .primary_key(Index::create().col("collection").col("key"))
        .to_owned();
    let mut steps = vec![tables.schema_written(&table)];
    match tables.dialect {
        Dialect::Sqlite => {
            let counter = Table::create()
                .table(tables.table(VERSION))
                .col(ColumnDef::new(NUMBER).big_integer().not_null())
                .to_owned();
            steps.push(tables.schema_written(&counter));
            steps.push(tables.set_number(VERSION, 0)?);
        }
        Dialect::Postgres => {
            steps.push(bare(format!("CREATE SEQUENCE {}", tables.quoted(VERSION))));
        }
    }
    Ok(steps)
}

/// Creates indexes by group and by expiry. The second one in SQLite:
///
/// ```sql
/// CREATE INDEX "record_by_expiry" ON "record" ("expires_at") WHERE "expires_at" IS NOT NULL
/// ```
fn create_indexes(tables: &Tables) -> Result<Vec<Statement>, StoreError> {
    let index = |name: &'static str| -> IndexCreateStatement {
        Index::create().name(name).table(tables.table(RECORD)).to_owned()
    };
    let by_group = index("record_by_group")
        .col("collection")
        .col("group_key")
        .col("key")
        .and_where(Expr::col("group_key").is_not_null())
        .to_owned();
    let by_expiry = index("record_by_expiry")
        .col("expires_at")
        .and_where(Expr::col("expires_at").is_not_null())
        .to_owned();
    Ok([by_group, by_expiry].iter().map(|index| tables.schema_written(index)).collect())
}

/// The tables found in a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// The database is empty.
    Empty,
    /// The tables belong to another program.
    Foreign,
    /// The tables belong to a store, in this version of the layout.
    Layout(i64),
}

/// The statements needed to upgrade a database.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Upgrade {
    /// The layout is current.
    None,
    /// These statements must run in one transaction.
    Steps(Vec<Statement>),
}

impl Tables {
    /// Returns a query that counts all tables, and the tables with the name of the layout's table.
    pub(crate) fn tables_query(&self) -> Result<Statement, StoreError> {
        let mut select = Query::select();
        let (name, ours) = match &self.schema {
            Some(schema) => {
                select
                    .from((Alias::new("pg_catalog"), Alias::new("pg_tables")))
                    .and_where(Expr::col("schemaname").eq(schema.as_str()));
                ("tablename", LAYOUT)
            }
            None => {
                select.from("sqlite_schema");
                ("name", LAYOUT)
            }
        };
        let ours = Expr::case(Expr::col(name).eq(ours), Expr::Constant(1_i64.into()));
        select.expr(Func::count(Expr::col(name))).expr(Func::count(ours));
        self.written(&select)
    }

    /// Returns a query for the version of the layout. Its result has one row.
    pub(crate) fn layout_query(&self) -> Result<Statement, StoreError> {
        self.written(Query::select().column(NUMBER).from(self.table(LAYOUT)))
    }

    /// Returns `true` if the result of [`tables_query`](Self::tables_query) contains the layout's table.
    /// Otherwise do not run [`layout_query`](Self::layout_query), because it would fail.
    pub(crate) fn is_ours(tables: &[Vec<Value>]) -> bool {
        matches!(tables, [row] if matches!(row.as_slice(), [_, Value::Int(1)]))
    }

    /// Interprets the results of both queries.
    fn found(tables: &[Vec<Value>], layout: Option<&[Vec<Value>]>) -> Found {
        match (tables, layout) {
            (_, Some([row])) => match row.as_slice() {
                [Value::Int(number)] => Found::Layout(*number),
                _ => Found::Foreign,
            },
            ([row], None) if row.first() == Some(&Value::Int(0)) => Found::Empty,
            _ => Found::Foreign,
        }
    }

    /// Returns the required migrations, given the results of both queries. Error messages use `place` as the
    /// name of the database.
    pub(crate) fn upgrade(
        &self,
        tables: &[Vec<Value>],
        layout: Option<&[Vec<Value>]>,
        place: &str,
    ) -> Result<Upgrade, StoreError> {
        let found = Self::found(tables, layout);
        let newest = MIGRATIONS.len();
        let (number, done) = match found {
            Found::Empty => (0, Some(0)),
            Found::Layout(number) => (number, usize::try_from(number).ok()),
            Found::Foreign => {
                return Err(StoreError::Unreadable(format!(
                    "{place} belongs to another program: use another database or an empty one"
                )));
            }
        };
        let Some(done) = done.filter(|done| *done <= newest) else {
            return Err(StoreError::Unreadable(format!(
                "{place} has layout {number}, but this program supports layouts up to {newest}: update \
                 this program, or use another database"
            )));
        };
        if done == newest {
            return Ok(Upgrade::None);
        }
        let mut statements = Vec::new();
        if found == Found::Empty {
            let table = Table::create()
                .table(self.table(LAYOUT))
                .col(ColumnDef::new(NUMBER).big_integer().not_null())
                .to_owned();
            statements.push(self.schema_written(&table));
        } else {
            statements.push(self.written(Query::delete().from_table(self.table(LAYOUT)))?);
        }
        for step in MIGRATIONS.iter().skip(done) {
            statements.extend(step(self)?);
        }
        statements.push(self.set_number(LAYOUT, i64::try_from(newest).unwrap_or(i64::MAX))?);
        Ok(Upgrade::Steps(statements))
    }

    fn set_number(&self, table: &'static str, number: i64) -> Result<Statement, StoreError> {
        let mut insert = Query::insert();
        insert
            .into_table(self.table(table))
            .columns([NUMBER])
            .values([Expr::val(number)])
            .map_err(StoreError::failed)?;
        self.written(&insert)
    }

    fn schema_written(&self, statement: &impl SchemaStatementBuilder) -> Statement {
        bare(match self.dialect {
            Dialect::Sqlite => statement.build(SqliteQueryBuilder),
            Dialect::Postgres => statement.build(PostgresQueryBuilder),
        })
    }

    /// Returns a query for the schema. It has no rows if the schema is missing.
    pub(crate) fn schema_query(&self) -> Result<Statement, StoreError> {
        let select = Query::select()
            .expr(Expr::Constant(1_i64.into()).cast_as(Alias::new("bigint")))
            .from((Alias::new("pg_catalog"), Alias::new("pg_namespace")))
            .and_where(Expr::col("nspname").eq(self.schema.clone()))
            .to_owned();
        self.written(&select)
    }

    /// Returns the statement that creates the schema.
    pub(crate) fn create_schema(schema: &str) -> Statement {
        let name = schema.replace('"', "\"\"");
        bare(format!("CREATE SCHEMA IF NOT EXISTS \"{name}\""))
    }
}

const fn bare(sql: String) -> Statement {
    Statement { sql, values: Vec::new() }
}
