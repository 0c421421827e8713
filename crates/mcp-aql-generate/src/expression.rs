//! Parses CHECK constraints and defaults of columns.

use serde_json::Value as Json;
use sqlparser::ast::{BinaryOperator, Expr, FunctionArguments, InTarget, UnaryOperator, Value};
use sqlparser::dialect::{Dialect, GenericDialect};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};

/// A condition of a CHECK constraint for one column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Check {
    pub(crate) column: String,
    pub(crate) rule: Rule,
}

/// The condition of a check.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Rule {
    /// At least `bound`, or more than `bound` if it is strict.
    Minimum {
        bound: f64,
        is_strict: bool,
    },
    /// At most `bound`, or less than `bound` if it is strict.
    Maximum {
        bound: f64,
        is_strict: bool,
    },
    MinLength(u32),
    MaxLength(u32),
    /// One of these strings.
    OneOf(Vec<String>),
    /// One of these integers, in ascending order.
    OneNumberOf(Vec<i128>),
}

/// The default of a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Default {
    Value(Json),
    /// The time of the insertion.
    Now,
    /// The date of the insertion.
    Today,
    /// An expression that only the database can evaluate.
    Other,
}

/// The maximum length of an expression, in bytes.
const MAX_BYTES: usize = 16 << 10;

/// The maximum number of tokens between two commas. A chain of operators becomes a tree as deep as the chain is long,
/// and the functions that visit or drop the tree are recursive.
const MAX_TOKENS: usize = 400;

/// Returns `true` if the syntax tree of some SQL is shallow enough for recursive functions.
pub(crate) fn is_shallow(dialect: &dyn Dialect, sql: &str) -> bool {
    let Ok(tokens) = Tokenizer::new(dialect, sql).tokenize() else { return false };
    // For each open bracket: the number of tokens in its longest item, and in its current item.
    let mut lists = vec![(0, 0)];
    for token in tokens {
        let count = match token {
            Token::Whitespace(_) => 0,
            Token::LParen | Token::LBracket | Token::LBrace => {
                lists.push((0, 0));
                0
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                lists.pop().map_or(0, |(longest, last): (usize, usize)| longest.max(last))
            }
            _ => 1,
        };
        let Some((longest, last)) = lists.last_mut() else { return false };
        *last += count;
        *longest = (*longest).max(*last);
        if token == Token::Comma {
            *last = 0;
        }
    }
    lists.iter().map(|(longest, _)| longest).sum::<usize>() <= MAX_TOKENS
}

fn parsed(sql: &str) -> Option<Expr> {
    if sql.len() > MAX_BYTES || !is_shallow(&GenericDialect {}, sql) {
        return None;
    }
    Parser::new(&GenericDialect {}).try_with_sql(sql).ok()?.parse_expr().ok()
}

/// Returns the words of an expression. They include the names of its columns.
pub(crate) fn words(sql: &str) -> Vec<String> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize().unwrap_or_default();
    let word = |token| match token {
        Token::Word(word) => Some(word.value),
        _ => None,
    };
    tokens.into_iter().filter_map(word).collect()
}

/// Returns the conditions of a CHECK constraint. Returns `None` if one of them is not understood.
///
/// ```text
/// age >= 18 AND status IN ('open', 'done') → age: Minimum(18), status: OneOf("open", "done")
/// ```
pub(crate) fn checks(sql: &str) -> Option<Vec<Check>> {
    let mut found = Vec::new();
    conditions(&parsed(sql)?, &mut found)?;
    Some(found)
}

fn conditions(expression: &Expr, found: &mut Vec<Check>) -> Option<()> {
    match bare(expression) {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            conditions(left, found)?;
            conditions(right, found)
        }
        Expr::BinaryOp { left, op, right } => comparison(left, op, right, found),
        Expr::Between { expr, negated: false, low, high } => {
            comparison(expr, &BinaryOperator::GtEq, low, found)?;
            comparison(expr, &BinaryOperator::LtEq, high, found)
        }
        Expr::In { expr, target: InTarget::List(list), negated: false, .. } => {
            one_of(expr, list, found)
        }
        Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => match bare(right) {
            Expr::Array(array) => one_of(left, &array.elem, found),
            _ => None,
        },
        _ => None,
    }
}

fn one_of(expression: &Expr, list: &[Expr], found: &mut Vec<Check>) -> Option<()> {
    let column = column(expression)?;
    let values = list.iter().map(literal).collect::<Option<Vec<_>>>()?;
    let texts = values.iter().map(|value| value.as_str().map(str::to_owned));
    if let Some(texts) = texts.collect::<Option<Vec<_>>>() {
        found.push(Check { column, rule: Rule::OneOf(texts) });
        return Some(());
    }
    let whole = |value: &Json| match value {
        // PostgreSQL writes a negative number, and a number outside of `bigint`, as `'-1'::integer`.
        Json::String(text) => text.parse().ok(),
        other => other.as_i64().map(i128::from).or_else(|| other.as_u64().map(i128::from)),
    };
    let mut numbers = values.iter().map(whole).collect::<Option<Vec<_>>>()?;
    numbers.sort_unstable();
    numbers.dedup();
    found.push(Check { column, rule: Rule::OneNumberOf(numbers) });
    Some(())
}

