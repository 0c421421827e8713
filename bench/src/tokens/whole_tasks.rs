//! Counts the tokens of whole tasks: everything that a model reads and writes, from the list of tools to the last
//! reply.

use std::fmt::Write as _;

use mcp_aql::query::CursorKey;
use mcp_aql::{Adapter, EndpointMode};
use serde_json::{Value, json};

use super::conversation::{Conversation, Purpose, Reader, Step, Trip};
use super::{Count, Wire, back_office, desk, plain, scripts};
use crate::Result;
use crate::operations::Tasks;
use crate::store::TaskStore;

/// The endpoint modes to compare.
const MODES: [EndpointMode; 2] = [EndpointMode::Semantic, EndpointMode::Single];
/// Numbers of operations: the service desk alone, and with additional operations.
pub(super) const SIZES: [usize; 3] = [16, 50, 527];
/// Number of operations of `examples/tasks`, without `introspect`.
const BOARD_SIZE: usize = 14;

/// The tokens of a task, or the average of several tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeTask {
    /// Describes the task.
    pub what: &'static str,
    /// Number of operations of the adapter.
    pub operations: usize,
    /// The endpoint mode of the adapter.
    pub mode: EndpointMode,
    /// The cost with mcp-aql.
    pub ours: Cost,
    /// The cost with one plain tool per operation.
    pub plain: Cost,
}

/// The cost of a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Tokens of the list of tools.
    pub tools: usize,
    /// Tokens of the calls and replies.
    pub trips: usize,
    /// Tokens in total.
    pub whole: usize,
    /// Number of calls. Calls that repeat a confirmed one do not count.
    pub calls: usize,
    /// Number of calls that failed.
    pub failures: usize,
}

/// The measured tasks.
#[derive(Debug, Clone)]
pub struct WholeTasks {
    /// The tasks, for each size and mode.
    pub tasks: Vec<WholeTask>,
    /// Tokens of `list_tasks` in a list with `parameters: true`.
    pub list_operation: usize,
    /// Tokens of the details of `list_tasks`.
    pub list_operation_in_full: usize,
}

/// A figure with its goal.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// Describes the figure.
    pub what: &'static str,
    /// The measured value.
    pub measured: f64,
    /// The maximum.
    pub goal: f64,
}

/// Measures all tasks.
///
/// # Errors
///
/// Returns an error if a server sends an unexpected answer.
pub async fn whole_tasks(count: Count<'_>) -> Result<WholeTasks> {
    let mut tasks = Vec::new();
    for mode in MODES {
        for size in SIZES {
            tasks.push(at_the_desk(size, mode, count).await?);
        }
    }
    for mode in MODES {
        tasks.push(on_the_board(mode, count).await?);
    }
    let (adapter, _directory) = board(EndpointMode::Single).await?;
    let mut wire = Wire::to(adapter).await?;
    let in_brief = json!({ "query": "operations", "names": ["list_tasks"], "parameters": true });
    let in_brief: Value = serde_json::from_str(&wire.introspect(in_brief).await?)?;
    let in_full = json!({ "query": "operations", "name": "list_tasks" });
    Ok(WholeTasks {
        tasks,
        list_operation: count(&in_brief["data"]["operations"].to_string()),
        list_operation_in_full: count(&wire.introspect(in_full).await?),
    })
}

/// Measures the tasks at the service desk, each in its own conversation. Returns the average.
async fn at_the_desk(operations: usize, mode: EndpointMode, count: Count<'_>) -> Result<WholeTask> {
    let tools = plain_tools(desk_with(operations, mode)?).await?;
    let scripts = scripts::desk();
    let (mut ours, mut plain) = (Cost::default(), Cost::default());
    for script in &scripts {
        let conversation = conversation(desk_with(operations, mode)?, script).await?;
        ours.add(Cost::of(&conversation, count));
        plain.add(Cost::of_plain(&conversation, &tools, count));
    }
    let average = |cost: Cost| cost.divided_by(scripts.len());
    let what = "one task at the service desk";
    Ok(WholeTask { what, operations, mode, ours: average(ours), plain: average(plain) })
}

/// Measures the ten jobs on the board, all in one conversation.
async fn on_the_board(mode: EndpointMode, count: Count<'_>) -> Result<WholeTask> {
    let (adapter, _directory) = board(mode).await?;
    let tools = plain_tools(adapter.clone()).await?;
    conversation(adapter.clone(), &scripts::preparation()).await?;
    let conversation = conversation(adapter, &scripts::jobs()).await?;
    Ok(WholeTask {
        what: "ten jobs on the task board",
        operations: BOARD_SIZE,
        mode,
        ours: Cost::of(&conversation, count),
        plain: Cost::of_plain(&conversation, &tools, count),
    })
}

/// Builds the adapter of `examples/tasks` with an empty board in a temporary file. Keep the directory as long as you need
/// the board, because dropping it deletes the file.
async fn board(mode: EndpointMode) -> Result<(Adapter, tempfile::TempDir)> {
    let directory = tempfile::tempdir()?;
    let store = TaskStore::open(directory.path().join("tasks.db")).await?;
    let adapter = Adapter::builder("tasks")
        .without_config()
        .mode(mode)
        .operations(Tasks::new(store))
        // With a fixed key, cursors have the same token count in every run.
        .cursor_key(CursorKey::new([7; 16]))
        .build()?;
    Ok((adapter, directory))
}

pub(super) async fn conversation(adapter: Adapter, script: &[Step]) -> Result<Conversation> {
    Reader::new(Wire::to(adapter).await?).await?.follow(script).await
}

