//! Tests of configuration files and of the environment.

use std::time::Duration;

use super::test_util::{apply, malformed, project, shown};
use super::*;
use crate::router::EndpointMode;

#[test]
fn environment_beats_file_beats_builder() {
    // REQ-MCP-17, REQ-EPT-10, REQ-EPT-11
    let mut settings = Settings { tool_prefix: "builder_".to_owned(), ..Settings::default() };
    let mut problems = Vec::new();
    apply(
        &mut settings,
        "tool_prefix = 'file_'\nendpoint_mode = 'single'\n[limits]\nmax_nesting_depth = 16\nresult_budget = 9000",
        &mut problems,
    );
    assert_eq!((settings.tool_prefix.as_str(), settings.mode), ("file_", EndpointMode::Single));
    let limits = settings.limits;
    assert_eq!((limits.max_nesting_depth, limits.result_budget), (16, 9_000));
    let variable = |name: &str| match name {
        "MCP_AQL_TOOL_PREFIX" => Some("env_".to_owned()),
        "MCP_AQL_ENDPOINT_MODE" => Some("all".to_owned()),
        "MCP_AQL_RESULT_BUDGET" => Some("8000".to_owned()),
        _ => None,
    };
    apply_environment(&mut settings, variable, &mut problems);
    assert_eq!((settings.tool_prefix.as_str(), settings.mode), ("env_", EndpointMode::All));
    assert_eq!(settings.limits.result_budget, 8_000);
    assert_eq!(problems, Vec::<String>::new());
    let variable = |name: &str| (name == "MCP_AQL_RESULT_BUDGET").then(|| "64K".to_owned());
    apply_environment(&mut settings, variable, &mut problems);
    let variable = |name: &str| (name == "MCP_AQL_RESULT_BUDGET").then(|| "64".to_owned());
    apply_environment(&mut settings, variable, &mut problems);
    assert_eq!(
        problems,
        [
            "`MCP_AQL_RESULT_BUDGET`: write a number of bytes, 1024 to 104857600",
            "`MCP_AQL_RESULT_BUDGET`: `limits.result_budget` is 64: choose 1024 to 104857600",
        ]
    );
    assert_eq!(settings.limits.result_budget, 8_000);
}

#[test]
fn the_environment_sets_the_address_and_the_format_of_the_log() {
    // REQ-MCP-17
    let mut settings = Settings::default();
    let mut problems = Vec::new();
    apply(&mut settings, "log_format = 'json'\n[http]\naddress = '127.0.0.1:1'", &mut problems);
    let variable = |name: &str| match name {
        "MCP_AQL_HTTP_ADDRESS" => Some("[::1]:2".to_owned()),
        "MCP_AQL_LOG_FORMAT" => Some("text".to_owned()),
        _ => None,
    };
    apply_environment(&mut settings, variable, &mut problems);
    assert_eq!(settings.http.address, Some("[::1]:2".parse().unwrap()));
    assert_eq!((settings.log_format.as_str(), &problems), ("text", &Vec::new()));
    apply_environment(&mut settings, |_| Some("single".to_owned()), &mut problems);
    let named = |name: &str| problems.iter().any(|problem| problem.contains(name));
    assert!(named("`MCP_AQL_HTTP_ADDRESS`") && named("`MCP_AQL_LOG_FORMAT`"), "{problems:?}");
}

#[test]
fn every_number_has_its_range() {
    use crate::config::key::ValueKind;
    for declaration in declarations() {
        let (ValueKind::Number(_), Some((low, high))) =
            (declaration.key.kind, declaration.key.range)
        else {
            continue;
        };
        let path = declaration.key.path;
        let (table, name) = path.rsplit_once('.').unwrap_or(("", path));
        let header = if table.is_empty() { String::new() } else { format!("[{table}]") };
        let mut problems_of = |value: u64| {
            let mut problems = Vec::new();
            let text = format!("{header}\n{name} = {value}");
            apply(&mut Settings::default(), &text, &mut problems);
            problems
        };
        let valid = [low, high.min(i64::MAX as u64)];
        assert_eq!(valid.map(&mut problems_of), [const { Vec::<String>::new() }; 2], "{path}");
        let invalid = [low.checked_sub(1), high.checked_add(1)].into_iter().flatten();
        for value in invalid {
            let problem =
                format!("configuration file `mcp-aql.toml`: `{path}` is {value}: choose ");
            let problems = problems_of(value);
            assert!(matches!(&problems[..], [one] if one.starts_with(&problem)), "{problems:?}");
        }
    }
}

