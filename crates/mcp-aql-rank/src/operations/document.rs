//! Describes an operation to the index.

/// An operation as you know it: its name, and strings that describe it.
///
/// Only the name is required. Empty strings are ignored.
///
/// ```
/// use mcp_aql_rank::operations::OperationDocument;
///
/// let document = OperationDocument::new("create_task")
///     .group("tasks", "To-do lists of a team")
///     .description("Adds a task to a list. The list must exist.")
///     .parameter("due_date", "The day on which the task must be done")
///     .value("urgent")
///     .example("Remind me to water the plants on Friday");
/// assert_eq!(document.name, "create_task");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperationDocument<'a> {
    /// The name, in any notation: `create_task`, `create-task` or `createTask`.
    pub name: &'a str,
    /// Label of the server or category to which the operation belongs. Operations with the same
    /// label form a group.
    pub group: &'a str,
    /// Description of the group.
    pub group_description: &'a str,
    /// The description. Its first sentence counts more than the rest.
    pub description: &'a str,
    /// The parameters, and the fields of parameters that are objects, each with its description.
    pub parameters: Vec<(&'a str, &'a str)>,
    /// The values that a parameter accepts, if it accepts only some.
    pub values: Vec<&'a str>,
    /// Sentences or calls that show how to use the operation.
    pub examples: Vec<&'a str>,
}

impl<'a> OperationDocument<'a> {
    /// Creates a document with only a name.
    #[must_use]
    pub fn new(name: &'a str) -> Self {
        Self { name, ..Self::default() }
    }

    /// Sets the label and the description of the [group](Self::group).
    #[must_use]
    pub fn group(mut self, label: &'a str, description: &'a str) -> Self {
        self.group = label;
        self.group_description = description;
        self
    }

    /// Sets the [description](Self::description).
    #[must_use]
    pub fn description(mut self, description: &'a str) -> Self {
        self.description = description;
        self
    }

    /// Adds a parameter or a field of one, with its description.
    #[must_use]
    pub fn parameter(mut self, name: &'a str, description: &'a str) -> Self {
        self.parameters.push((name, description));
        self
    }

    /// Adds a value that a parameter accepts.
    #[must_use]
    pub fn value(mut self, value: &'a str) -> Self {
        self.values.push(value);
        self
    }

    /// Adds an example.
    #[must_use]
    pub fn example(mut self, example: &'a str) -> Self {
        self.examples.push(example);
        self
    }
}
