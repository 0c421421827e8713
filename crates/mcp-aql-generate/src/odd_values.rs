//! Counts stored values that the types of their columns do not allow.
//!
//! SQLite accepts values of any type, and PostgreSQL has values such as `infinity`. The database counts them itself, so
//! that no value is read into this process.

use std::time::Duration;

use mcp_aql_text::visible;

use crate::table::{ColumnKind, Table};

/// The number of rows to check at each end of a table. Both ends are checked, because formats change over time.
const ROWS_AT_EACH_END: usize = 500;

/// The time limit for the check of one table.
pub(crate) const MAX_TIME: Duration = Duration::from_secs(5);

/// A kind of value that a type does not allow.
#[derive(Debug, Clone, Copy)]
struct Oddity {
    /// The SQL condition. `{}` is replaced by the column.
    condition: &'static str,
    /// The noun for the values, in the plural.
    values: &'static str,
    advice: &'static str,
}

const CORRECT: &str = "Correct them, or replies leave them out with a warning.";
const CONVERT: &str = "Convert them, or they are neither found nor sorted as times, and replies contain them \
                       unchanged with a warning.";

const NO_KEY: Oddity = Oddity {
    condition: "{} IS NULL",
    values: "missing values",
    advice: "Give each row an identifier: without one, it can neither be read nor changed.",
};

/// The odd values that a column of instants may have in SQLite.
const INSTANTS: [Oddity; 3] = [
    Oddity {
        condition: "typeof({}) IN ('integer', 'real')",
        values: "numbers",
        advice: "If they count from 1970, replace the `column_type` of the field by `stored_as` with \
                         `Storage::UnixSeconds` or `UnixMillis`, or convert them to strings in the form \
                         2031-05-06 07:00:00.",
    },
    Oddity {
        condition: "typeof({}) = 'text' AND datetime({}) IS NOT NULL AND substr({}, 20) GLOB '*[-+]*'",
        values: "times with an offset",
        advice: "Convert them to UTC, or they are neither found nor sorted as times, and replies contain them \
                 unchanged with a warning.",
    },
    Oddity {
        condition: "typeof({}) = 'blob' OR typeof({}) = 'text' AND (datetime({}) IS NULL OR \
                            substr({}, 1, 19) NOT GLOB '????-??-??[T ]??:??:??')",
        values: "values that are not a time in the form 2031-05-06 07:00:00",
        advice: CONVERT,
    },
];

/// Returns the odd values that a column of this kind may have in SQLite. SQLite does not check types.
fn in_sqlite(kind: &ColumnKind) -> &'static [Oddity] {
    match kind {
        ColumnKind::Boolean => &[Oddity {
            condition: "{} IS NOT NULL AND {} NOT IN (0, 1)",
            values: "values that are neither 0 nor 1",
            advice: CORRECT,
        }],
        ColumnKind::Integer(_) => &[Oddity {
            condition: "typeof({}) IN ('text', 'blob') OR typeof({}) = 'real' AND {} <> CAST({} AS INTEGER)",
            values: "values that are not whole numbers",
            advice: CORRECT,
        }],
        ColumnKind::Number(_) => &[Oddity {
            condition: "typeof({}) IN ('text', 'blob') OR typeof({}) = 'real' AND abs({}) = 9e999",
            values: "values that are infinite or not a number",
            advice: CORRECT,
        }],
        ColumnKind::Date => &[Oddity {
            condition: "{} IS NOT NULL AND (typeof({}) <> 'text' OR {} IS NOT date({}))",
            values: "values that are not a day in the form 2031-05-06",
            advice: CONVERT,
        }],
        ColumnKind::LocalInstant(_) => &INSTANTS,
        ColumnKind::Json => &[Oddity {
            condition: "{} IS NOT NULL AND CASE typeof({}) WHEN 'text' THEN NOT json_valid({}) ELSE true END",
            values: "values that are not valid JSON",
            advice: CORRECT,
        }],
        ColumnKind::Text { .. } => &[
            Oddity {
                condition: "typeof({}) = 'blob'",
                values: "values that are binary",
                advice: CORRECT,
            },
            Oddity {
                condition: "typeof({}) IN ('integer', 'real')",
                values: "numbers",
                advice: "The column's type converts strings to numbers: declare it TEXT, or make the field a number.",
            },
        ],
        _ => &[],
    }
}