/// Settings with which a file in the working directory could weaken protections, and their keys in the notice.
const LOOSE: &[(&str, &str)] = &[
    // Permission rules of clients refer to tool names.
    ("endpoint_mode = 'single'", "endpoint_mode"),
    ("endpoint_mode = 'unknown'", "endpoint_mode"),
    ("endpoint_profile = 'other'", "endpoint_profile"),
    ("tool_prefix = 'a_'", "tool_prefix"),
    ("strict_mode = false", "strict_mode"),
    ("drain_timeout_seconds = 0", "drain_timeout_seconds"),
    ("[http]\naddress = '0.0.0.0:80'", "http.address"),
    ("audit_log = '/home/ada/.bashrc'", "audit_log"),
    ("log_format = 'json'", "log_format"),
    ("[limits]\nmax_request_size = 99000000", "limits.max_request_size"),
    ("[limits]\nmax_response_size = 99000000", "limits.max_response_size"),
    ("[limits]\nmax_string_length = 99000000", "limits.max_string_length"),
    ("[limits]\nmax_array_elements = 99000", "limits.max_array_elements"),
    ("[limits]\nmax_nesting_depth = 99", "limits.max_nesting_depth"),
    ("[limits]\nmax_batch_operations = 999", "limits.max_batch_operations"),
    ("[limits]\nresult_budget = 99000", "limits.result_budget"),
    ("[executions]\nwait_seconds = 99", "executions.wait_seconds"),
    ("[executions]\ngrace_seconds = 99", "executions.grace_seconds"),
    ("[executions]\nlease_seconds = 99", "executions.lease_seconds"),
    ("[executions]\nkeep_seconds = 1", "executions.keep_seconds"),
    ("[executions]\nkeep_bytes = 1", "executions.keep_bytes"),
    ("[executions]\nkeep_bytes_per_caller = 1", "executions.keep_bytes_per_caller"),
    ("[executions]\nmax_running = 99999", "executions.max_running"),
    ("[executions]\nmax_running_per_session = 99999", "executions.max_running_per_session"),
    ("[gatekeeper]\nconfirmation_ttl_seconds = 200", "gatekeeper.confirmation_ttl_seconds"),
    ("[gatekeeper]\nclock_skew_tolerance_seconds = 300", "gatekeeper.clock_skew_tolerance_seconds"),
    ("[gatekeeper]\nconfirmations_per_minute = 9999", "gatekeeper.confirmations_per_minute"),
    (
        "[gatekeeper]\nconfirmations_per_minute_without_session = 9999",
        "gatekeeper.confirmations_per_minute_without_session",
    ),
    ("[gatekeeper.trust]\nlevel = 'certified'", "gatekeeper.trust"),
    (
        "[[gatekeeper.policies]]\noperation = 'delete_*'\npermission = 'allow'",
        "gatekeeper.policies: allow delete_*",
    ),
    ("[rate_limits]\nrequests_per_minute = 61", "limit global:minute"),
    (
        "[[api_limits]]\nscope = 'global'\nlimit = 60\nwindow = 'minute'\nburst = 9",
        "limit global:minute",
    ),
    ("[[quotas]]\nmetric = 'cost_per_month'\nhard_stop = 11", "quota cost_per_month"),
    ("[cost]\nper_call = 0.0", "cost"),
];

