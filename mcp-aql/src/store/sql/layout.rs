//! The layout of the tables, and how it comes from each version to the next.

use sea_query::{
    Alias, ColumnDef, ConditionalStatement as _, Expr, ExprTrait as _, Func, Index,
    IndexCreateStatement, PostgresQueryBuilder, Query, SchemaStatementBuilder, SqliteQueryBuilder,
    Table,
};

use super::{Dialect, NUMBER, RECORD, Statement, StoreError, Tables, VERSION, Value};

/// Holds the version of the layout.
const LAYOUT: &str = "mcp_aql_layout";

/// How a database comes from each layout to the next. One without any has layout 0.
const STEPS: &[Migration] = &[first, indexed];

/// What brings a database one layout further.
type Migration = fn(&Tables) -> Result<Vec<Statement>, StoreError>;

/// Records, found by their keys.
fn first(tables: &Tables) -> Result<Vec<Statement>, StoreError> {
    let text = |name: &'static str| {
        let mut column = ColumnDef::new(name);
        column.text();
        if tables.dialect == Dialect::Postgres {
            // By their bytes, as everywhere else, whatever the language of the database is.
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

/// Records, found by their groups and by when they expire as well.
fn indexed(tables: &Tables) -> Result<Vec<Statement>, StoreError> {
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

/// What is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Nothing yet.
    Nothing,
    /// Tables of others.
    Others,
    /// Ours, in this layout.
    Layout(i64),
}

/// What is to be done with what is there.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::store) enum Upgrade {
    /// Nothing: it is as this version writes it.
    None,
    /// These statements, all or none.
    Steps(Vec<Statement>),
}

impl Tables {
    /// Asks for how many tables there are, and how many of those say which layout they have.
    pub(in crate::store) fn tables_there(&self) -> Result<Statement, StoreError> {
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

    /// Asks for the layout; there is one row.
    pub(in crate::store) fn layout(&self) -> Result<Statement, StoreError> {
        self.written(Query::select().column(NUMBER).from(self.table(LAYOUT)))
    }

    /// Whether the first question found our table; then the second is to be asked.
    pub(in crate::store) fn is_ours(tables: &[Vec<Value>]) -> bool {
        matches!(tables, [row] if matches!(row.as_slice(), [_, Value::Int(1)]))
    }

    /// What the two questions were answered.
    fn found(tables: &[Vec<Value>], layout: Option<&[Vec<Value>]>) -> Found {
        match (tables, layout) {
            (_, Some([row])) => match row.as_slice() {
                [Value::Int(number)] => Found::Layout(*number),
                _ => Found::Others,
            },
            ([row], None) if row.first() == Some(&Value::Int(0)) => Found::Nothing,
            _ => Found::Others,
        }
    }

    /// What has to be done, by what the two questions were answered; `place` names the database for
    /// the reader of an error.
    pub(in crate::store) fn upgrade(
        &self,
        tables: &[Vec<Value>],
        layout: Option<&[Vec<Value>]>,
        place: &str,
    ) -> Result<Upgrade, StoreError> {
        let found = Self::found(tables, layout);
        let newest = STEPS.len();
        let (number, done) = match found {
            Found::Nothing => (0, Some(0)),
            Found::Layout(number) => (number, usize::try_from(number).ok()),
            Found::Others => {
                return Err(StoreError::Unreadable(format!(
                    "{place} belongs to another program: name another one, which may be new"
                )));
            }
        };
        let Some(done) = done.filter(|done| *done <= newest) else {
            return Err(StoreError::Unreadable(format!(
                "{place} has layout {number}, and this program knows those up to {newest}: update \
                 this program, or name another place"
            )));
        };
        if done == newest {
            return Ok(Upgrade::None);
        }
        let mut statements = Vec::new();
        if found == Found::Nothing {
            let table = Table::create()
                .table(self.table(LAYOUT))
                .col(ColumnDef::new(NUMBER).big_integer().not_null())
                .to_owned();
            statements.push(self.schema_written(&table));
        } else {
            statements.push(self.written(Query::delete().from_table(self.table(LAYOUT)))?);
        }
        for step in STEPS.iter().skip(done) {
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

    /// Asks for the schema; no row where there is none.
    #[cfg(feature = "postgres")]
    pub(in crate::store) fn schema_there(&self) -> Result<Statement, StoreError> {
        let select = Query::select()
            .expr(Expr::Constant(1_i64.into()).cast_as(Alias::new("bigint")))
            .from((Alias::new("pg_catalog"), Alias::new("pg_namespace")))
            .and_where(Expr::col("nspname").eq(self.schema.clone()))
            .to_owned();
        self.written(&select)
    }

    /// Makes the schema.
    #[cfg(feature = "postgres")]
    pub(in crate::store) fn create_schema(schema: &str) -> Statement {
        let name = schema.replace('"', "\"\"");
        bare(format!("CREATE SCHEMA IF NOT EXISTS \"{name}\""))
    }
}

const fn bare(sql: String) -> Statement {
    Statement { sql, values: Vec::new() }
}
