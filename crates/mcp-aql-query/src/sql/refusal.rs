//! Builds the errors for values that a database rejects.

use mcp_aql_core::OperationError;
use mcp_aql_protocol::ErrorCode;

use super::column_type::SqlType;
use super::database_error::{DatabaseError, Defect, Violation};
use super::{Dialect, SqlTable};
use crate::aggregate::too_large;
use crate::plan::{Filter, Plan};
use crate::records::Record;
use crate::resource::Resource;

/// Builds the errors for a rejected change.
pub(super) struct Refusal<'a, R: 'static> {
    pub(super) table: &'a SqlTable<R>,
    /// The prefix of a field's name: `input.` in an update.
    pub(super) place: &'static str,
    /// Returns `true` for a field that callers of the operation can set.
    pub(super) can_set: fn(&str) -> bool,
}

impl<R: Record> Refusal<'_, R> {
    /// Returns `true` if callers of the operation can set the field with this path, such as `team.name`.
    fn can_set(&self, path: &str) -> bool {
        (self.can_set)(path.split('.').next().unwrap_or(path))
    }

    /// Returns the error for a record that cannot be written.
    pub(super) fn of_change(&self, error: DatabaseError) -> OperationError {
        match error {
            DatabaseError::Unique(violation) => self.of_unique(violation),
            DatabaseError::Reference(violation) => self.of_reference(violation),
            DatabaseError::Value(violation) => self.of_value(violation),
            other => other.into(),
        }
    }

    /// Returns the error for a record that cannot be deleted.
    pub(super) fn of_deletion(&self, error: DatabaseError, record: &R) -> OperationError {
        let DatabaseError::Reference(violation) = error else { return self.of_change(error) };
        let singular = R::NAMES.singular;
        let message = format!(
            "Other records refer to the '{singular}': change or delete them before you delete it"
        );
        self.error(ErrorCode::ConflictVersionMismatch, message, violation)
            .with_detail("resource_id", record.id().to_string())
    }

    /// Returns the error for a record without a written row.
    pub(super) fn of_no_row(&self) -> OperationError {
        let singular = R::NAMES.singular;
        let message = format!(
            "The database did not store the '{singular}', because one of its rules, such as a trigger, prevents \
             it. Nothing was changed: use other values, or ask the administrators of the database"
        );
        OperationError::new(ErrorCode::ValidationInvalidValue, message)
            .with_detail("resource_type", singular)
    }

    /// Rejects a record if the database has changed the values of these fields.
    ///
    /// A column of SQLite converts a string such as `1e3` to a number, or a number to a string, depending on
    /// its type.
    pub(super) fn check_kept(&self, changed: &[String]) -> Result<(), OperationError> {
        if changed.is_empty() || self.table.dialect() == Dialect::Postgres {
            return Ok(());
        }
        // The database computes these columns, so the statement has not written them.
        let computed = &self.table.mapping.expressions;
        let written = changed.iter().filter(|path| !computed.contains_key(*path));
        let written: Vec<_> = written.collect();
        let Some(field) = written.first() else { return Ok(()) };
        if !written.iter().any(|field| self.can_set(field)) {
            let message = format!("the column of '{field}' changes the values of the field");
            return Err(OperationError::internal(message));
        }
        let fields = written.into_iter().filter(|field| self.can_set(field));
        let fields: Vec<_> = fields.map(|field| format!("{}{field}", self.place)).collect();
        let message = format!(
            "The database would change the value of {}, because the type of the column converts between strings \
             and numbers: use another value, or ask the administrators of the database",
            listed(&fields)
        );
        Err(self
            .with_fields(OperationError::new(ErrorCode::ValidationInvalidValue, message), &fields))
    }

    /// Returns the error for a record that still exists after its deletion.
    pub(super) fn of_kept(&self, record: &R) -> OperationError {
        let singular = R::NAMES.singular;
        let message = format!(
            "The database did not delete the '{singular}', because one of its rules, such as a trigger, prevents \
             it. Nothing was changed: ask the administrators of the database"
        );
        OperationError::new(ErrorCode::ConflictVersionMismatch, message)
            .with_detail("resource_type", singular)
            .with_detail("resource_id", record.id().to_string())
    }

    fn error(&self, code: ErrorCode, message: String, violation: Violation) -> OperationError {
        let fields = self.fields(&violation);
        let error = OperationError::new(code, message).with_cause(violation.into_cause());
        self.with_fields(error, &fields)
    }

    /// Adds the details of an error about fields.
    fn with_fields(&self, error: OperationError, fields: &[String]) -> OperationError {
        let error = error.with_detail("resource_type", R::NAMES.singular);
        match fields {
            [] => error,
            [one] => error.with_detail("param_name", one.as_str()),
            several => error.with_detail("param_names", several.to_vec()),
        }
    }

    /// Returns the fields of the violation that callers can set, as parameters.
    fn fields(&self, violation: &Violation) -> Vec<String> {
        let fields = self.table.fields_of_columns(&violation.columns).into_iter();
        let fields = fields.filter(|field| self.can_set(field));
        fields.map(|field| format!("{}{field}", self.place)).collect()
    }

    /// Returns `true` if the violation is about fields, but callers can set none of them.
    fn is_about_others(&self, violation: &Violation) -> bool {
        let fields = self.table.fields_of_columns(&violation.columns);
        !fields.is_empty() && !fields.iter().any(|field| self.can_set(field))
    }

    fn of_unique(&self, violation: Violation) -> OperationError {
        let singular = R::NAMES.singular;
        let message = match self.fields(&violation).as_slice() {
            [] if self.table.fields_of_columns(&violation.columns) == [R::ID.name] => format!(
                "The database assigned an existing number to the new '{singular}', because its sequence is behind \
                 the records. Nothing was changed: try again, or ask the administrators of the database to \
                 advance the sequence"
            ),
            [] if self.is_about_others(&violation) => {
                format!("Only one '{singular}' can exist here: change the existing one")
            }
            [] => format!(
                "Another '{singular}' has the same value in a field with unique values: use other values"
            ),
            [one] => format!(
                "Another '{singular}' has this value of '{one}', which must be unique: use another value, or change \
                 the other '{singular}'"
            ),
            several => format!(
                "Another '{singular}' has these values of {}, which must be unique together: use other values, or \
                 change the other '{singular}'",
                listed(several)
            ),
        };
        self.error(ErrorCode::ConflictAlreadyExists, message, violation)
    }

    fn of_reference(&self, violation: Violation) -> OperationError {
        let fields = self.table.fields_of_columns(&violation.columns);
        let place = self.place;
        if self.is_about_others(&violation) {
            return OperationError::internal(violation.into_cause());
        }
        if let [field] = fields.as_slice() {
            let target = R::REFERENCES.iter().find(|reference| reference.field == field);
            let target = target.map_or("record", |reference| reference.target);
            let expected = format!("must identify an existing {target}");
            return OperationError::invalid_value(&format!("{place}{field}"), expected)
                .with_detail("resource_type", R::NAMES.singular)
                .with_cause(violation.into_cause());
        }
        let singular = R::NAMES.singular;
        let message = match self.fields(&violation).as_slice() {
            [] => format!(
                "The '{singular}' refers to a missing record: check its fields with identifiers of other records"
            ),
            several => {
                format!("The '{singular}' refers to a missing record: check {}", listed(several))
            }
        };
        self.error(ErrorCode::ValidationInvalidValue, message, violation)
    }

    fn of_value(&self, violation: Violation) -> OperationError {
        let singular = R::NAMES.singular;
        let fields = self.fields(&violation);
        if fields.is_empty() && self.is_about_others(&violation) {
            return OperationError::internal(violation.into_cause());
        }
        let typed: Vec<_> = self.table.typed_fields().collect();
        let rule = violation.constraint.as_deref().map(printable);
        let rule = rule.filter(|_| violation.defect == Defect::Rule);
        let form = |field: &String| {
            let found = violation.type_name.as_deref();
            let of_path =
                || typed.iter().find(|(path, _)| field.strip_prefix(self.place) == Some(path));
            match found.or_else(|| of_path().map(|(_, name)| *name)) {
                Some(name) => format!("'{field}' ({name})"),
                None => format!("'{field}'"),
            }
        };
        let forms = fields.iter().map(form).collect::<Vec<_>>().join(", ");
        let value = match fields.as_slice() {
            [] => format!("A value of the '{singular}'"),
            [_] => format!("The value of {forms}"),
            _ => format!("A value of {forms}"),
        };
        let message = match (violation.defect, fields.as_slice(), &rule) {
            (Defect::Missing, [one], _) => {
                format!("The field '{one}' needs a value: send one, not null")
            }
            (Defect::TooLarge, ..) => {
                format!("{value} is too long for the database: use a shorter one")
            }
            (Defect::Character(letter), ..) => {
                format!("{value} has {}: use other characters", unknown_character(letter))
            }
            (_, [], None) => format!(
                "A value of the '{singular}' is not allowed: compare all values with the descriptions of the \
                 parameters"
            ),
            (_, [], Some(_)) => format!(
                "The '{singular}' violates a rule of the database: change its values to satisfy 'rule' in the \
                 details"
            ),
            (_, fields, Some(_)) => format!(
                "The value of {} violates a rule of the database: use a value which satisfies 'rule' in the details",
                listed(fields)
            ),
            (_, [_], None) => {
                format!("The database cannot store this value of {forms}: use a value of its type")
            }
            (_, _, None) => {
                format!("The database cannot store a value of the '{singular}': check {forms}")
            }
        };
        let error = self.error(ErrorCode::ValidationInvalidValue, message, violation);
        match rule {
            Some(rule) => error.with_detail("rule", rule),
            None => error,
        }
    }
}

