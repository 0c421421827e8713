//! Parses the options of an attribute one by one, so that an error in one of them does not hide the others.
//!
//! darling's derived `from_list` would not be shorter: it stops at the first syntax error, rejects JSON, has no hints for
//! words such as `timeout`, and drops the spans of keys, which many rules need.
//!
//! ```text
//! category = "READ", danger(level = "destructive"), example = { "title": "Ship it" }
//! ```

use darling::FromMeta;
use darling::error::Accumulator;
use darling::util::SpannedValue;
use mcp_aql_protocol::nearest_name;
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, Ident, LitStr, MacroDelimiter, Meta, MetaList, MetaNameValue, Token};

use super::concat::evaluate;
pub(crate) use super::grammar::{Grammar, Hint};
use super::json::Json;
use super::{fault, names, no_comma, strip, text_literal};

/// The options as written, without defaults and without cross-checks.
#[derive(Debug, Default)]
pub(crate) struct Options {
    items: Vec<(Ident, Meta)>,
    json: Vec<JsonOption>,
    /// The known options that misspelled ones resemble.
    meant: Vec<&'static str>,
    /// If `true`, some option could not be parsed at all.
    unreadable: bool,
}

/// An option whose value is JSON instead of a Rust expression: `example = { "a": 1 }`.
#[derive(Debug)]
pub(crate) struct JsonOption {
    pub(crate) key: Ident,
    pub(crate) description: Option<LitStr>,
    pub(crate) json: Json,
}

enum OptionItem {
    Meta(Ident, Meta),
    Json(JsonOption),
}

impl Options {
    /// Reads the options of every attribute called `name`.
    pub(crate) fn of(
        attributes: &[Attribute],
        name: &str,
        grammar: &Grammar,
        errors: &mut Accumulator,
    ) -> Self {
        let mut options = Self::default();
        for attribute in attributes.iter().filter(|attribute| is_called(attribute, name)) {
            match &attribute.meta {
                Meta::Path(_) if grammar.bare => {}
                Meta::Path(path) => errors.push(fault(
                    path.span(),
                    format_args!(
                        "`#[{name}]` without options has no effect: write `#[{name}(…)]` or leave it out"
                    ),
                )),
                Meta::List(list) => options.read(list.tokens.clone(), grammar, errors),
                Meta::NameValue(pair) => {
                    options.unreadable = true;
                    let options = match (grammar.text, text_literal(&pair.value)) {
                        (Some(option), Some(text)) => {
                            format!("{option} = {}", text.to_token_stream())
                        }
                        _ => "…".to_owned(),
                    };
                    errors.push(fault(
                        pair.eq_token.span,
                        format_args!("`{name}` is not a list: write `#[{name}({options})]`"),
                    ));
                }
            }
        }
        options
    }

