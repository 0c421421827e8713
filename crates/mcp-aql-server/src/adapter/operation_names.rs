//! Formats lists of operation names for tool descriptions.

use std::fmt::Write as _;

/// Minimum number of names with a common verb to be written as a group.
const MIN_GROUP_SIZE: usize = 3;

/// Joins names with commas, up to `most` of them. Appends the number of remaining ones.
pub(super) fn listed(names: &[&str], most: usize) -> String {
    let shown: Vec<_> = names.iter().take(most).copied().collect();
    let mut text = shown.join(", ");
    if let Some(more) = names.len().checked_sub(most).filter(|more| *more > 0) {
        let _ = write!(text, ", and {more} more: introspect");
    }
    text
}

/// Shortens lists of names by grouping them by verb.
///
/// ```text
/// create_task, create_note, create_event  →  create_{task, note, event}
/// delete_task, delete_note, delete_event  →  delete_{same as create_}
/// ```
#[derive(Default)]
pub(super) struct VerbGroups<'a> {
    said: Vec<(&'a str, Vec<&'a str>)>,
}

impl<'a> VerbGroups<'a> {
    /// Formats the first `most` names.
    pub(super) fn line(&mut self, names: &[&'a str], most: usize) -> String {
        let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
        for name in names.iter().take(most) {
            let (verb, thing) = name.split_once('_').unwrap_or((name, ""));
            match groups.iter_mut().find(|(known, _)| *known == verb) {
                Some((_, things)) => things.push(thing),
                None => groups.push((verb, vec![thing])),
            }
        }
        let parts: Vec<_> =
            groups.into_iter().map(|(verb, things)| self.part(verb, things)).collect();
        let mut text = parts.join(", ");
        if let Some(more) = names.len().checked_sub(most).filter(|more| *more > 0) {
            let _ = write!(text, ", and {more} more");
        }
        text
    }

    fn part(&mut self, verb: &'a str, things: Vec<&'a str>) -> String {
        if things.len() < MIN_GROUP_SIZE {
            let name = |thing: &&str| match *thing {
                "" => verb.to_owned(),
                thing => format!("{verb}_{thing}"),
            };
            return things.iter().map(name).collect::<Vec<_>>().join(", ");
        }
        if let Some((before, _)) = self.said.iter().find(|(_, said)| *said == things) {
            return format!("{verb}_{{same as {before}_}}");
        }
        let text = format!("{verb}_{{{}}}", things.join(", "));
        self.said.push((verb, things));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut_and_say_so() {
        // REQ-MCP-08
        assert_eq!(listed(&["a", "b"], 2), "a, b");
        assert_eq!(listed(&["a", "b", "c", "d"], 2), "a, b, and 2 more: introspect");
    }

    #[test]
    fn a_verb_of_many_names_is_said_once() {
        // REQ-MCP-02
        let names = ["introspect", "get_a", "list_as", "get_b", "list_bs", "get_c_d", "ping"];
        let line = |names: &[&str], most| VerbGroups::default().line(names, most);
        assert_eq!(line(&names, 9), "introspect, get_{a, b, c_d}, list_as, list_bs, ping");
        assert_eq!(line(&names, 3), "introspect, get_a, list_as, and 4 more");
        let mut groups = VerbGroups::default();
        assert_eq!(groups.line(&["add_a", "add_b", "add_c"], 9), "add_{a, b, c}");
        assert_eq!(groups.line(&["drop_a", "drop_b", "drop_c"], 9), "drop_{same as add_}");
        assert_eq!(groups.line(&["drop_a", "drop_c", "drop_b"], 9), "drop_{a, c, b}");
    }
}