/// Describes a character that the encoding of the database lacks.
fn unknown_character(letter: Option<char>) -> String {
    let letter = letter.map(|letter| format!(" '{}'", mcp_aql_text::visible(&letter.to_string())));
    format!("the character{} outside of the encoding of the database", letter.unwrap_or_default())
}

/// Returns at most 200 characters of a rule, without invisible ones.
fn printable(rule: &str) -> String {
    mcp_aql_text::visible(rule).chars().take(200).collect()
}

fn listed(fields: &[String]) -> String {
    fields.iter().map(|field| format!("'{field}'")).collect::<Vec<_>>().join(", ")
}

impl<R: Record> SqlTable<R> {
    /// Returns `true` if a lookup failed because the identifier is not valid for the type of its column. No
    /// record has this identifier then.
    pub(super) fn has_no_such_identifier(&self, error: &DatabaseError) -> bool {
        let DatabaseError::Value(violation) = error else { return false };
        let kind = self.mapping.types.get(R::ID.name);
        match violation.defect {
            Defect::Malformed | Defect::TooLarge => kind.is_some_and(SqlType::is_converted),
            Defect::Unclear => kind.is_some_and(SqlType::is_parsed),
            Defect::Character(_) => true,
            Defect::Rule | Defect::Missing => false,
        }
    }
}