fn comparison(
    left: &Expr,
    operator: &BinaryOperator,
    right: &Expr,
    found: &mut Vec<Check>,
) -> Option<()> {
    let mirrored = match operator {
        BinaryOperator::Lt => BinaryOperator::Gt,
        BinaryOperator::LtEq => BinaryOperator::GtEq,
        BinaryOperator::Gt => BinaryOperator::Lt,
        BinaryOperator::GtEq => BinaryOperator::LtEq,
        other => other.clone(),
    };
    let (subject, operator, value) = match (literal(left), literal(right)) {
        (None, Some(value)) => (left, operator, value),
        (Some(value), None) => (right, &mirrored, value),
        _ => return None,
    };
    let (column, rule) = match (column(subject), measured(subject), value) {
        (Some(column), _, Json::Number(bound)) => (column, bound_of(operator, bound.as_f64()?)?),
        (Some(column), _, Json::String(text))
            if text.is_empty() && *operator == BinaryOperator::NotEq =>
        {
            (column, Rule::MinLength(1))
        }
        (None, Some(column), Json::Number(length)) => {
            let length = u32::try_from(length.as_u64()?).ok()?;
            (column, length_of(operator, length)?)
        }
        _ => return None,
    };
    found.push(Check { column, rule });
    Some(())
}

fn bound_of(operator: &BinaryOperator, bound: f64) -> Option<Rule> {
    Some(match operator {
        BinaryOperator::Gt => Rule::Minimum { bound, is_strict: true },
        BinaryOperator::GtEq => Rule::Minimum { bound, is_strict: false },
        BinaryOperator::Lt => Rule::Maximum { bound, is_strict: true },
        BinaryOperator::LtEq => Rule::Maximum { bound, is_strict: false },
        _ => return None,
    })
}

fn length_of(operator: &BinaryOperator, length: u32) -> Option<Rule> {
    Some(match operator {
        BinaryOperator::Gt => Rule::MinLength(length.checked_add(1)?),
        BinaryOperator::GtEq => Rule::MinLength(length),
        BinaryOperator::Lt => Rule::MaxLength(length.checked_sub(1)?),
        BinaryOperator::LtEq => Rule::MaxLength(length),
        _ => return None,
    })
}

/// Returns an expression without the parentheses and casts around it.
fn bare(mut expression: &Expr) -> &Expr {
    while let Expr::Nested(inner) | Expr::Cast { expr: inner, .. } = expression {
        expression = inner;
    }
    expression
}

/// Returns the name of the column if the expression is a column.
fn column(expression: &Expr) -> Option<String> {
    match bare(expression) {
        Expr::Identifier(name) => Some(name.value.clone()),
        Expr::CompoundIdentifier(names) => names.last().map(|name| name.value.clone()),
        _ => None,
    }
}

/// Returns the column whose characters the expression counts: `title` for `length(title)`.
fn measured(expression: &Expr) -> Option<String> {
    let Expr::Function(function) = bare(expression) else { return None };
    let name = function.name.to_string().to_lowercase();
    if !["length", "char_length", "character_length"].contains(&name.as_str()) {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else { return None };
    match list.args.as_slice() {
        [sqlparser::ast::FunctionArg::Unnamed(sqlparser::ast::FunctionArgExpr::Expr(inner))] => {
            column(inner)
        }
        _ => None,
    }
}

/// Returns the value of a literal.
fn literal(expression: &Expr) -> Option<Json> {
    match bare(expression) {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match literal(expr)? {
            Json::Number(number) => match number.as_i64() {
                Some(whole) => Some(Json::from(whole.checked_neg()?)),
                None => Some(Json::from(-number.as_f64()?)),
            },
            _ => None,
        },
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => serde_json::from_str(number).ok(),
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => {
                Some(Json::from(text.as_str()))
            }
            Value::Boolean(value) => Some(Json::from(*value)),
            Value::Null => Some(Json::Null),
            _ => None,
        },
        _ => None,
    }
}

