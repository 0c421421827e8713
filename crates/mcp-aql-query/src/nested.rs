//! Columns of a resource nested in a field of another resource.

use std::cmp::Ordering;
use std::marker::PhantomData;

use serde_json::Value;

use super::columns::{Column, ColumnType, Matcher, NestedField, retain_rows, row_at};
use super::field_info::FieldInfo;
use super::grouping::{Groups, Sum};
use super::model_builder::is_in_progress;
use super::plan::Test;
use super::resource::Resource;
use super::resource_spec::FieldSpec;
use super::value::Scalar;

/// Access to a resource in a field. The field may be empty.
pub trait NestedAccess: 'static {
    /// The outer resource.
    type Row: 'static;
    /// The resource in its field.
    type Inner: Resource;

    /// Returns the inner resource, or `None` if the field is empty.
    fn get(row: &Self::Row) -> Option<&Self::Inner>;
}

/// Lists the columns of the resource that `A` accesses.
fn expand<A: NestedAccess>(take: &mut dyn FnMut(NestedField<A::Row>)) -> Option<&'static [String]> {
    if is_in_progress::<A::Inner>() {
        return None;
    }
    let model = A::Inner::model();
    for (info, column) in model.own_fields() {
        let through = NestedColumn::<A> { column, way: PhantomData };
        take(NestedField { info: info.clone(), column: Box::new(through) });
    }
    Some(&model.schema().problems)
}

impl<T> FieldSpec<T> {
    /// Marks the field as a nested resource. Queries name its fields after a dot, for example
    /// `metadata.owner`. `A` accesses the inner resource.
    #[must_use]
    pub const fn nested<A: NestedAccess<Row = T>>(mut self) -> Self {
        self.nested = Some(expand::<A>);
        self
    }
}

/// A column of the inner resource.
struct NestedColumn<A: NestedAccess> {
    column: &'static dyn Column<A::Inner>,
    way: PhantomData<fn() -> A>,
}

/// Returns the indexes of all rows of a list.
fn all<T>(rows: &[T]) -> Vec<u32> {
    (0..u32::try_from(rows.len()).unwrap_or(u32::MAX)).collect()
}

/// The test of an inner column. A row without the inner resource fails it.
struct NestedMatcher<A: NestedAccess>(Box<dyn Matcher<A::Inner>>);

impl<A: NestedAccess> Matcher<A::Row> for NestedMatcher<A> {
    fn matches(&self, row: &A::Row) -> bool {
        A::get(row).is_some_and(|inner| self.0.matches(inner))
    }

    fn retain(&self, rows: &[&A::Row], selected: &mut Vec<u32>) {
        retain_rows(rows, selected, |row| self.matches(row));
    }

    fn priority(&self) -> u8 {
        self.0.priority()
    }
}

impl<A: NestedAccess> Column<A::Row> for NestedColumn<A> {
    fn column_type(&self) -> Option<ColumnType> {
        self.column.column_type().map(|known| ColumnType { optional: true, ..known })
    }

    fn matcher(&self, test: &Test, info: &FieldInfo) -> Box<dyn Matcher<A::Row>> {
        Box::new(NestedMatcher::<A>(self.column.matcher(test, info)))
    }

    fn order(&self, left: &A::Row, right: &A::Row, descending: bool, info: &FieldInfo) -> Ordering {
        match (A::get(left), A::get(right)) {
            (Some(left), Some(right)) => self.column.order(left, right, descending, info),
            (Some(left), None) => self.column.order_to(left, &Scalar::Null, descending, info),
            (None, Some(right)) => {
                self.column.order_to(right, &Scalar::Null, descending, info).reverse()
            }
            (None, None) => Ordering::Equal,
        }
    }

    fn order_to(
        &self,
        row: &A::Row,
        bound: &Scalar,
        descending: bool,
        info: &FieldInfo,
    ) -> Ordering {
        match A::get(row) {
            Some(row) => self.column.order_to(row, bound, descending, info),
            None if bound.is_null() => Ordering::Equal,
            None => Ordering::Greater,
        }
    }

    fn scalar(&self, row: &A::Row, info: &FieldInfo) -> Scalar {
        A::get(row).map_or(Scalar::Null, |inner| self.column.scalar(inner, info))
    }

    fn json(&self, row: &A::Row) -> Result<Value, serde_json::Error> {
        A::get(row).map_or(Ok(Value::Null), |inner| self.column.json(inner))
    }

    fn texts(&self, row: &A::Row, take: &mut dyn FnMut(&str)) {
        if let Some(inner) = A::get(row) {
            self.column.texts(inner, take);
        }
    }

    fn groups(
        &self,
        rows: &[&A::Row],
        selected: &[u32],
        info: &FieldInfo,
        groups: &mut Groups,
        into: &mut Vec<u32>,
    ) {
        for place in selected {
            match row_at(rows, *place).and_then(A::get) {
                Some(inner) => self.column.groups(&[inner], &[0], info, groups, into),
                None => into.push(groups.of(Scalar::Null)),
            }
        }
    }

    fn sum(
        &self,
        rows: &[&A::Row],
        selected: &[u32],
        groups: &[u32],
        info: &FieldInfo,
        sums: &mut [Sum],
    ) {
        let (inner, groups) = Self::grouped(rows, selected, groups);
        self.column.sum(&inner, &all(&inner), &groups, info, sums);
    }

    fn extremes(
        &self,
        rows: &[&A::Row],
        selected: &[u32],
        groups: &[u32],
        info: &FieldInfo,
        extremes: &mut [Scalar],
        largest: bool,
    ) {
        let (inner, groups) = Self::grouped(rows, selected, groups);
        self.column.extremes(&inner, &all(&inner), &groups, info, extremes, largest);
    }
}

impl<A: NestedAccess> NestedColumn<A> {
    /// Returns the inner resources of the selected rows, with the groups of these rows.
    fn grouped<'a>(
        rows: &[&'a A::Row],
        selected: &[u32],
        groups: &[u32],
    ) -> (Vec<&'a A::Inner>, Vec<u32>) {
        selected
            .iter()
            .zip(groups)
            .filter_map(|(place, group)| Some((A::get(row_at(rows, *place)?)?, *group)))
            .unzip()
    }
}
