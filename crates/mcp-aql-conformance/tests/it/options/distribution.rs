//! Tests the scripts for CI systems, with stand-ins for the programs that they install.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Stand-in for the runner. It writes a report and runs the command after `--`.
const RUNNER: &str = r#"#!/bin/sh
[ "$1" = test ] || exit 0
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  [ "$1" != --output ] || echo '{}' > "$2"
  shift
done
[ $# = 0 ] || shift
"$@"
"#;
/// Stand-in for npm. It installs the stand-in for the runner.
const NPM: &str = "#!/bin/sh\nmkdir -p \"$3/node_modules/.bin\"\n\
                   cp \"$STAND_IN\" \"$3/node_modules/.bin/mcp-aql-conformance\"\n";

fn program(folder: &Path, name: &str, text: &str) {
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns the multi-line script of the job.
fn gitlab_script(job: &str) -> String {
    let lines = job.lines().skip_while(|line| *line != "    - |").skip(1);
    let lines = lines.take_while(|line| line.starts_with("      "));
    lines.map(|line| format!("{}\n", line.trim_start())).collect()
}

#[test]
fn ci_scripts_run_whole_commands() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for (name, text) in
        [("mcp-aql-conformance", RUNNER), ("npm", NPM), ("node", "#!/bin/sh\necho 2\n")]
    {
        program(path, name, text);
    }
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let job = crate_folder.join("dist/gitlab/conformance.yml");
    program(path, "gitlab", &gitlab_script(&std::fs::read_to_string(job).unwrap()));
    let github = crate_folder.join("dist/github/run.sh");
    let gitlab = path.join("gitlab");
    let written = path.join("written");
    for (command, expected) in [
        ("WORD=said sh -c 'echo $WORD $PWD'", format!("said {}\n", path.display())),
        ("cd / && pwd", "/\n".to_owned()),
        ("echo one; echo two", "one\ntwo\n".to_owned()),
    ] {
        for script in [&github, &gitlab] {
            let command = format!("({command}) > {}", written.display());
            let mut shell = Command::new("bash");
            let search = std::env::var("PATH").unwrap();
            shell
                .arg(script)
                .arg(path.join("out"))
                .current_dir(path)
                .env("PATH", format!("{}:{search}", path.display()))
                .env("STAND_IN", path.join("mcp-aql-conformance"))
                .envs([("COMMAND", &command), ("CONFORMANCE_COMMAND", &command)])
                .envs([("LEVEL", "2"), ("CONFORMANCE_LEVEL", "2"), ("ACCEPT_WARNINGS", "false")])
                .envs(
                    ["ALLOW", "CONFIG", "URL", "VERSION", "CONFORMANCE_ALLOW"]
                        .map(|name| (name, "")),
                )
                .env_remove("GITHUB_OUTPUT")
                .env_remove("GITHUB_STEP_SUMMARY");
            let output = shell.output().unwrap();
            let said = super::text(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{}: {said}", script.display());
            assert_eq!(
                std::fs::read_to_string(&written).unwrap(),
                expected,
                "{}",
                script.display()
            );
            std::fs::remove_file(&written).unwrap();
        }
    }
}
