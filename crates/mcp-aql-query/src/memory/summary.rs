//! Computes aggregates in memory.

use mcp_aql_core::OperationError;

use super::super::aggregate::{Aggregations, MAX_GROUPS, of_no_rows, too_many_groups};
use super::super::columns::Column;
use super::super::field_info::FieldInfo;
use super::super::grouping::{Groups, Sum};
use super::super::model::{Model, ResourceSchema};
use super::super::plan::{Aggregate, Function, Plan};
use super::super::resource::Resource;
use super::super::value::Scalar;

/// The running aggregates of a plan.
pub(super) struct Summary<'a, T: 'static> {
    aggregates: Vec<RunningAggregate<'a, T>>,
    /// The group of each selected row. It is kept here to reuse its allocation for every block.
    places: Vec<u32>,
}

struct RunningAggregate<'a, T: 'static> {
    aggregate: &'a Aggregate,
    group: Option<(&'static FieldInfo, &'static dyn Column<T>)>,
    groups: Groups,
    functions: Vec<RunningFunction<T>>,
}

/// One function with its state for each group.
struct RunningFunction<T: 'static> {
    function: Function,
    field: Option<(&'static FieldInfo, &'static dyn Column<T>)>,
    counts: Vec<u64>,
    sums: Vec<Sum>,
    extremes: Vec<Scalar>,
}

impl<'a, T: Resource> Summary<'a, T> {
    pub(super) fn of(plan: &'a Plan, model: &'static Model<T>) -> Self {
        let one = |aggregate: &'a Aggregate| RunningAggregate {
            aggregate,
            group: aggregate.group_by.and_then(|place| model.at(place)),
            groups: Groups::default(),
            functions: aggregate
                .functions
                .iter()
                .map(|function| RunningFunction {
                    function: *function,
                    field: function.field().and_then(|place| model.at(place)),
                    counts: Vec::new(),
                    sums: Vec::new(),
                    extremes: Vec::new(),
                })
                .collect(),
        };
        Self { aggregates: plan.aggregate.iter().map(one).collect(), places: Vec::new() }
    }

    /// Adds the selected rows of a block.
    pub(super) fn add(&mut self, rows: &[&T], selected: &[u32]) -> Result<(), OperationError> {
        for one in &mut self.aggregates {
            self.places.clear();
            let count = match one.group {
                Some((info, column)) => {
                    column.groups(rows, selected, info, &mut one.groups, &mut self.places);
                    one.groups.len()
                }
                None => {
                    self.places.resize(selected.len(), 0);
                    1
                }
            };
            if count > MAX_GROUPS {
                return Err(too_many_groups(&one.aggregate.label));
            }
            for running in &mut one.functions {
                running.add(rows, selected, &self.places, count);
            }
        }
        Ok(())
    }

    pub(super) fn finish(
        self,
        table: &ResourceSchema,
    ) -> Result<Option<Aggregations>, OperationError> {
        if self.aggregates.is_empty() {
            return Ok(None);
        }
        let mut all = Aggregations::default();
        for one in self.aggregates {
            let keys = match one.group {
                Some(_) => one.groups.keys,
                None => vec![Scalar::Null],
            };
            let values = |place: usize| {
                one.functions.iter().map(|running| running.value(place)).collect::<Vec<_>>()
            };
            let groups =
                keys.into_iter().enumerate().map(|(place, key)| (key, values(place))).collect();
            all.add(one.aggregate, groups, table)?;
        }
        Ok(Some(all))
    }
}

impl<T> RunningFunction<T> {
    fn add(&mut self, rows: &[&T], selected: &[u32], places: &[u32], groups: usize) {
        match (self.function, self.field) {
            (Function::Count, _) => {
                self.counts.resize(groups, 0);
                for place in places {
                    if let Some(count) = self.counts.get_mut(*place as usize) {
                        *count += 1;
                    }
                }
            }
            (Function::Sum(_) | Function::Avg(_), Some((info, column))) => {
                self.sums.resize(groups, Sum::default());
                column.sum(rows, selected, places, info, &mut self.sums);
            }
            (Function::Min(_) | Function::Max(_), Some((info, column))) => {
                self.extremes.resize(groups, Scalar::Null);
                let largest = matches!(self.function, Function::Max(_));
                column.extremes(rows, selected, places, info, &mut self.extremes, largest);
            }
            (_, None) => {}
        }
    }

    fn value(&self, place: usize) -> Scalar {
        let none = of_no_rows(self.function);
        match self.function {
            Function::Count => {
                self.counts.get(place).map_or(none, |count| Scalar::Int((*count).into()))
            }
            Function::Sum(_) => self.sums.get(place).map_or(none, Sum::total),
            Function::Avg(_) => self.sums.get(place).map_or(none, Sum::mean),
            Function::Min(_) | Function::Max(_) => {
                self.extremes.get(place).cloned().unwrap_or(none)
            }
        }
    }
}