impl<T: Resource> SqlTable<T> {
    /// Returns the error for a query that the database rejects.
    pub(super) fn refused_query(&self, error: DatabaseError, plan: &Plan) -> OperationError {
        let DatabaseError::Value(violation) = error else { return error.into() };
        let mut fields = Vec::new();
        if let Some(filter) = &plan.filter {
            let is_unclear = violation.defect == Defect::Unclear;
            let may_fail = |kind: &SqlType| !is_unclear || kind.is_parsed();
            self.filtered_types(filter, &may_fail, &mut fields);
        }
        let message = match (violation.defect, fields.as_slice()) {
            (Defect::Character(letter), _) => format!(
                "Parameter 'filter' or 'query' has {}: no stored value contains it, so leave it out",
                unknown_character(letter)
            ),
            (Defect::TooLarge, []) if plan.filter.is_some() => {
                "Parameter 'filter' is too large for the database: compare with fewer and shorter values".to_owned()
            }
            (_, []) if plan.aggregate.is_empty() => {
                return OperationError::internal(violation.into_cause());
            }
            (_, []) => return too_large().with_cause(violation.into_cause()),
            (_, [one]) => format!("Parameter 'filter' has no value of {one}"),
            (_, several) => {
                format!(
                    "Parameter 'filter' has a value of another type than {}",
                    several.join(", ")
                )
            }
        };
        OperationError::new(ErrorCode::ValidationInvalidValue, message)
            .with_detail("param_name", "filter")
            .with_cause(violation.into_cause())
    }

    /// Adds the fields of a caller's filter whose column types do not allow every string.
    fn filtered_types(
        &self,
        filter: &Filter,
        may_fail: &dyn Fn(&SqlType) -> bool,
        into: &mut Vec<String>,
    ) {
        match filter {
            Filter::All(parts) | Filter::Any(parts) => {
                parts.iter().for_each(|part| self.filtered_types(part, may_fail, into));
            }
            Filter::Not(inner) => self.filtered_types(inner, may_fail, into),
            Filter::Field(place, _) => {
                let field = T::model().schema().field(*place).filter(|field| field.filter);
                let Some(field) = field else { return };
                let is_typed = self.mapping.types.get(&field.path).is_some_and(may_fail);
                let typed = self.typed_fields().find(|(path, _)| is_typed && *path == field.path);
                let named = typed.map(|(path, name)| format!("the type '{name}' for '{path}'"));
                into.extend(named.filter(|named| !into.contains(named)));
            }
        }
    }

    /// Returns the fields whose column types do not allow every string, with the names of these types.
    fn typed_fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let is_postgres = self.dialect() == Dialect::Postgres;
        let types = self.mapping.types.iter().filter(move |_| is_postgres);
        types.filter_map(|(path, kind)| Some((path.as_str(), kind.name_to_callers()?)))
    }

    /// Returns the fields in columns with these names.
    pub(super) fn fields_of_columns(&self, columns: &[String]) -> Vec<String> {
        let field = |column: &String| {
            let named = self.mapping.columns.iter().find(|(_, known)| *known == column);
            let path = named.map_or(column.as_str(), |(path, _)| path.as_str());
            T::model().schema().index_of(path).map(|_| path.to_owned())
        };
        columns.iter().filter_map(field).collect()
    }
}