/// Settings with the strictest value everywhere.
fn strict() -> Settings {
    let mut settings = Settings::default();
    settings.gate.trust = Some(crate::gatekeeper::Trust::new(crate::TrustLevel::Validated));
    {
        use crate::rate_limits::{ApiLimit, CostModel, LimitsExtension, Metric, Quota, RateLimits};
        settings.extend(Box::new(LimitsExtension(Some(
            RateLimits::new()
                .limit(ApiLimit::global(60).burst(8))
                .quota(Quota::new(Metric::CostPerMonth).hard_stop(10))
                .cost(CostModel::PerCall(0.1)),
        ))));
    }
    settings
}

#[test]
fn a_file_in_the_working_directory_loosens_nothing_and_is_named() {
    // REQ-GATE-03
    for (text, key) in LOOSE {
        let mut settings = strict();
        assert_eq!(project(&mut settings, text), Vec::<String>::new());
        let mut expected = strict();
        project(&mut expected, "");
        assert_eq!(shown(&settings), shown(&expected), "{text}");
        let notice = settings.notices.last().unwrap();
        assert!(notice.contains(&format!("`{key}`")), "{key}: {notice}");
        // The operator's own file can change all of these settings.
        let (mut settings, mut problems) = (strict(), Vec::new());
        apply(&mut settings, text, &mut problems);
        assert!(shown(&settings) != shown(&strict()) || !problems.is_empty(), "{text}");
    }
}

#[test]
fn a_file_in_the_working_directory_makes_stricter_what_it_can() {
    // REQ-GATE-03
    for text in [
        "[limits]\nmax_request_size = 65536",
        "[executions]\nmax_running = 1",
        "[gatekeeper]\nconfirmation_ttl_seconds = 60\nclock_skew_tolerance_seconds = 0",
        "[gatekeeper]\nconfirmations_per_minute = 5",
        "[gatekeeper]\nconfirmations_per_minute_without_session = 5",
        "[gatekeeper.trust]\nlevel = 'untested'",
        "[[gatekeeper.policies]]\noperation = 'a'\npermission = 'deny'",
        "[[gatekeeper.policies]]\noperation = 'a'\npermission = 'confirm'",
        "[rate_limits]\nrequests_per_minute = 5",
        "[[api_limits]]\nscope = 'endpoint'\nendpoint = 'read'\nlimit = 60\nwindow = 'hour'",
        "[[quotas]]\nmetric = 'cost_per_month'\nwarn = 5\nhard_stop = 9",
    ] {
        let mut settings = strict();
        assert_eq!(project(&mut settings, text), Vec::<String>::new());
        assert_ne!(shown(&settings), shown(&strict()), "{text}");
        let notice = settings.notices.last().unwrap();
        assert!(notice.contains("applied"), "{text}: {notice}");
    }
    let mut settings = Settings { strict: false, ..Settings::default() };
    let forms = "strict_mode = true\nstructured_content = true";
    assert_eq!(project(&mut settings, forms), Vec::<String>::new());
    assert!(settings.strict && settings.structured_content);
}

