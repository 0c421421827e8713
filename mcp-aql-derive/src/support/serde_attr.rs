//! Parses the serde attributes that change the JSON form, because updates and queries use its names.

use mcp_aql_protocol::is_public_name;
use proc_macro2::Span;
use syn::ext::IdentExt as _;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned as _;
use syn::{Attribute, ExprPath, Ident, LitStr, Token};

use super::{Name, fault, names};

/// The serde options of a struct or of a field.
#[derive(Default)]
pub(crate) struct SerdeAttr {
    pub(crate) rename: Option<LitStr>,
    pub(crate) rename_all: Option<LitStr>,
    pub(crate) skip: bool,
    pub(crate) skip_deserializing: bool,
    pub(crate) skip_serializing: bool,
    /// The option `default`, and the function that it names.
    pub(crate) default: Option<Option<ExprPath>>,
    /// If `true`, the field can be absent from the JSON form (`skip_serializing_if`).
    pub(crate) omitted: bool,
    /// The span of a name that differs between reading and writing.
    pub(crate) two_names: Option<Span>,
    pub(crate) flatten: Option<Span>,
    /// The span of an additional name under which a field is read.
    pub(crate) alias: Option<Span>,
    /// The option that changes how a field or the struct is read.
    pub(crate) own_form: Option<(String, Span)>,
    /// The option that changes how it is written.
    pub(crate) written_form: Option<(String, Span)>,
}

impl SerdeAttr {
    /// Parses the known options. serde itself reports unknown and malformed ones, whereas a parser derived with darling
    /// would reject them.
    pub(crate) fn read(attrs: &[Attribute]) -> Self {
        let mut serde = Self::default();
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
            let _ = attr.parse_nested_meta(|meta| serde.option(&meta));
        }
        serde
    }

    fn option(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let Some(name) = meta.path.get_ident().map(ToString::to_string) else {
            return skip_value(meta);
        };
        match name.as_str() {
            "rename" => self.rename = self.name(meta)?,
            "rename_all" => self.rename_all = self.name(meta)?,
            "skip" => self.skip = true,
            "skip_deserializing" => self.skip_deserializing = true,
            "skip_serializing" => self.skip_serializing = true,
            "skip_serializing_if" => {
                self.omitted = true;
                skip_value(meta)?;
            }
            "default" => {
                let path =
                    meta.input.peek(Token![=]).then(|| meta.value()?.parse::<LitStr>()?.parse());
                self.default = Some(path.transpose()?);
            }
            "flatten" => self.flatten = Some(meta.path.span()),
            "alias" => {
                self.alias = Some(meta.path.span());
                skip_value(meta)?;
            }
            "transparent" | "with" => {
                self.own_form = Some((name.clone(), meta.path.span()));
                self.written_form = Some((name, meta.path.span()));
                skip_value(meta)?;
            }
            "from" | "try_from" | "deserialize_with" => {
                self.own_form = Some((name, meta.path.span()));
                skip_value(meta)?;
            }
            "into" | "tag" | "untagged" | "serialize_with" => {
                self.written_form = Some((name, meta.path.span()));
                skip_value(meta)?;
            }
            _ => skip_value(meta)?,
        }
        Ok(())
    }

    /// Parses `= "name"`, or the `deserialize` name of `(serialize = "name", deserialize = "name")`.
    fn name(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<Option<LitStr>> {
        if !meta.input.peek(syn::token::Paren) {
            return meta.value()?.parse().map(Some);
        }
        let (mut reads, mut writes) = (None, None);
        meta.parse_nested_meta(|inner| {
            let name: LitStr = inner.value()?.parse()?;
            if inner.path.is_ident("serialize") {
                writes = Some(name);
            } else {
                reads = Some(name);
            }
            Ok(())
        })?;
        if reads.as_ref().map(LitStr::value) != writes.as_ref().map(LitStr::value) {
            self.two_names = Some(meta.path.span());
        }
        Ok(reads)
    }
}

/// Returns the name of a field in JSON, with the span at which it is written.
pub(crate) fn wire_name(ident: &Ident, field: &SerdeAttr, container: &SerdeAttr) -> Name {
    if let Some(name) = &field.rename {
        return Name { text: name.value(), span: name.span(), set: true };
    }
    let plain = ident.unraw().to_string();
    let renamed = container.rename_all.as_ref().and_then(|it| rename(&plain, &it.value()));
    Name { text: renamed.unwrap_or(plain), span: ident.span(), set: false }
}

