//! Stand-in for process groups on systems other than Unix. Only the process itself is ended, by
//! `kill_on_drop`.

use std::io;

use tokio::process::{Child, Command};

#[derive(Debug)]
pub(super) struct ProcessGroup {}

impl ProcessGroup {
    pub(super) fn spawn(mut command: Command, _mark: Option<&str>) -> io::Result<(Child, Self)> {
        Ok((command.spawn()?, Self {}))
    }

    pub(super) const fn find_descendants(&mut self) {}

    pub(super) const fn terminate(&self) {}

    pub(super) const fn kill(&mut self) {}
}
