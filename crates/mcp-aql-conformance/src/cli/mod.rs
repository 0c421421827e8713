//! The command line: subcommands and exit codes.

mod arguments;
#[cfg(feature = "http")]
mod http_target;
#[cfg(not(feature = "http"))]
#[path = "without_http.rs"]
mod http_target;
mod interruption;
mod list;
mod output;
mod progress;
mod selection;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use mcp_aql_conformance::report::{Baseline, Diff};
use mcp_aql_conformance::{
    Category, EvidenceError, Progress, Report, Runner, Settings, Target, checks,
};

use arguments::{Arguments, Command, DiffFormat, ListOrder, RunArguments, TestFiles};
use interruption::interrupted;
use output::Output;
use progress::ProgressLine;
use selection::SelectionArguments;

/// The target of a run and its settings.
type TargetAndSettings = (Arc<dyn Target>, Settings);

/// How the process ends. Determines the exit code (REQ-CNF-12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandOutcome {
    /// The command succeeded.
    Success,
    /// A report was written. The value is its exit code.
    Judged(u8),
    /// The command could not be executed, for example because of wrong arguments.
    Refused,
    /// A signal interrupted the process.
    Interrupted,
}

impl CommandOutcome {
    const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Judged(code) => code,
            Self::Refused => 3,
            // 128 + SIGINT is the convention of shells.
            Self::Interrupted => 130,
        }
    }
}

/// Runs the command line and returns the exit code of the process.
pub(crate) fn main() -> ExitCode {
    let ended = match Arguments::try_parse() {
        Ok(arguments) => run(arguments.command).unwrap_or_else(|why| {
            output::print_notice(&format!("error: {why}"));
            CommandOutcome::Refused
        }),
        Err(error) => {
            // Help and version are not errors and go to standard output. Ignore a failed write.
            let _ = error.print();
            if error.use_stderr() { CommandOutcome::Refused } else { CommandOutcome::Success }
        }
    };
    ExitCode::from(ended.code())
}

/// Runs a command. An error is a message for the user.
fn run(command: Command) -> Result<CommandOutcome, String> {
    match command {
        Command::Test { asked, selection, plan: true, files, output } => {
            plan(&asked, &selection, &files, &output)
        }
        Command::Test { asked, selection, plan: false, files, output } => {
            test(&asked, &selection, &files, &output)
        }
        Command::Evidence { asked, output } => evidence(&asked, output.as_deref()),
        Command::Report { file, write_baseline, output } => {
            let report = output::read_report(&file)?;
            if let Some(file) = &write_baseline {
                output::write(Some(file), &output::json(&Baseline::of(&report))?)?;
            }
            output.write(&report)?;
            Ok(CommandOutcome::Success)
        }
        Command::Diff { old, new, format } => {
            let diff = Diff::of(&output::read_report(&old)?, &output::read_report(&new)?);
            let text = match format {
                DiffFormat::Text => diff.text(),
                DiffFormat::Json => output::json(&diff)?,
            };
            output::write(None, &text)?;
            Ok(if diff.is_worse() { CommandOutcome::Judged(1) } else { CommandOutcome::Success })
        }
        Command::List { by, format } => {
            let list = match by {
                ListOrder::Check => list::list(format, checks()),
                ListOrder::Requirement => list::requirements_with_checks(format),
            };
            output::write(None, &list?)?;
            Ok(CommandOutcome::Success)
        }
    }
}

/// Collects the evidence and writes it.
fn evidence(asked: &RunArguments, output: Option<&Path>) -> Result<CommandOutcome, String> {
    let (target, settings) = asked.resolve().map_err(|error| error.to_string())?;
    let may_create = may_create(&settings);
    let runner = Runner::of(target, settings);
    output::check(output)?;
    block_on(async {
        let reported = |progress| {
            if let Progress::LeftBehind(left) = progress {
                let left = left.iter().map(|left| format!("\n  {}", output::plain(left)));
                output::print_notice(&format!("left behind:{}", left.collect::<String>()));
            }
        };
        let runner = runner.on_progress(reported);
        let collected =
            interruption::interruptible(may_create, |first| runner.evidence_until(first)).await;
        match collected {
            None | Some(Err(EvidenceError::Interrupted)) => Ok(CommandOutcome::Interrupted),
            Some(Ok(evidence)) => {
                output::write(output, &output::json(&evidence)?)?;
                Ok(CommandOutcome::Success)
            }
            Some(Err(why)) => {
                output::print_notice(&output::plain_lines(&why.to_string()));
                Ok(CommandOutcome::Judged(match why {
                    EvidenceError::LearnError(_) => 1,
                    _ => 2,
                }))
            }
        }
    })
}

