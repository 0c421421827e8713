//! Reads the tables of PostgreSQL.

use std::collections::BTreeMap;

use mcp_aql_text::visible;
use tokio_postgres::{Client, NoTls, Row};

use crate::database::{Error, selected};
use crate::odd_values::{MAX_TIME, ValueCheck};
use crate::table::{Column, ColumnKind, Table};

/// Reads the requested tables of a schema, or all of them. Also returns the number of views.
pub(crate) async fn tables(
    url: &str,
    schema: &str,
    wanted: &[String],
) -> Result<(Vec<Table>, i64), Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    // The task ends when the client is dropped.
    tokio::spawn(connection);
    let known = client.query(TABLES, &[&schema]).await?;
    let known = known.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    let mut tables = Vec::new();
    for name in selected(known, wanted)? {
        tables.push(table(&client, schema, name).await?);
    }
    Ok((tables, client.query_one(VIEWS, &[&schema]).await?.try_get(0)?))
}

const TABLES: &str =
    "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1";

const VIEWS: &str = "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relkind IN ('v', 'm')";

/// Selects a table, its comment, and `true` if it has the rows of other tables by inheritance. Partitions do not count.
const TABLE: &str = "SELECT c.oid, obj_description(c.oid, 'pg_class'),
        c.relkind = 'r' AND EXISTS (SELECT 1 FROM pg_inherits i WHERE i.inhparent = c.oid)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relname = $2";

/// Selects the columns. A domain is replaced by its base type, repeatedly, because that may be a domain as well.
const COLUMNS: &str = "WITH RECURSIVE types(number, type, modifier, is_required) AS (
        SELECT attnum, atttypid, atttypmod, attnotnull FROM pg_attribute WHERE attrelid = $1
        UNION ALL SELECT c.number, u.typbasetype, u.typtypmod, c.is_required OR u.typnotnull
            FROM types c JOIN pg_type u ON u.oid = c.type AND u.typtype = 'd')
    SELECT a.attname::text, format_type(t.oid, c.modifier), t.typtype = 'e', t.oid, NOT c.is_required, pg_get_expr(d.adbin, d.adrelid),
        a.attidentity <> '' OR pg_get_serial_sequence($2, a.attname) IS NOT NULL, a.attgenerated <> '',
        col_description(a.attrelid, a.attnum), t.typelem, e.typtype = 'e', a.attnum,
        format_type(t.oid, NULL)
    FROM pg_attribute a JOIN types c ON c.number = a.attnum
        JOIN pg_type t ON t.oid = c.type AND t.typtype <> 'd'
        LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";

/// Selects the values of an enum type.
const VALUES: &str =
    "SELECT enumlabel::text FROM pg_enum WHERE enumtypid = $1 ORDER BY enumsortorder";

/// Selects the primary key, and the foreign keys of one column that refer to the primary key of another table.
const KEYS: &str = "SELECT k.contype = 'p', k.conkey, r.relname::text, n.nspname::text
    FROM pg_constraint k LEFT JOIN pg_class r ON r.oid = k.confrelid
        LEFT JOIN pg_namespace n ON n.oid = r.relnamespace
    WHERE k.conrelid = $1 AND (k.contype = 'p' OR k.contype = 'f' AND EXISTS (
        SELECT 1 FROM pg_index i WHERE i.indrelid = k.confrelid AND i.indisprimary
            AND i.indnatts = 1 AND i.indkey[0] = k.confkey[1] AND array_length(k.confkey, 1) = 1))
    ORDER BY k.conname";

const CHECKS: &str = "SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint
    WHERE conrelid = $1 AND contype = 'c' ORDER BY conname";

async fn table(client: &Client, schema: &str, name: String) -> Result<Table, Error> {
    let row = client.query_one(TABLE, &[&schema, &name]).await?;
    let (oid, comment): (u32, Option<String>) = (row.try_get(0)?, row.try_get(1)?);
    let has_heirs: bool = row.try_get(2)?;
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let path = format!("{}.{}", quoted(schema), quoted(&name));
    let mut columns = Vec::new();
    let mut numbers = BTreeMap::new();
    for row in client.query(COLUMNS, &[&oid, &path]).await? {
        let column = column(client, &row).await?;
        numbers.insert(row.try_get::<_, i16>(11)?, column.name.clone());
        columns.push(column);
    }
    let mut table = Table {
        name,
        schema: (schema != "public").then(|| schema.to_owned()),
        comment,
        columns,
        ..Table::default()
    };
    for row in client.query(KEYS, &[&oid]).await? {
        let key: Vec<i16> = row.try_get(1)?;
        let names: Vec<_> = key.iter().filter_map(|number| numbers.get(number).cloned()).collect();
        if row.try_get(0)? {
            table.primary_key = names;
        } else if let ([column], Some(other)) = (names.as_slice(), row.try_get(2)?) {
            let other_schema: String = row.try_get(3)?;
            if other_schema == schema {
                table.foreign_keys.insert(column.clone(), other);
            } else {
                table.remarks.push(format!(
                    "The column '{}' of '{}' is not a reference, because it refers to the schema '{}'.",
                    visible(column),
                    visible(&table.name),
                    visible(&other_schema)
                ));
            }
        }
    }
    if has_heirs {
        table.obstacle = Some(format!(
            "The table '{}' is left out, because other tables inherit from it: two rows may have the same \
             identifier.",
            visible(&table.name)
        ));
    }
    for row in client.query(CHECKS, &[&oid]).await? {
        table.checks.extend(row.try_get::<_, Option<String>>(0)?);
    }
    if let Some(check) = ValueCheck::of_postgres(&table) {
        match counts(client, &check.sql).await {
            Ok(counts) => table.remarks.extend(check.remarks(&counts)),
            Err(_) => table.remarks.push(check.failed()),
        }
    }
    Ok(table)
}

