//! Tests of the safety loop's settings in configuration files and environment variables.

use mcp_aql_core::internal::adapter::Settings;
use mcp_aql_core::internal::adapter::config_test_util::{
    apply, apply_environment, extended, keys_of, malformed, notices, project, shown,
};
use mcp_aql_core::internal::extension::Extension as _;

use crate::human_channel::MemoryChannel;
use crate::safety_loop::{LoopMode, SafetyLoop};

#[test]
fn the_loops_mode_comes_from_either_variable() {
    // REQ-LOOP-15
    for names in [&["MCPAQL_SAFETY_LOOP"][..], &["MCP_AQL_SAFETY_LOOP"]] {
        let mut settings = extended(SafetyLoop::new());
        let mut problems = Vec::new();
        apply(&mut settings, "[safety_loop]\nmode = 'monitoring'", &mut problems);
        let variable = |name: &str| names.contains(&name).then(|| "logging".to_owned());
        apply_environment(&mut settings, variable, &mut problems);
        assert_eq!(problems, Vec::<String>::new());
        let told = format!("{settings:?}");
        assert!(told.contains(&format!("mode: {:?}", LoopMode::Logging)), "{told}");
    }
    let mut problems = Vec::new();
    apply(&mut Settings::default(), "[safety_loop]\nmode = 'logging'", &mut problems);
    assert!(problems[0].contains("add `.safety_loop(…)`"), "{problems:?}");
    let mut settings = extended(SafetyLoop::new());
    apply_environment(&mut settings, |_| Some("enforcing".to_owned()), &mut Vec::new());
    let mut problems = Vec::new();
    let variable = |name: &str| (name == "MCPAQL_SAFETY_LOOP").then(|| "off".to_owned());
    apply_environment(&mut settings, variable, &mut problems);
    assert!(problems[0].contains("`MCPAQL_SAFETY_LOOP`: `off`"), "{problems:?}");
}

#[test]
fn each_key_is_listed() {
    // REQ-MCP-17
    let settings = SafetyLoop::new().agent("ada", |ada| ada.deny(["rm *"]));
    let listed: Vec<_> = settings.listed().into_iter().map(|setting| setting.key).collect();
    for key in keys_of("safety_loop", extended(SafetyLoop::new())) {
        let key = format!("safety_loop.{key}");
        let is_listed = |it: &String| *it == key || it.starts_with(&format!("{key}."));
        assert!(listed.iter().any(is_listed), "{key}: {listed:?}");
    }
    assert!(listed.contains(&"safety_loop.agents.ada.deny".to_owned()), "{listed:?}");
    for variable in settings.variables() {
        assert!(listed.contains(&variable.1.to_owned()), "{variable:?}");
    }
}

/// All settings that a file could loosen, with the key that the notice must name.
const LOOSE: &[(&str, &str)] = &[
    ("[safety_loop]\nmode = 'disabled'", "safety_loop.mode"),
    ("[safety_loop]\nchallenge_timeout_seconds = 900", "safety_loop.challenge_timeout_seconds"),
    ("[safety_loop]\nmax_autonomous_steps = 51", "safety_loop.max_autonomous_steps"),
    ("[safety_loop]\nrisk_tolerance = 'aggressive'", "safety_loop.risk_tolerance"),
    ("[safety_loop]\nauto_approve = ['rm *']", "safety_loop.auto_approve"),
    ("[safety_loop]\nrequires_approval = ['*']", "safety_loop.requires_approval"),
    (
        "[safety_loop.agents.ada]\nrisk_tolerance = 'aggressive'",
        "safety_loop.agents.ada.risk_tolerance",
    ),
];

/// Settings in which everything is restricted.
fn strict() -> Settings {
    extended(SafetyLoop::new().deny(["drop_*"]).agent("ada", |ada| ada.deny(["rm *"])))
}

#[test]
fn a_file_in_the_working_directory_loosens_nothing_and_is_named() {
    // REQ-GATE-03
    for (text, key) in LOOSE {
        let mut settings = strict();
        assert_eq!(project(&mut settings, text), Vec::<String>::new());
        // If a file configures one agent, the settings of all agents are stored explicitly.
        let mut expected = strict();
        let agents = if text.contains("agents") { "[safety_loop.agents.ada]" } else { "" };
        project(&mut expected, &format!("[safety_loop]\n{agents}"));
        assert_eq!(shown(&settings), shown(&expected), "{text}");
        let notice = notices(&settings).last().unwrap();
        assert!(notice.contains(&format!("`{key}`")), "{key}: {notice}");
        // The operator's own file can loosen everything.
        let mut settings = strict();
        apply(&mut settings, text, &mut Vec::new());
        assert_ne!(shown(&settings), shown(&strict()), "{text}");
    }
}

#[test]
fn a_file_in_the_working_directory_makes_stricter_what_it_can() {
    // REQ-GATE-03
    for text in [
        "[safety_loop]\nmax_autonomous_steps = 3\nrisk_tolerance = 'conservative'\ndeny = ['x']",
        "[safety_loop.agents.ada]\ndeny = ['y']",
    ] {
        let mut settings = strict();
        assert_eq!(project(&mut settings, text), Vec::<String>::new());
        assert_ne!(shown(&settings), shown(&strict()), "{text}");
        let notice = notices(&settings).last().unwrap();
        assert!(notice.contains("applied"), "{text}: {notice}");
    }
}

#[test]
fn patterns_of_a_project_are_added_for_every_agent() {
    // REQ-AUT-17
    let people = MemoryChannel::default();
    let given = SafetyLoop::new()
        .channel(people)
        .deny(["drop_*"])
        .agent("ada", |ada| ada.deny(["rm *"]).max_autonomous_steps(5));
    let mut settings = extended(given);
    let text = "[safety_loop]\ndeny = ['wipe_*']\nmax_autonomous_steps = 9\n\
                [safety_loop.agents.bob]\ndeny = ['send_*']";
    assert_eq!(project(&mut settings, text), Vec::<String>::new());
    let text = format!("{settings:?}");
    for agent in [
        r#""ada": AgentSettings { max_autonomous_steps: Some(5), risk_tolerance: Some(Moderate), deny: Some(["rm *", "wipe_*"])"#,
        r#""bob": AgentSettings { max_autonomous_steps: Some(9), risk_tolerance: Some(Moderate), deny: Some(["drop_*", "wipe_*", "send_*"])"#,
    ] {
        assert!(text.contains(agent), "{agent}: {text}");
    }
}

#[test]
fn a_variable_that_switches_the_loop_off_is_named() {
    // REQ-LOOP-15
    for (before, word, named) in [
        (LoopMode::Enforcing, "disabled", true),
        (LoopMode::Enforcing, "enforcing", false),
        (LoopMode::Logging, "monitoring", false),
    ] {
        let mut settings = extended(SafetyLoop::new().mode(before));
        let variable = |name: &str| (name == "MCPAQL_SAFETY_LOOP").then(|| word.to_owned());
        apply_environment(&mut settings, variable, &mut Vec::new());
        assert_eq!(
            notices(&settings).len(),
            usize::from(named),
            "{word}: {:?}",
            notices(&settings)
        );
    }
}

#[test]
fn a_name_that_is_nearly_right_is_told_with_the_right_one() {
    for (text, near) in [
        ("[safety_loop]\nrequire_approval = []", "`requires_approval`"),
        ("[safety_loop.agents.a]\nmax_autonomous_step = 1", "`max_autonomous_steps`"),
    ] {
        let told = malformed(text, extended(SafetyLoop::new()));
        assert!(told.ends_with(&format!(". Did you mean {near}?")), "{told}");
    }
}