    /// Adds the options in `tokens`.
    pub(crate) fn read(
        &mut self,
        tokens: TokenStream,
        grammar: &Grammar,
        errors: &mut Accumulator,
    ) {
        let read = |input: ParseStream<'_>| {
            while !input.is_empty() {
                match item(input, grammar) {
                    Ok(item) => self.add(item, grammar, errors),
                    Err(error) => {
                        self.unreadable = true;
                        errors.push(error.into());
                        skip(input)?;
                    }
                }
                if !input.is_empty() && input.parse::<Token![,]>().is_err() {
                    errors.push(no_comma(input).into());
                    skip(input)?;
                    input.parse::<Option<Token![,]>>()?;
                }
            }
            Ok(())
        };
        if let Err(error) = read.parse2(tokens) {
            errors.push(error.into());
        }
    }

    fn add(&mut self, item: OptionItem, grammar: &Grammar, errors: &mut Accumulator) {
        let key = match &item {
            OptionItem::Meta(key, _) | OptionItem::Json(JsonOption { key, .. }) => key,
        };
        let name = key.unraw().to_string();
        if !grammar.known.contains(&name.as_str()) {
            let known = grammar.known.iter().copied();
            let near = nearest_name(&name, known.clone());
            self.meant.extend(near);
            let hint = (grammar.hint)(&name).filter(|_| near.is_none());
            self.meant.extend(hint.as_ref().and_then(|hint| hint.meant));
            let place = hint.as_ref().and_then(|hint| hint.place);
            let remedy = hint.map_or_else(|| names::suggestion(&name, known), |hint| hint.remedy);
            errors.push(match place {
                Some(place) => {
                    fault(key.span(), format_args!("`{name}` belongs on {place}: {remedy}"))
                }
                None => fault(
                    key.span(),
                    format_args!("`{}` has no option `{name}`: {remedy}", grammar.attribute),
                ),
            });
        } else if self.has(&name) && !grammar.repeatable.contains(&name.as_str()) {
            errors.push(fault(key.span(), format_args!("`{name}` is written twice: keep one")));
        } else {
            match item {
                OptionItem::Meta(key, meta) => self.items.push((key, without_group(meta))),
                OptionItem::Json(json) => self.json.push(json),
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        self.span_of(name).is_some()
    }

    /// Returns `true` if the option is certainly missing, even under a misspelled name.
    pub(crate) fn lacks(&self, name: &str) -> bool {
        !self.has(name) && !self.meant.contains(&name) && !self.unreadable
    }

    /// Returns the span of the option's value if it is an empty string.
    pub(crate) fn empty(&self, name: &str) -> Option<Span> {
        self.items.iter().find(|(key, _)| key == name).and_then(|(_, meta)| match meta {
            Meta::NameValue(pair) => {
                let text = text_literal(&pair.value)?;
                text.value().trim().is_empty().then(|| text.span())
            }
            _ => None,
        })
    }

    /// Returns the span of the option's key.
    pub(crate) fn span_of(&self, name: &str) -> Option<Span> {
        let json = self.json.iter().map(|option| &option.key);
        self.items.iter().map(|(key, _)| key).chain(json).find(|key| *key == name).map(Ident::span)
    }

    /// Returns all keys as written.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Ident> {
        self.items.iter().map(|(key, _)| key).chain(self.json.iter().map(|option| &option.key))
    }

    /// Removes and returns the option's value, if it is present and well-formed.
    pub(crate) fn take<T: FromMeta>(
        &mut self,
        name: &str,
        errors: &mut Accumulator,
    ) -> Option<SpannedValue<T>> {
        if let Some(object) = self.json.iter().find(|option| option.key == name) {
            let list = ["danger", "lifecycle", "deprecated"].contains(&name);
            let form = if list { "(…)" } else { " = …" };
            errors.push(fault(
                object.json.span,
                format_args!("`{name}` is not an object: write `{name}{form}`"),
            ));
        }
        let index = self.items.iter().position(|(key, _)| key == name)?;
        let (_, meta) = self.items.swap_remove(index);
        errors.handle(SpannedValue::from_meta(&meta))
    }

    /// Removes and returns the values of a JSON option.
    pub(crate) fn take_json(&mut self, name: &str) -> Vec<JsonOption> {
        let (taken, rest) =
            std::mem::take(&mut self.json).into_iter().partition(|option| option.key == name);
        self.json = rest;
        taken
    }

    /// Returns the remaining options.
    pub(crate) fn rest(self) -> impl Iterator<Item = (Ident, Meta)> {
        self.items.into_iter()
    }
}

/// Removes the invisible group around a literal that comes from a fragment of a macro.
///
/// The group's span is inside the macro. The literal's span is where the macro is called, so errors must use it.
fn without_group(mut meta: Meta) -> Meta {
    if let Meta::NameValue(pair) = &mut meta
        && let literal @ Expr::Lit(_) = strip(&pair.value)
    {
        pair.value = literal.clone();
    }
    meta
}

/// Returns `true` if the last segment of an attribute's path is `name`, as in `#[operation]` and
/// `#[mcp_aql::operation]`.
pub(crate) fn is_called(attribute: &Attribute, name: &str) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == name)
}

fn item(input: ParseStream<'_>, grammar: &Grammar) -> syn::Result<OptionItem> {
    if !input.peek(Ident::peek_any) {
        return Err(nameless(input, grammar));
    }
    let key = input.call(Ident::parse_any)?;
    let value_of_key = if key == "category" { "\"READ\"" } else { "…" };
    if input.peek(Token![:]) || input.peek(Token![==]) {
        let sign = input.parse::<TokenTree>()?;
        return Err(syn::Error::new(
            sign.span(),
            format!("an option is separated from its value by `=`: write `{key} = {value_of_key}`"),
        ));
    }
    if input.peek(Token![=]) {
        let eq_token: Token![=] = input.parse()?;
        if input.is_empty() || input.peek(Token![,]) {
            return Err(syn::Error::new(
                key.span(),
                format!("`{key}` has no value: write `{key} = {value_of_key}`"),
            ));
        }
        let is_json = key == "example" || input.peek(syn::token::Brace);
        let tokens = value(&input.fork())?;
        // For an unknown option, only its name is reported, and not its value.
        let is_known = grammar.known.contains(&key.unraw().to_string().as_str());
        let is_expression = starts_with_expression(&tokens);
        // A list of objects is parsed as JSON instead of an expression.
        if is_json || !is_expression && (!is_known || input.peek(syn::token::Bracket)) {
            value(input)?;
            if !is_known {
                return Ok(OptionItem::Meta(key.clone(), Meta::Path(key.into())));
            }
            let json = syn::parse2(tokens)?;
            return Ok(OptionItem::Json(JsonOption { key, description: None, json }));
        }
        let mut value = input.parse()?;
        evaluate(&mut value);
        let meta = MetaNameValue { path: key.clone().into(), eq_token, value };
        return Ok(OptionItem::Meta(key, Meta::NameValue(meta)));
    }
    if input.peek(syn::token::Paren) {
        let content;
        let paren = syn::parenthesized!(content in input);
        let tokens: TokenStream = content.parse()?;
        if key == "example" {
            let read = |input: ParseStream<'_>| described_example(key, input);
            return read.parse2(tokens).map(OptionItem::Json);
        }
        let delimiter = MacroDelimiter::Paren(paren);
        let meta = MetaList { path: key.clone().into(), delimiter, tokens };
        return Ok(OptionItem::Meta(key, Meta::List(meta)));
    }
    Ok(OptionItem::Meta(key.clone(), Meta::Path(key.into())))
}