#[test]
fn a_file_sets_the_size_of_descriptions() {
    let mut settings = Settings { description_budget: Some(100), ..Settings::default() };
    let mut problems = Vec::new();
    apply(&mut settings, "tool_prefix = 'a_'", &mut problems);
    assert_eq!(settings.description_budget, Some(100));
    apply(&mut settings, "description_budget = 0", &mut problems);
    assert_eq!(settings.description_budget, Some(0));
    assert_eq!(project(&mut settings, "description_budget = 900"), Vec::<String>::new());
    assert_eq!(settings.description_budget, Some(900));
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn the_users_file_comes_before_that_of_the_working_directory() {
    // REQ-EPT-10, REQ-GATE-03
    let folder = std::env::temp_dir().join(crate::vocab::new_id("config"));
    std::fs::create_dir_all(folder.join("user")).unwrap();
    let (user, project) = (folder.join("user").join(FILE_NAME), folder.join(FILE_NAME));
    let found = |user: &Path, project: &Path| {
        let (mut settings, mut problems) = (Settings::default(), Vec::new());
        find(&mut settings, Some(user), project, &mut problems);
        (settings, problems)
    };
    let (settings, problems) = found(&user, &project);
    assert_eq!((settings.notices.len(), problems.len()), (0, 0));
    let limits = |depth: u8| format!("strict_mode = false\n[limits]\nmax_nesting_depth = {depth}");
    std::fs::write(&user, limits(20)).unwrap();
    std::fs::write(&project, limits(30)).unwrap();
    let (settings, problems) = found(&user, &project);
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!((settings.strict, settings.limits.max_nesting_depth), (false, 20));
    // If the adapter is started in the user's configuration directory, the file is the user's own.
    let (settings, _) = found(&user, &user);
    assert!(!settings.notices.iter().any(|it| it.contains("working directory")));
    std::fs::write(&project, "colour = 'red'").unwrap();
    let (_, problems) = found(&user, &project);
    assert!(problems[0].contains("colour"), "{problems:?}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_file_sets_how_executions_are_kept() {
    let mut settings = Settings::default();
    apply(
        &mut settings,
        "[executions]\nwait_seconds = 1\ngrace_seconds = 2\nlease_seconds = 3\nkeep_seconds = 90\n\
         keep_bytes = 8000000\nkeep_bytes_per_caller = 4000000\nmax_running = 4\nmax_running_per_session = 3",
        &mut Vec::new(),
    );
    let expected = crate::ExecutionOptions::new()
        .wait(Duration::from_secs(1))
        .grace(Duration::from_secs(2))
        .lease(Duration::from_secs(3))
        .keep(Duration::from_secs(90))
        .keep_bytes(8_000_000)
        .keep_bytes_per_caller(4_000_000)
        .max_running(4)
        .max_running_per_session(3);
    assert_eq!(settings.executions, expected);
    assert!(malformed("[executions]\nwait = 1", Settings::default()).contains("`wait`"));
}

#[test]
fn the_file_sets_how_long_a_server_waits_at_its_end() {
    let mut settings = Settings::default();
    assert_eq!(settings.drain_timeout, Duration::from_secs(30));
    apply(&mut settings, "drain_timeout_seconds = 90", &mut Vec::new());
    assert_eq!(settings.drain_timeout, Duration::from_secs(90));
    let build = |seconds| {
        let builder = crate::adapter::Adapter::builder("tasks").without_config();
        builder
            .drain_timeout(Duration::from_secs(seconds))
            .build()
            .map(|it| it.settings().drain_timeout)
    };
    assert_eq!(build(3_600).unwrap(), Duration::from_secs(3_600));
    let refused = build(3_601).unwrap_err().to_string();
    assert!(refused.contains("`drain_timeout_seconds` is 3601: choose 0 to 3600"), "{refused}");
}

#[test]
fn a_name_that_is_nearly_right_is_told_with_the_right_one() {
    for (text, near) in [
        ("endpoint_mod = 'single'", "`endpoint_mode`"),
        ("[limits]\nmax_request_sice = 1", "`max_request_size`"),
        ("[executions]\nwait_second = 1", "`wait_seconds`"),
        ("[gatekeper]", "`gatekeeper`"),
        ("[[gatekeeper.policies]]\noperatoin = 'x'", "`operation`"),
        ("[[gatekeeper.policies]]\noperation = 'x'\npermission = 'confirn'", "`confirm`"),
        (
            "[[gatekeeper.policies]]\noperation = 'x'\npermission = 'deny'\n\
             when = [{ parameter = 'a', equal = 1 }]",
            "`equals`",
        ),
    ] {
        let told = malformed(text, Settings::default());
        assert!(told.ends_with(&format!(". Did you mean {near}?")), "{told}");
    }
    let told = malformed("colour = 'red'", Settings::default());
    assert!(!told.contains("Did you mean"), "{told}");
}

#[test]
fn faults_are_told_and_nothing_is_ignored() {
    let mut settings = Settings::default();
    let mut problems = Vec::new();
    let variable = |name: &str| (name == "MCP_AQL_ENDPOINT_MODE").then(|| "both".to_owned());
    apply_environment(&mut settings, variable, &mut problems);
    assert!(problems[0].contains("`both` is not known"), "{problems:?}");
    assert!(malformed("endpoint_mod = 'single'", Settings::default()).contains("`endpoint_mod`"));
}

#[test]
fn files_that_are_no_settings_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let problem = |path: &Path| {
        let mut problems = Vec::new();
        apply_trusted(&mut Settings::default(), path, &mut problems);
        problems.join("\n")
    };
    let file = folder.path().join(FILE_NAME);
    assert!(problem(folder.path()).ends_with("it is not a regular file"));
    std::fs::write(&file, " ".repeat(1 << 20)).unwrap();
    assert_eq!(problem(&file), "");
    std::fs::write(&file, " ".repeat((1 << 20) + 1)).unwrap();
    assert!(problem(&file).ends_with("it is larger than 1 MiB"));
    #[cfg(unix)]
    for special in ["/dev/zero", "/dev/null", "/dev/stdin"] {
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(special, &file).unwrap();
        assert!(problem(&file).ends_with("it is not a regular file"), "{special}");
    }
}

#[test]
fn a_malformed_file_does_not_act_on_the_terminal() {
    // Escapes in TOML strings can put any character into an error message.
    for text in [
        "\"x\\u001b]0;pwn\\u0007\" = 1",
        "[[gatekeeper.policies]]\noperation = \"\\u202e\"\npermission = 'x'",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE_NAME);
        std::fs::write(&file, text).unwrap();
        let error = crate::Adapter::builder("a").config_file(&file).build().unwrap_err();
        let shown = error.to_string();
        assert!(
            !shown.chars().any(|each| each != '\n' && mcp_aql_text::is_hidden(each)),
            "{shown:?}"
        );
    }
}