/// Returns the error for a struct whose fields are not the members of its JSON form.
pub(crate) fn own_form_fault(item: &Ident, option: &str, span: Span) -> darling::Error {
    fault(
        span,
        format_args!(
            "`#[serde({option})]` changes the JSON form of `{item}`: leave out the option or the derive",
        ),
    )
}

/// Returns the error for a field with different names for reading and writing.
pub(crate) fn two_names_fault(field: &Ident, span: Span) -> darling::Error {
    fault(
        span,
        format_args!(
            "`{field}` is read and written under two names: write one, `#[serde(rename = \"…\")]`",
        ),
    )
}

/// Returns the error for a flattened field. `who` describes the user of the name, for example "a query".
pub(crate) fn flatten_fault(field: &Ident, who: &str, span: Span) -> darling::Error {
    fault(
        span,
        format_args!(
            "`{field}` is flattened, so {who} cannot name it: leave `#[serde(flatten)]` out, or list its fields here",
        ),
    )
}

/// Returns the error for two fields with the same name in JSON.
pub(crate) fn same_name_fault(field: &Ident, other: &Ident, name: &Name) -> darling::Error {
    fault(
        name.span,
        format_args!(
            "`{field}` and `{other}` are both called `{}` in JSON: rename one of them",
            name.text,
        ),
    )
}

/// Returns an error if the name does not match `^[a-z][a-z0-9_]*$` (MCP-AQL §4.3). `unless` adds an alternative to the
/// message.
pub(crate) fn name_fault(ident: &Ident, name: &Name, unless: &str) -> Option<darling::Error> {
    let text = name.text.as_str();
    let what = if text.starts_with('_') {
        "starts with `_`"
    } else if !is_public_name(text) {
        "is not snake_case"
    } else {
        return None;
    };
    let ident = ident.unraw().to_string();
    Some(if !name.set && ident != text {
        let snake = names::to_snake_case(&ident);
        fault(
            name.span,
            format_args!(
                "field `{ident}` is renamed to `{text}` by `rename_all`, which {what}: write `#[serde(rename = \"{snake}\")]` above it (MCP-AQL §4.3)",
            ),
        )
    } else {
        let snake = names::to_snake_case(text);
        fault(
            name.span,
            format_args!(
                "field `{text}` {what}: write `#[serde(rename = \"{snake}\")]`{unless} (MCP-AQL §4.3)",
            ),
        )
    })
}

fn skip_value(meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
    if meta.input.peek(syn::Token![=]) {
        meta.value()?.parse::<syn::Expr>()?;
    } else if meta.input.peek(syn::token::Paren) {
        let inside;
        syn::parenthesized!(inside in meta.input);
        inside.parse::<proc_macro2::TokenStream>()?;
    }
    Ok(())
}

/// Applies `#[serde(rename_all = "…")]` to a field's name. Returns `None` for a case that serde does not know.
fn rename(field: &str, case: &str) -> Option<String> {
    let pascal = || -> String {
        field
            .split('_')
            .flat_map(|word| {
                let (first, rest) = (word.chars().take(1), word.chars().skip(1));
                first.flat_map(char::to_uppercase).chain(rest)
            })
            .collect()
    };
    Some(match case {
        "lowercase" | "snake_case" => field.to_owned(),
        "UPPERCASE" | "SCREAMING_SNAKE_CASE" => field.to_ascii_uppercase(),
        "PascalCase" => pascal(),
        "camelCase" => {
            let pascal = pascal();
            let (first, rest) = (pascal.chars().take(1), pascal.chars().skip(1));
            first.map(|first| first.to_ascii_lowercase()).chain(rest).collect()
        }
        "kebab-case" => field.replace('_', "-"),
        "SCREAMING-KEBAB-CASE" => field.to_ascii_uppercase().replace('_', "-"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::rename;

    #[test]
    fn names_are_renamed_as_serde_does() {
        for (case, expected) in [
            ("lowercase", "due_date"),
            ("UPPERCASE", "DUE_DATE"),
            ("PascalCase", "DueDate"),
            ("camelCase", "dueDate"),
            ("snake_case", "due_date"),
            ("SCREAMING_SNAKE_CASE", "DUE_DATE"),
            ("kebab-case", "due-date"),
            ("SCREAMING-KEBAB-CASE", "DUE-DATE"),
        ] {
            assert_eq!(rename("due_date", case).as_deref(), Some(expected), "{case}");
        }
        assert_eq!(rename("due_date", "Snake Case"), None);
    }
}