/// Returns `true` if the tokens start with an expression.
fn starts_with_expression(tokens: &TokenStream) -> bool {
    let read = |input: ParseStream<'_>| {
        input.parse::<Expr>()?;
        input.parse::<TokenStream>()
    };
    read.parse2(tokens.clone()).is_ok()
}

/// Returns the error for a value without an option's name.
fn nameless(input: ParseStream<'_>, grammar: &Grammar) -> syn::Error {
    let text = if input.peek(LitStr) { grammar.text } else { None };
    match (input.cursor().literal(), text) {
        (Some((value, _)), Some(option)) => {
            input.error(format_args!("`{value}` has no name: write `{option} = {value}`"))
        }
        _ => {
            let first = grammar.known.first().unwrap_or(&"option");
            input.error(format_args!("an option has a name: write `{first} = …`"))
        }
    }
}

/// Parses `example("description", { … })`.
fn described_example(key: Ident, content: ParseStream<'_>) -> syn::Result<JsonOption> {
    let description = if content.peek(LitStr) {
        let description: LitStr = content.parse()?;
        let comma = content.parse::<Option<Token![,]>>()?;
        if content.is_empty() {
            return Err(syn::Error::new(
                description.span(),
                "the example has only a description: write its parameters after it, `{ … }`",
            ));
        }
        if comma.is_none() {
            return Err(no_comma(content));
        }
        Some(description)
    } else {
        None
    };
    let json = syn::parse2(value(content)?)?;
    content.parse::<Option<Token![,]>>()?;
    if !content.is_empty() {
        return Err(content.error("an example is a description and one object: leave this out"));
    }
    Ok(JsonOption { key, description, json })
}

/// Skips the tokens up to the next comma.
fn skip(input: ParseStream<'_>) -> syn::Result<()> {
    value(input).map(drop)
}

/// Returns the tokens up to the next comma.
///
/// They are parsed separately, so that syn does not report the rest of a malformed group a second time.
pub(crate) fn value(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut tokens = Vec::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        tokens.push(input.parse::<TokenTree>()?);
    }
    Ok(tokens.into_iter().collect())
}

/// Reads nested options, for example those of `deprecated(…)`. The error for another form shows `example` in the
/// parentheses.
pub(crate) fn nested(
    meta: &Meta,
    grammar: &Grammar,
    example: &str,
    errors: &mut Accumulator,
) -> Options {
    let mut options = Options::default();
    let (is_empty, text) = match meta {
        Meta::Path(_) => (true, None),
        Meta::List(list) => (list.tokens.is_empty(), None),
        Meta::NameValue(pair) => (false, text_literal(&pair.value)),
    };
    if is_empty && grammar.bare {
        return options;
    }
    let named = grammar.text.zip(text).map(|(key, text)| format!("{key} = {}", text.token()));
    match list_of(meta, named.as_deref().unwrap_or(example)) {
        Ok(list) => options.read(list.tokens.clone(), grammar, errors),
        Err(error) => errors.push(error),
    }
    options
}

/// Returns the list of `key(…)`. The error for another form, or for an empty list, shows `example` in the parentheses.
pub(crate) fn list_of<'a>(meta: &'a Meta, example: &str) -> darling::Result<&'a MetaList> {
    let key = meta.path().segments.last().map(|it| it.ident.to_string()).unwrap_or_default();
    let (span, what, unless) = match meta {
        Meta::List(list) if !list.tokens.is_empty() => return Ok(list),
        Meta::List(list) => (list.path.span(), "is empty", " or leave it out"),
        Meta::Path(path) => (path.span(), "has no value", " or leave it out"),
        Meta::NameValue(pair) => (pair.value.span(), "is not a list", ""),
    };
    Err(fault(span, format_args!("`{key}` {what}: write `{key}({example})`{unless}")))
}