/// Returns the odd values that a column of this kind may have in PostgreSQL.
fn in_postgres(kind: &ColumnKind) -> &'static [Oddity] {
    match kind {
        ColumnKind::Number(_) => &[Oddity {
            condition: "CAST({} AS text) IN ('NaN', 'Infinity', '-Infinity')",
            values: "values that are infinite or not a number",
            advice: CORRECT,
        }],
        ColumnKind::Date | ColumnKind::Instant | ColumnKind::LocalInstant(_) => &[Oddity {
            condition: "NOT isfinite({})",
            values: "infinite values",
            advice: "Replies contain them unchanged, with a warning.",
        }],
        _ => &[],
    }
}

/// The check of one table.
#[derive(Debug)]
pub(crate) struct ValueCheck {
    /// A statement that returns one row: the number of checked rows, and the count for each kind of value.
    pub(crate) sql: String,
    /// The columns, with the kinds of values to count in them.
    counted: Vec<(String, Oddity)>,
    table: String,
}

impl ValueCheck {
    /// Returns the check of a table in SQLite. Returns `None` if its columns allow any values.
    pub(crate) fn of_sqlite(table: &Table) -> Option<Self> {
        Self::of(table, in_sqlite, &[NO_KEY], "main")
    }

    /// Returns the check of a table in PostgreSQL. Returns `None` if its types allow all possible values.
    pub(crate) fn of_postgres(table: &Table) -> Option<Self> {
        Self::of(table, in_postgres, &[], "public")
    }

    fn of(
        table: &Table,
        oddities: fn(&ColumnKind) -> &'static [Oddity],
        of_key: &[Oddity],
        schema: &str,
    ) -> Option<Self> {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let [key] = table.primary_key.as_slice() else { return None };
        let mut counted = Vec::new();
        for column in table.columns.iter().filter(|column| !column.is_generated) {
            let of_key = of_key.iter().filter(|_| column.name == *key);
            let all = oddities(&column.kind).iter().chain(of_key);
            counted.extend(all.map(|oddity| (column.name.clone(), *oddity)));
        }
        if counted.is_empty() {
            return None;
        }
        let counts = counted.iter().map(|(column, oddity)| {
            let condition = oddity.condition.replace("{}", &quoted(column));
            format!("count(*) FILTER (WHERE {condition})")
        });
        let counts = counts.collect::<Vec<_>>().join(", ");
        let schema = quoted(table.schema.as_deref().unwrap_or(schema));
        let (name, key) = (quoted(&table.name), quoted(key));
        let end = |order: &str| {
            format!("SELECT * FROM {schema}.{name} ORDER BY {key} {order} LIMIT {ROWS_AT_EACH_END}")
        };
        let sql = format!(
            "WITH first AS ({}), last AS ({}) SELECT count(*), {counts} FROM (SELECT * FROM first UNION ALL
             SELECT * FROM last WHERE {key} > (SELECT {key} FROM first ORDER BY {key} DESC LIMIT 1)) AS sample",
            end("ASC"),
            end("DESC"),
        );
        Some(Self { sql, counted, table: table.name.clone() })
    }

    /// Returns the remarks about odd values, from the counts in the statement's row.
    pub(crate) fn remarks(&self, counts: &[i64]) -> Vec<String> {
        let Some((rows, counts)) = counts.split_first() else { return Vec::new() };
        let table = visible(&self.table);
        let found = self.counted.iter().zip(counts).filter(|(_, count)| **count > 0);
        let remark = |((column, oddity), count): (&(String, Oddity), &i64)| {
            let Oddity { values, advice, .. } = oddity;
            format!(
                "The column '{}' of '{table}' has {values} in {count} of the {rows} rows that were checked. {advice}",
                visible(column),
            )
        };
        found.map(remark).collect()
    }

    /// Returns the remark about a failed check.
    pub(crate) fn failed(&self) -> String {
        format!("The values of the table '{}' could not be checked.", visible(&self.table))
    }
}
