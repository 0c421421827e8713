//! The declaration of a key of the configuration file. The file, the environment, the flags, `config show`, the
//! complete file of `config default` and the table in the book are all derived from it.

use std::fmt::Write as _;

use serde_json::Value;

/// A key of the configuration file.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Path in the file, such as `http.max_sessions`. Keys of the tables in a list follow `[]`, such as
    /// `auth.tokens[].subject`.
    pub path: &'static str,
    /// Type and unit of the value.
    pub kind: ValueKind,
    /// Effect of the key in a file of the working directory.
    pub project: ProjectRule,
    /// Flag of the command `serve` that sets the key.
    pub flag: Option<Flag>,
    /// Environment variable that sets the key.
    pub variable: Option<&'static str>,
    /// Lines of the documentation, as in the source code.
    doc: &'static [&'static str],
    /// Minimum and maximum of a number.
    pub(crate) range: Option<(u64, u64)>,
    /// The default of a key that is unset by default: JSON in backquotes, or words.
    default: Option<&'static str>,
    /// Value shown by `config default` if there is no default.
    example: Option<&'static str>,
    /// Key under which `config show` lists the value, if it is another one.
    listed_as: Option<&'static str>,
}

/// Type and unit of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// `true` or `false`.
    Switch,
    /// A number with this unit. The unit is empty for a count.
    Number(&'static str),
    /// A string.
    Text,
    /// One of these strings.
    Word(&'static [&'static str]),
    /// A list of strings.
    List,
    /// A value with a structure of its own. Its owner reads and checks it.
    Other(&'static str),
}

/// Unit of sizes that a file contains in MiB and the program in bytes.
const MEBIBYTES: &str = "MiB";

/// Effect of a key in a file of the working directory. Such a file can only make the adapter stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectRule {
    /// The value is ignored.
    Ignored,
    /// The value is applied.
    Applied,
    /// The value is applied if it is lower.
    Lower,
    /// The value is applied if it is `true`.
    True,
    /// The owner of the key applies what makes the adapter stricter. The words describe it.
    Stricter(&'static str),
}

/// A flag of the command `serve`.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// Name with hyphens, such as `--max-sessions`.
    pub name: &'static str,
    /// Name of the value in the help.
    pub value_name: &'static str,
    /// If `true`, the flag has no effect without sessions.
    pub needs_sessions: bool,
    /// If `true`, every command has the flag.
    pub is_global: bool,
}

impl Key {
    /// Declares a key. A file in the working directory cannot set it.
    pub const fn new(path: &'static str, kind: ValueKind) -> Self {
        Self {
            path,
            kind,
            project: ProjectRule::Ignored,
            flag: None,
            variable: None,
            doc: &[],
            range: None,
            default: None,
            example: None,
            listed_as: None,
        }
    }

