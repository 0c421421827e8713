//! Selects the servers for a query.

use super::{Entry, Inner, Query, QueryError};
use crate::names::{join_names, quoted_input};

impl Inner {
    /// Returns the servers named in the query. If it names none, returns those of all matching
    /// rules, or all servers if no rule matches. Disabled servers are never chosen.
    pub(super) fn choose(&self, query: &Query, words: &str) -> Result<Vec<usize>, QueryError> {
        if !query.servers.is_empty() {
            let mut chosen =
                query.servers.iter().map(|name| self.find(name)).collect::<Result<Vec<_>, _>>()?;
            chosen.sort_unstable();
            return Ok(chosen);
        }
        Ok(self.config.chosen(words))
    }

    fn find(&self, name: &str) -> Result<usize, QueryError> {
        let found = self.servers.iter().enumerate().find(|(_, entry)| entry.name == name);
        if let Some((place, Entry { server: Some(_), .. })) = found {
            return Ok(place);
        }
        let wrong = if found.is_some() { "is disabled" } else { "is not configured" };
        let on = self.servers.iter().filter(|entry| entry.server.is_some());
        let names: Vec<_> = on.map(|entry| entry.name.as_str()).collect();
        let reason =
            format!("'{}' {wrong}; the servers are: {}", quoted_input(name), join_names(&names));
        Err(QueryError::UnknownServer { name: quoted_input(name), reason })
    }
}