/// Returns the numbers in the only row of a statement, or an error if it exceeds the time limit.
async fn counts(client: &Client, sql: &str) -> Result<Vec<i64>, tokio_postgres::Error> {
    let limit = format!("SET statement_timeout = {}", MAX_TIME.as_millis());
    client.batch_execute(&limit).await?;
    let row = client.query_one(sql, &[]).await;
    client.batch_execute("RESET statement_timeout").await?;
    let row = row?;
    (0..row.len()).map(|at| row.try_get(at)).collect()
}

async fn column(client: &Client, row: &Row) -> Result<Column, Error> {
    let (name, bare): (String, String) = (row.try_get(1)?, row.try_get(12)?);
    let values = async |oid: u32| -> Result<Vec<String>, Error> {
        let rows = client.query(VALUES, &[&oid]).await?;
        Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
    };
    let is_enum: bool = row.try_get(2)?;
    let note = digits(&name);
    let kind = if is_enum {
        ColumnKind::Enum { name: bare, values: values(row.try_get(3)?).await? }
    } else if let Some(entry) = bare.strip_suffix("[]") {
        let entries = match row.try_get::<_, Option<bool>>(10)? {
            Some(true) => {
                let values = values(row.try_get(9)?).await?;
                ColumnKind::Enum { name: entry.to_owned(), values }
            }
            _ => kind(name.strip_suffix("[]").unwrap_or(entry), entry),
        };
        // The name includes the length of the entries: `character(2)[]`.
        ColumnKind::Array { name, entries: Box::new(entries) }
    } else {
        kind(&name, &bare)
    };
    Ok(Column {
        name: row.try_get(0)?,
        kind,
        is_nullable: row.try_get(4)?,
        default: row.try_get(5)?,
        is_numbered: row.try_get(6)?,
        is_generated: row.try_get(7)?,
        comment: row.try_get(8)?,
        note,
        numeric_type: None,
    })
}

/// Returns a sentence about the digits of a type such as `numeric(10,2)`.
fn digits(full: &str) -> Option<String> {
    let (precision, scale) = full.strip_prefix("numeric(")?.strip_suffix(')')?.split_once(',')?;
    let (precision, scale): (u32, u32) = (precision.parse().ok()?, scale.parse().ok()?);
    let before = precision.checked_sub(scale)?;
    Some(format!("At most {before} digits before the decimal point and {scale} after it."))
}

/// Returns the kind of a type. `full` is, for example, `character varying(80)`, and `bare` is its name without the
/// length.
fn kind(full: &str, bare: &str) -> ColumnKind {
    match bare {
        "boolean" => ColumnKind::Boolean,
        "smallint" => ColumnKind::Integer(2),
        "integer" => ColumnKind::Integer(4),
        "bigint" => ColumnKind::Integer(8),
        "real" => ColumnKind::Number(4),
        "double precision" | "numeric" => ColumnKind::Number(8),
        "text" => ColumnKind::Text { max_length: None },
        "character varying" | "character" => {
            let length = full.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
            ColumnKind::Text { max_length: length.and_then(|length| length.parse().ok()) }
        }
        "uuid" => ColumnKind::Uuid,
        "date" => ColumnKind::Date,
        "timestamp with time zone" => ColumnKind::Instant,
        "timestamp without time zone" => ColumnKind::LocalInstant("timestamp"),
        "json" | "jsonb" => ColumnKind::Json,
        "bytea" | "tsvector" | "tsquery" => ColumnKind::Unsupported(bare.to_owned()),
        // The name includes the length: `bit(3)`.
        _ => ColumnKind::Other(full.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn the_digits_of_a_number_are_described() {
        for (full, expected) in [
            ("numeric(10,2)", "At most 8 digits before the decimal point and 2 after it."),
            ("numeric(5,0)", "At most 5 digits before the decimal point and 0 after it."),
        ] {
            assert_eq!(digits(full).as_deref(), Some(expected));
        }
        // These types do not have the form of the sentence.
        for full in ["numeric", "numeric(2,5)", "numeric(3,-2)", "numeric(5,1)[]", "bit(3)"] {
            assert_eq!(digits(full), None);
        }
    }
}
