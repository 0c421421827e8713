//! Where the state of a program belongs on this system.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use crate::store::StoreError;

/// How a system says where state belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum System {
    /// As freedesktop.org has it.
    Unix,
    Mac,
    Windows,
}

const HERE: System = if cfg!(windows) {
    System::Windows
} else if cfg!(target_vendor = "apple") {
    System::Mac
} else {
    System::Unix
};

/// The user's file for the program of this name.
pub(super) fn of_user(name: &str) -> Result<PathBuf, StoreError> {
    place(HERE, name, |variable| std::env::var_os(variable), std::env::home_dir())
}

fn place(
    system: System,
    name: &str,
    variable: impl Fn(&str) -> Option<OsString>,
    home: Option<PathBuf>,
) -> Result<PathBuf, StoreError> {
    let mut parts = Path::new(name).components();
    let is_plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None)
        if part == name && !name.contains(['/', '\\', ':', '\0']));
    if !is_plain {
        return Err(StoreError::failed(format!("{name:?} cannot be the name of a folder")));
    }
    // A path that is not absolute is to be ignored.
    let folder = |variable_name| {
        variable(variable_name).map(PathBuf::from).filter(|path| path.is_absolute())
    };
    let home = home.filter(|path| path.is_absolute());
    let (base, missing) = match system {
        System::Unix => {
            let base = folder("XDG_STATE_HOME").or_else(|| Some(home?.join(".local/state")));
            (base, "neither XDG_STATE_HOME nor HOME is an absolute path")
        }
        System::Mac => {
            let base = home.map(|home| home.join("Library/Application Support"));
            (base, "HOME is not an absolute path")
        }
        System::Windows => {
            let base = folder("LOCALAPPDATA").or_else(|| Some(home?.join("AppData\\Local")));
            (base, "neither LOCALAPPDATA nor USERPROFILE is an absolute path")
        }
    };
    let base = base.ok_or_else(|| {
        StoreError::failed(format!(
            "nothing says where state is kept: {missing}; name a file instead"
        ))
    })?;
    Ok(base.join("mcp-aql").join(name).join("state.db"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn found(system: System, variables: &[(&str, &str)], home: Option<&str>) -> Option<String> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        };
        let place = place(system, "tasks", variable, home.map(PathBuf::from)).ok()?;
        place.to_str().map(str::to_owned)
    }

    #[test]
    fn each_system_has_its_place() {
        let home = Some("/home/ada");
        let state = [("XDG_STATE_HOME", "/state")];
        let there = |path: &str| Some(path.to_owned());
        let file = "mcp-aql/tasks/state.db";
        assert_eq!(found(System::Unix, &state, home), there(&format!("/state/{file}")));
        assert_eq!(found(System::Unix, &state, None), there(&format!("/state/{file}")));
        let default = there(&format!("/home/ada/.local/state/{file}"));
        assert_eq!(found(System::Unix, &[], home), default);
        assert_eq!(found(System::Unix, &[("XDG_STATE_HOME", "state")], home), default);
        let mac = format!("/home/ada/Library/Application Support/{file}");
        assert_eq!(found(System::Mac, &state, home), there(&mac));
        let local = [("LOCALAPPDATA", "/local")];
        assert_eq!(found(System::Windows, &local, None), there(&format!("/local/{file}")));
    }

    #[test]
    fn a_missing_home_is_told() {
        for system in [System::Unix, System::Mac, System::Windows] {
            assert_eq!(found(system, &[("XDG_STATE_HOME", "")], Some("")), None);
            let error = place(system, "tasks", |_| None, None).unwrap_err().to_string();
            assert!(error.contains("is an absolute path") || error.contains("is not"), "{error}");
            assert!(error.contains("name a file instead"), "{error}");
        }
    }

    #[test]
    fn a_name_is_one_folder() {
        for name in ["", ".", "..", "a/b", "/a", "a/", "a\\b", "C:", "a\0"] {
            let place = place(HERE, name, |_| None, Some("/home/ada".into()));
            assert!(place.is_err(), "{name:?}: {place:?}");
        }
        assert!(place(HERE, "Ada's täsks 2", |_| None, Some("/home/ada".into())).is_ok());
    }
}