#[test]
fn relative_paths_of_a_file_belong_to_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE_NAME);
    std::fs::create_dir(folder.path().join("logs")).unwrap();
    let build = |path: &str| {
        std::fs::write(&file, format!("audit_log = '{path}'")).unwrap();
        crate::Adapter::builder("a").config_file(&file).build().map(drop)
    };
    for path in ["audit.jsonl", "logs/audit.jsonl", "./logs/../second.jsonl"] {
        assert_eq!(build(path), Ok(()));
        assert!(folder.path().join(path).is_file(), "{path}");
    }
    #[cfg(unix)]
    {
        let target = folder.path().join("bashrc");
        std::fs::write(&target, "").unwrap();
        std::os::unix::fs::symlink(&target, folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("logs"), folder.path().join("inner"))
            .unwrap();
        for path in ["link", "inner/audit.jsonl", "./logs/../link"] {
            let error = build(path).unwrap_err().to_string();
            assert!(error.contains("is a symbolic link, and links are not followed"), "{error}");
        }
        assert_eq!(build(target.with_file_name("link").to_str().unwrap()), Ok(()));
    }
}

#[test]
fn nobody_reads_the_reasons_of_a_project() {
    let text = "[[gatekeeper.policies]]\noperation = 'delete_*'\npermission = 'deny'\nreason = \"a\\u001bb\"";
    let mut settings = Settings::default();
    assert_eq!(project(&mut settings, text), [""; 0]);
    let shown_by_project = shown(&settings);
    assert!(shown_by_project.contains("delete_*") && shown_by_project.contains("reason: None"));
    let notice = settings.notices.concat();
    assert!(notice.contains("`gatekeeper.policies: reason for delete_*`"), "{notice}");
    let mut settings = Settings::default();
    apply(&mut settings, text, &mut Vec::new());
    assert!(shown(&settings).contains("a<U+001B>b"));
}
