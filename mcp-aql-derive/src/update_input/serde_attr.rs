use proc_macro2::Span;
use syn::ext::IdentExt as _;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned as _;
use syn::{Attribute, Ident, LitStr};

use crate::support::Name;

/// What serde's attributes say about the JSON form, as far as it concerns updates.
#[derive(Debug, Default)]
pub(super) struct SerdeAttr {
    pub(super) rename: Option<LitStr>,
    pub(super) rename_all: Option<LitStr>,
    pub(super) skip: bool,
    pub(super) skip_deserializing: bool,
    /// Names that differ between reading and writing.
    pub(super) two_names: Option<Span>,
    pub(super) flatten: Option<Span>,
    /// The option by which a field, or the whole struct, has a JSON form of its own.
    pub(super) own_form: Option<(String, Span)>,
}

impl SerdeAttr {
    /// Reads what it knows. What it does not know, and what is malformed, is serde's to judge.
    pub(super) fn read(attrs: &[Attribute]) -> Self {
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
            "flatten" => self.flatten = Some(meta.path.span()),
            "transparent" | "from" | "try_from" | "with" | "deserialize_with" => {
                self.own_form = Some((name, meta.path.span()));
                skip_value(meta)?;
            }
            _ => skip_value(meta)?,
        }
        Ok(())
    }

    /// `= "name"`, or `(serialize = "name", deserialize = "name")` of which reading counts.
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

/// What a field is called on the wire, and where that is written.
pub(super) fn wire_name(ident: &Ident, field: &SerdeAttr, container: &SerdeAttr) -> Name {
    if let Some(name) = &field.rename {
        return Name { text: name.value(), span: name.span(), set: true };
    }
    let plain = ident.unraw().to_string();
    let renamed = container.rename_all.as_ref().and_then(|it| rename(&plain, &it.value()));
    Name { text: renamed.unwrap_or(plain), span: ident.span(), set: false }
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

/// What `#[serde(rename_all = "…")]` makes of a field's name; `None` for a case that serde has not.
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