    /// Sets the documentation. Its first paragraph is the help of the flag and the description in the book.
    #[must_use]
    pub const fn doc(mut self, doc: &'static [&'static str]) -> Self {
        self.doc = doc;
        self
    }

    /// Limits a number.
    #[must_use]
    pub const fn range(mut self, low: u64, high: u64) -> Self {
        self.range = Some((low, high));
        self
    }

    /// Sets the effect in a file of the working directory.
    #[must_use]
    pub const fn project(mut self, rule: ProjectRule) -> Self {
        self.project = rule;
        self
    }

    /// Adds a flag to the command `serve`.
    #[must_use]
    pub const fn flag(mut self, name: &'static str, value_name: &'static str) -> Self {
        self.flag = Some(Flag { name, value_name, needs_sessions: false, is_global: false });
        self
    }

    /// Adds a flag that has no effect without sessions.
    #[must_use]
    pub const fn session_flag(mut self, name: &'static str, value_name: &'static str) -> Self {
        self.flag = Some(Flag { name, value_name, needs_sessions: true, is_global: false });
        self
    }

    /// Adds a flag to every command.
    #[must_use]
    pub const fn global_flag(mut self, name: &'static str, value_name: &'static str) -> Self {
        self.flag = Some(Flag { name, value_name, needs_sessions: false, is_global: true });
        self
    }

    /// Adds an environment variable.
    #[must_use]
    pub const fn variable(mut self, name: &'static str) -> Self {
        self.variable = Some(name);
        self
    }

    /// Sets the default of a key that is unset by default: JSON in backquotes, or words.
    #[must_use]
    pub const fn default(mut self, words: &'static str) -> Self {
        self.default = Some(words);
        self
    }

    /// Sets a value for the complete file, in TOML. Needed if there is no default.
    #[must_use]
    pub const fn example(mut self, toml: &'static str) -> Self {
        self.example = Some(toml);
        self
    }

    /// Sets the key under which `config show` lists the value.
    #[must_use]
    pub const fn listed_as(mut self, path: &'static str) -> Self {
        self.listed_as = Some(path);
        self
    }

    /// Returns the first paragraph of the documentation, in one line without a full stop.
    pub fn summary(&self) -> String {
        let lines = self.doc.iter().map(|line| line.trim()).take_while(|line| !line.is_empty());
        let summary = lines.collect::<Vec<_>>().join(" ");
        summary.strip_suffix('.').map(str::to_owned).unwrap_or(summary)
    }

    /// Returns the key under which `config show` lists the value.
    pub fn listed_path(&self) -> &'static str {
        self.listed_as.unwrap_or(self.path)
    }

    /// Describes the type, the unit and the range of the value, such as `seconds, 1 to 86400`.
    pub fn type_and_range(&self) -> String {
        let mut described = match self.kind {
            ValueKind::Switch => "`true` or `false`".to_owned(),
            ValueKind::Number("") => "number".to_owned(),
            ValueKind::Number(words) | ValueKind::Other(words) => words.to_owned(),
            ValueKind::Text => "string".to_owned(),
            ValueKind::List => "list of strings".to_owned(),
            ValueKind::Word(words) => {
                words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ")
            }
        };
        if let Some(range) = self.range {
            _ = write!(described, ", {}", describe(range));
        }
        described
    }

    /// Returns the default of a key that is unset by default. Null if it is not a single value.
    pub fn default_in_use(&self) -> Value {
        let value = self.default.and_then(|words| words.strip_prefix('`')?.strip_suffix('`'));
        value.and_then(|value| serde_json::from_str(value).ok()).unwrap_or_default()
    }

    /// Describes the default. `value` is the value without any source.
    pub fn describe_default(&self, value: &Value) -> String {
        match (value, self.default) {
            (Value::Null, Some(words)) => words.to_owned(),
            (Value::Null, None) => "none".to_owned(),
            (Value::Array(list), _) if list.is_empty() => "none".to_owned(),
            (Value::String(text), _) if text.is_empty() => "none".to_owned(),
            (value, _) => format!("`{value}`"),
        }
    }

    /// Returns the value of the key in the complete file, in TOML.
    pub fn toml_value(&self, default: &Value) -> String {
        match (self.example, default) {
            (Some(example), _) => example.to_owned(),
            // JSON and TOML have the same notation of strings, numbers and lists.
            (None, value) => value.to_string(),
        }
    }

    /// Returns the problem with a number outside of the range.
    ///
    /// ```text
    /// `http.max_sessions` is 0: choose 1 to 1000000
    /// ```
    pub(crate) fn range_problem(&self, value: &Value) -> Option<String> {
        let (range, number) = (self.range?, value.as_f64()?);
        let is_valid = match value.as_u64() {
            Some(number) => (range.0..=range.1).contains(&number),
            // A fraction, such as half a second set by the program.
            None => (as_float(range.0)..=as_float(range.1)).contains(&number),
        };
        (!is_valid).then(|| format!("`{}` is {value}: choose {}", self.path, describe(range)))
    }

    /// Converts a number of the program to the unit of the file.
    pub(crate) fn with_unit(&self, value: Value) -> Value {
        match (self.kind, value.as_u64()) {
            (ValueKind::Number(MEBIBYTES), Some(bytes)) if bytes % (1 << 20) == 0 => {
                (bytes >> 20).into()
            }
            (ValueKind::Number(MEBIBYTES), Some(bytes)) => {
                (as_float(bytes) / as_float(1 << 20)).into()
            }
            _ => value,
        }
    }

    /// Converts a number from the unit of the file.
    pub(crate) fn without_unit(&self, value: Value) -> Value {
        match (self.kind, value.as_u64()) {
            (ValueKind::Number(MEBIBYTES), Some(number)) => number.saturating_mul(1 << 20).into(),
            _ => value,
        }
    }

    /// Parses a value outside of a file, such as the value of an environment variable.
    ///
    /// # Errors
    ///
    /// Returns what to write.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        match self.kind {
            ValueKind::Switch => {
                text.parse().map(Value::Bool).map_err(|_| "write `true` or `false`".to_owned())
            }
            ValueKind::Number(unit) => text.parse::<u64>().map(Value::from).map_err(|_| {
                let of_unit = if unit.is_empty() { String::new() } else { format!(" of {unit}") };
                let range = self.range.map(|range| format!(", {}", describe(range)));
                format!("write a number{of_unit}{}", range.unwrap_or_default())
            }),
            ValueKind::List => Ok(Value::Array(vec![text.into()])),
            ValueKind::Text | ValueKind::Word(_) | ValueKind::Other(_) => Ok(text.into()),
        }
    }
}

/// Describes a range. A range without an upper end has the largest number.
fn describe((low, high): (u64, u64)) -> String {
    match high {
        u64::MAX => format!("at least {low}"),
        _ => format!("{low} to {high}"),
    }
}

/// Converts a number. Only numbers above 2^53 are rounded, and no range ends there.
fn as_float(number: u64) -> f64 {
    number as f64
}