/// Builds the service desk with additional operations, up to a total of `operations`.
pub(super) fn desk_with(operations: usize, mode: EndpointMode) -> Result<Adapter> {
    let [desk_size, ..] = SIZES;
    let further = back_office::operations(operations - desk_size);
    let builder = further.into_iter().fold(desk::builder().mode(mode), |builder, operation| {
        builder.dynamic_operation(operation)
    });
    Ok(builder.build()?)
}

pub(super) async fn plain_tools(adapter: Adapter) -> Result<String> {
    plain::tools(&mut Wire::to(adapter).await?).await
}

impl Cost {
    pub(super) fn of(conversation: &Conversation, count: Count<'_>) -> Self {
        let counted = |trip: &&Trip| trip.purpose != Purpose::Confirmation;
        let trips = || conversation.trips.iter().filter(counted);
        let tools = count(&conversation.tools);
        let spoken = trips().map(|trip| count(&trip.call) + count(&trip.reply)).sum();
        Self {
            tools,
            trips: spoken,
            whole: tools + count(&conversation.instructions) + spoken,
            calls: trips().count(),
            failures: trips().filter(|trip| trip.has_failed).count(),
        }
    }

    pub(super) fn of_plain(conversation: &Conversation, tools: &str, count: Count<'_>) -> Self {
        let trips = || conversation.trips.iter().filter_map(|trip| trip.plain.as_ref());
        let tools = count(tools);
        let spoken = trips().map(|(call, reply)| count(call) + count(reply)).sum();
        Self { tools, trips: spoken, whole: tools + spoken, calls: trips().count(), failures: 0 }
    }

    fn add(&mut self, other: Self) {
        self.tools += other.tools;
        self.trips += other.trips;
        self.whole += other.whole;
        self.calls += other.calls;
        self.failures += other.failures;
    }

    /// Returns the average of `number` conversations. The counts of calls and failures stay sums.
    fn divided_by(self, number: usize) -> Self {
        Self {
            tools: self.tools / number,
            trips: self.trips / number,
            whole: self.whole / number,
            ..self
        }
    }
}

impl WholeTask {
    /// Returns the tokens with mcp-aql as a share of those with plain tools.
    pub fn share(&self) -> f64 {
        self.ours.whole as f64 / self.plain.whole as f64
    }
}

impl WholeTasks {
    /// Returns the task with this size and mode.
    pub fn find(&self, operations: usize, mode: EndpointMode) -> Option<&WholeTask> {
        self.tasks.iter().find(|task| task.operations == operations && task.mode == mode)
    }

    /// Returns the figures with a goal.
    pub fn goals(&self) -> Vec<Goal> {
        use EndpointMode::{Semantic, Single};
        let of = |operations, mode, figure: fn(&WholeTask) -> f64| {
            self.find(operations, mode).map(figure).unwrap_or(f64::INFINITY)
        };
        let whole = |task: &WholeTask| task.ours.whole as f64;
        let further_calls = |task: &WholeTask| task.ours.calls as f64 - task.plain.calls as f64;
        let largest_list = |mode| {
            let tools = self.tasks.iter().filter(|task| task.mode == mode).map(|it| it.ours.tools);
            tools.max().unwrap_or_default() as f64
        };
        let goal = |what, measured, goal| Goal { what, measured, goal };
        vec![
            goal(
                "16 operations, single: share of plain tools",
                of(16, Single, WholeTask::share),
                0.6,
            ),
            goal("16 operations, single: further calls", of(16, Single, further_calls), 0.0),
            goal("50 operations, single: whole", of(50, Single, whole), 1_200.0),
            goal("527 operations, semantic: whole", of(527, Semantic, whole), 2_000.0),
            goal("527 operations, single: whole", of(527, Single, whole), 2_000.0),
            goal("the largest `tools/list`, semantic", largest_list(Semantic), 1_500.0),
            goal("the largest `tools/list`, single", largest_list(Single), 600.0),
            goal(
                "ten jobs, semantic: calls",
                of(BOARD_SIZE, Semantic, |it| it.ours.calls as f64),
                14.0,
            ),
            goal(
                "ten jobs, semantic: failed calls",
                of(BOARD_SIZE, Semantic, |it| it.ours.failures as f64),
                1.0,
            ),
            goal(
                "ten jobs, semantic: calls and replies",
                of(BOARD_SIZE, Semantic, |it| it.ours.trips as f64),
                1_500.0,
            ),
            goal("`list_tasks` with `parameters: true`", self.list_operation as f64, 200.0),
            goal("`list_tasks` in full", self.list_operation_in_full as f64, 200.0),
        ]
    }

    /// Formats the results as Markdown tables.
    pub fn table(&self) -> String {
        let mut text = "| task | operations | mode | `tools/list` | calls and replies | whole | plain tools | \
                        share | calls, with plain tools |\n|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
        for task in &self.tasks {
            let (ours, plain) = (&task.ours, &task.plain);
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} | {:.2} | {}, {} |",
                task.what,
                task.operations,
                task.mode.as_str(),
                ours.tools,
                ours.trips,
                ours.whole,
                plain.whole,
                task.share(),
                ours.calls,
                plain.calls,
            );
        }
        text.push_str("\n| figure | measured | goal |\n|---|---|---|\n");
        for Goal { what, measured, goal } in self.goals() {
            let measured_text = match measured.fract() {
                0.0 => format!("{measured}"),
                _ => format!("{measured:.2}"),
            };
            let missed = if measured > goal { ", missed" } else { "" };
            let _ = writeln!(text, "| {what} | {measured_text} | {goal}{missed} |");
        }
        text
    }
}