/// Runs the checks and writes the report.
fn test(
    asked: &RunArguments,
    selection: &SelectionArguments,
    files: &TestFiles,
    output: &Output,
) -> Result<CommandOutcome, String> {
    let Some(settings) = settings(asked, selection)? else { return Ok(CommandOutcome::Success) };
    let baseline = files.baseline.as_deref().map(output::read_baseline).transpose()?;
    output.check()?;
    output::check(files.write_baseline.as_deref())?;
    let may_create = may_create(&settings.1);
    let runner = traced(settings, asked, files)?;
    block_on(async {
        let watch = Arc::new(ProgressLine::new());
        let watching = Arc::clone(&watch);
        let runner = runner.on_progress(move |progress| watching.show(progress));
        let tested = interruption::run(&runner, may_create).await;
        watch.end();
        let Some(mut report) = tested else { return Ok(CommandOutcome::Interrupted) };
        if let Some(baseline) = &baseline {
            report.accept(baseline);
        }
        // The baseline of an interrupted run would accept everything left untested.
        if let Some(file) = files.write_baseline.as_ref().filter(|_| !report.interrupted) {
            output::write(Some(file), &output::json(&Baseline::of(&report))?)?;
        }
        let outcome = write_report(&report, output)?;
        check_trace(&runner, files)?;
        Ok(outcome)
    })
}

/// Reads the adapter and writes the plan of a run.
fn plan(
    asked: &RunArguments,
    selection: &SelectionArguments,
    files: &TestFiles,
    output: &Output,
) -> Result<CommandOutcome, String> {
    let Some(settings) = settings(asked, selection)? else { return Ok(CommandOutcome::Success) };
    output.check_plan()?;
    let runner = traced(settings, asked, files)?;
    in_the_end(async {
        let plan = runner.plan().await;
        output.write_plan(&plan)?;
        check_trace(&runner, files)?;
        // Same exit code as a run that finds no adapter.
        Ok(if plan.modes.is_empty() { CommandOutcome::Judged(1) } else { CommandOutcome::Success })
    })
}

/// Returns the target and the settings of a run, or `None` if no check is selected.
fn settings(
    asked: &RunArguments,
    selection: &SelectionArguments,
) -> Result<Option<TargetAndSettings>, String> {
    let (target, settings) = asked.resolve().map_err(|error| error.to_string())?;
    let settings = selection.apply(settings)?;
    if settings.is_none() {
        output::print_notice("the report has no findings: there is nothing to run");
    }
    Ok(settings.map(|settings| (target, settings)))
}

/// Creates a runner. It writes a trace if the arguments name a file for it.
fn traced(
    (target, settings): TargetAndSettings,
    asked: &RunArguments,
    files: &TestFiles,
) -> Result<Runner, String> {
    let runner = Runner::of(target, settings).invocation(asked.invocation());
    let Some(file) = &files.trace else { return Ok(runner) };
    let created = output::create(file)
        .map_err(|error| format!("cannot write `{}`: {error}", file.display()))?;
    Ok(runner.trace(created))
}

/// Returns an error if the trace could not be written, as for all files that the command writes.
fn check_trace(runner: &Runner, files: &TestFiles) -> Result<(), String> {
    match (&files.trace, runner.trace_error()) {
        (Some(file), Some(error)) => Err(format!("cannot write `{}`: {error}", file.display())),
        _ => Ok(()),
    }
}

/// Returns `true` if a run with these settings may create items that outlive it.
fn may_create(settings: &Settings) -> bool {
    Category::ALL.iter().any(|it| *it != Category::Read && settings.allows(*it))
}

fn write_report(report: &Report, output: &Output) -> Result<CommandOutcome, String> {
    output.write(report)?;
    if !output.says_all() {
        output::print_notice(&output::last_lines(report));
    }
    Ok(CommandOutcome::Judged(report.exit_code()))
}

/// Runs a future that creates nothing until it ends or the process is interrupted. Then ends all child processes.
fn in_the_end(
    work: impl Future<Output = Result<CommandOutcome, String>>,
) -> Result<CommandOutcome, String> {
    block_on(async {
        tokio::select! {
            // Install the signal handlers before the adapter is started.
            biased;
            () = interrupted() => {
                progress::clear();
                output::print_notice("interrupted");
                Ok(CommandOutcome::Interrupted)
            }
            ended = work => ended,
        }
    })
}

/// Runs a future, then ends all child processes.
fn block_on(
    work: impl Future<Output = Result<CommandOutcome, String>>,
) -> Result<CommandOutcome, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start the async runtime: {error}"))?;
    runtime.block_on(work)
}