/// Parses the default of a column.
pub(crate) fn default(sql: &str) -> Default {
    let text = sql.trim().to_lowercase();
    let plain = text.trim_matches(['(', ')']);
    const NOW: [&str; 6] = [
        "now",
        "current_timestamp",
        "localtimestamp",
        "statement_timestamp",
        "clock_timestamp",
        "datetime('now'",
    ];
    if NOW.contains(&plain) {
        return Default::Now;
    }
    if plain == "current_date" || plain == "date('now'" {
        return Default::Today;
    }
    match parsed(sql).as_ref().map(bare) {
        Some(Expr::Array(array)) if array.elem.is_empty() => {
            Default::Value(Json::Array(Vec::new()))
        }
        Some(expression) => literal(expression).map_or(Default::Other, Default::Value),
        None => Default::Other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sqlparser::dialect::GenericDialect;

    use super::{Check, Default, Rule, checks, default, is_shallow, words};

    #[test]
    fn the_depth_of_an_expression_is_limited() {
        let numbers = format!("{}1", "1, ".repeat(2_000));
        // These trees must be visited within the small stack of a test.
        for sql in [
            ["a > 1"; 100].join(" AND "),
            format!("a{}", " NOTNULL".repeat(399)),
            format!("a IN ({numbers}) AND b IN ({numbers})"),
            format!("a = ANY (ARRAY[{numbers}]) AND f(b, {numbers}) > 1"),
        ] {
            assert!(is_shallow(&GenericDialect {}, &sql), "{sql}");
            let _ = (checks(&sql), default(&sql));
        }
        let half = ["a"; 120].join("+");
        for sql in [
            format!("a{}", "||a".repeat(100_000)),
            ["a"; 900].join(" AND b || "),
            format!("(({half})) + {half}"),
            format!("f({half}, 1) + {half}"),
            format!("{half} + f(1, {half})"),
            ["[1, 2]"; 300].join(" || a || "),
            format!("{half} + ({half}"),
            "a)".repeat(300),
        ] {
            assert!(!is_shallow(&GenericDialect {}, &sql), "{sql}");
            assert_eq!((checks(&sql), default(&sql)), (None, Default::Other));
        }
    }

    #[test]
    fn checks_of_single_columns_become_rules() {
        let minimum = |bound, is_strict| Rule::Minimum { bound, is_strict };
        let maximum = |bound, is_strict| Rule::Maximum { bound, is_strict };
        let texts = |texts: &[&str]| Rule::OneOf(texts.iter().map(|&text| text.into()).collect());
        for (sql, expected) in [
            ("(quantity > 0)", vec![("quantity", minimum(0.0, true))]),
            (
                "((price >= (0)::numeric) AND (price <= 99.5))",
                vec![("price", minimum(0.0, false)), ("price", maximum(99.5, false))],
            ),
            (
                "rating BETWEEN -1 AND 5",
                vec![("rating", minimum(-1.0, false)), ("rating", maximum(5.0, false))],
            ),
            ("internal IN (1, 0, 1)", vec![("internal", Rule::OneNumberOf(vec![0, 1]))]),
            (
                "(level = ANY (ARRAY['-1'::integer, 9223372036854775808]))",
                vec![("level", Rule::OneNumberOf(vec![-1, 9_223_372_036_854_775_808]))],
            ),
            ("10 > \"Size\"", vec![("Size", maximum(10.0, true))]),
            ("(name <> ''::text)", vec![("name", Rule::MinLength(1))]),
            (
                "length(name) > 2 and char_length((code)::text) <= 8",
                vec![("name", Rule::MinLength(3)), ("code", Rule::MaxLength(8))],
            ),
            ("status IN ('open', 'it''s sent')", vec![("status", texts(&["open", "it's sent"]))]),
            (
                "((status)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[]))",
                vec![("status", texts(&["a", "b"]))],
            ),
        ] {
            let expected = expected
                .into_iter()
                .map(|(column, rule)| Check { column: column.to_owned(), rule })
                .collect();
            assert_eq!(checks(sql), Some(expected), "{sql}");
        }
        for sql in [
            "a < b",
            "a = 1 OR a = 2",
            "a NOT IN ('x')",
            "lower(a) = a",
            "",
            "a >",
            "a <> 'x'",
            "a IN (1, 1.5)",
            "a IN (1, 'x')",
        ] {
            assert_eq!(checks(sql), None, "{sql}");
        }
    }

    #[test]
    fn the_words_of_a_rule_are_not_in_its_texts() {
        let sql = "\"a\nb\" > 0 OR \"\" <> 'size' AND lower(Name) = x'00'";
        for (word, is_there) in [("a\nb", true), ("", true), ("Name", true), ("size", false)] {
            assert_eq!(words(sql).iter().any(|known| known == word), is_there, "{word}");
        }
        assert!(words("n > 0").iter().all(|word| !word.is_empty()));
    }

    #[test]
    fn defaults_are_values_or_times() {
        for (sql, expected) in [
            ("'open'::order_status", Default::Value(json!("open"))),
            ("'it''s'", Default::Value(json!("it's"))),
            ("0", Default::Value(json!(0))),
            ("'-1'::integer", Default::Value(json!("-1"))),
            ("(- 1.5)", Default::Value(json!(-1.5))),
            ("true", Default::Value(json!(true))),
            ("NULL", Default::Value(json!(null))),
            ("ARRAY[]::text[]", Default::Value(json!([]))),
            ("now()", Default::Now),
            ("CURRENT_TIMESTAMP", Default::Now),
            ("(datetime('now'))", Default::Now),
            ("CURRENT_DATE", Default::Today),
            ("nextval('orders_id_seq'::regclass)", Default::Other),
            ("gen_random_uuid()", Default::Other),
            ("((", Default::Other),
        ] {
            assert_eq!(default(sql), expected, "{sql}");
        }
    }
}
