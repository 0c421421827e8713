//! Finds the directories of a program's state and configuration below the user's home directory.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The purpose of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Data that must outlive the process.
    State,
    /// The user's configuration files.
    Config,
}

/// An operating system's convention for these directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum System {
    /// The XDG base directory specification of freedesktop.org.
    Unix,
    Mac,
    Windows,
}

const CURRENT_SYSTEM: System = if cfg!(windows) {
    System::Windows
} else if cfg!(target_vendor = "apple") {
    System::Mac
} else {
    System::Unix
};

/// Returns the user's directory with this purpose for the program called `name`. Returns the reason if it is unknown.
///
/// ```text
/// Linux     ~/.local/state/mcp-aql/<name>                 ~/.config/mcp-aql/<name>
/// macOS     ~/Library/Application Support/mcp-aql/<name>
/// Windows   %LOCALAPPDATA%\mcp-aql\<name>                 %APPDATA%\mcp-aql\<name>
/// ```
pub fn of(purpose: Purpose, name: &str) -> Result<PathBuf, String> {
    find(CURRENT_SYSTEM, purpose, name, |variable| std::env::var_os(variable), std::env::home_dir())
}

fn find(
    system: System,
    purpose: Purpose,
    name: &str,
    variable: impl Fn(&str) -> Option<OsString>,
    home: Option<PathBuf>,
) -> Result<PathBuf, String> {
    let mut parts = Path::new(name).components();
    let is_plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None)
        if part == name && !name.contains(['/', '\\', ':', '\0']));
    if !is_plain {
        return Err(format!("{name:?} cannot be the name of a folder"));
    }
    // The XDG specification requires that relative paths are ignored.
    let folder = |variable_name| {
        variable(variable_name).map(PathBuf::from).filter(|path| path.is_absolute())
    };
    let home = home.filter(|path| path.is_absolute());
    let (what, variable, below_home) = match (system, purpose) {
        (System::Unix, Purpose::State) => ("state", Some("XDG_STATE_HOME"), ".local/state"),
        (System::Unix, Purpose::Config) => ("configuration", Some("XDG_CONFIG_HOME"), ".config"),
        (System::Mac, Purpose::State) => ("state", None, "Library/Application Support"),
        (System::Mac, Purpose::Config) => ("configuration", None, "Library/Application Support"),
        (System::Windows, Purpose::State) => ("state", Some("LOCALAPPDATA"), "AppData\\Local"),
        (System::Windows, Purpose::Config) => {
            ("configuration", Some("APPDATA"), "AppData\\Roaming")
        }
    };
    let base = variable.and_then(folder).or_else(|| Some(home?.join(below_home)));
    let base = base.ok_or_else(|| {
        let home = if system == System::Windows { "USERPROFILE" } else { "HOME" };
        let missing = match variable {
            Some(variable) => format!("neither {variable} nor {home} is an absolute path"),
            None => format!("{home} is not an absolute path"),
        };
        format!("cannot find the directory for {what}: {missing}")
    })?;
    Ok(base.join("mcp-aql").join(name))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn found(
        system: System,
        purpose: Purpose,
        variables: &[(&str, &str)],
        home: Option<&str>,
    ) -> Option<String> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        };
        let found = find(system, purpose, "tasks", variable, home.map(PathBuf::from)).ok()?;
        found.to_str().map(str::to_owned)
    }

    #[test]
    fn each_system_has_its_directories() {
        // REQ-SES-04
        use Purpose::{Config, State};
        use System::{Mac, Unix, Windows};
        let home = Some("/home/ada");
        let (state, config) = (&[("XDG_STATE_HOME", "/state")], &[("XDG_CONFIG_HOME", "/config")]);
        let (local, roaming) = (&[("LOCALAPPDATA", "/local")], &[("APPDATA", "/roaming")]);
        let relative = &[("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", ".")];
        let library = "/home/ada/Library/Application Support/mcp-aql/tasks";
        for (system, purpose, variables, home, directory) in [
            (Unix, State, &state[..], home, "/state/mcp-aql/tasks"),
            (Unix, State, state, None, "/state/mcp-aql/tasks"),
            (Unix, State, &[], home, "/home/ada/.local/state/mcp-aql/tasks"),
            (Unix, State, relative, home, "/home/ada/.local/state/mcp-aql/tasks"),
            (Unix, Config, config, None, "/config/mcp-aql/tasks"),
            (Unix, Config, state, home, "/home/ada/.config/mcp-aql/tasks"),
            (Unix, Config, relative, home, "/home/ada/.config/mcp-aql/tasks"),
            (Mac, State, state, home, library),
            (Mac, Config, config, home, library),
            (Windows, State, local, None, "/local/mcp-aql/tasks"),
            (Windows, Config, roaming, None, "/roaming/mcp-aql/tasks"),
        ] {
            let found = found(system, purpose, variables, home);
            assert_eq!(found.as_deref(), Some(directory), "{system:?} {purpose:?}");
        }
    }

    #[test]
    fn a_missing_home_is_reported() {
        for system in [System::Unix, System::Mac, System::Windows] {
            for purpose in [Purpose::State, Purpose::Config] {
                let variables = [("XDG_STATE_HOME", ""), ("XDG_CONFIG_HOME", "here")];
                assert_eq!(found(system, purpose, &variables, Some("")), None);
                let error = find(system, purpose, "tasks", |_| None, None).unwrap_err();
                assert!(error.contains("an absolute path"), "{error}");
            }
        }
    }

    #[test]
    fn a_name_is_one_folder() {
        let home = || Some("/home/ada".into());
        for name in ["", ".", "..", "a/b", "/a", "a/", "a\\b", "C:", "a\0"] {
            let found = find(CURRENT_SYSTEM, Purpose::State, name, |_| None, home());
            assert!(found.is_err(), "{name:?}: {found:?}");
        }
        assert!(find(CURRENT_SYSTEM, Purpose::State, "Ada's täsks 2", |_| None, home()).is_ok());
    }
}
