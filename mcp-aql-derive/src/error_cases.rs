//! Compares the compile errors of the macros with the stored `.stderr` files.
//!
//! Each case in `tests/errors` is expanded in this process, without rustc. The errors are written in the format of
//! rustc. Update the stored files as you do for trybuild:
//!
//! ```text
//! TRYBUILD=overwrite cargo test -p mcp-aql-derive --all-features --lib -- error_cases
//! ```

use std::path::{Path, PathBuf};
use std::{env, fs};

use proc_macro2::{Group, LineColumn, Span, TokenStream, TokenTree, extra};
use quote::{ToTokens, quote};
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, File, Item, LitStr, Meta, Token};

use crate::{
    computed_fields, create_input, operation, operation_error, param_group, resource, update_input,
};

/// The folder of the cases, relative to the package. It contains one folder per macro.
const CASES: &str = "tests/errors";

#[test]
fn macros_report_the_stored_errors() {
    // REQ-RQ-04, REQ-RQ-10, REQ-CLS-02, REQ-CLS-06, REQ-CLS-08, REQ-CLS-10, REQ-UPD-01, REQ-UPD-06
    let overwrite = env::var_os("TRYBUILD").is_some_and(|value| value == "overwrite");
    let mut failures = Vec::new();
    for folder in entries(Path::new(CASES)) {
        let files = entries(&folder);
        let (cases, others): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|file| file.extension().is_some_and(|it| it == "rs"));
        if cases.is_empty() {
            failures.push(format!("{}: there is no case", folder.display()));
        }
        failures.extend(cases.iter().filter_map(|case| check(case, overwrite).err()));
        failures.extend(
            others
                .iter()
                .filter(|file| !cases.contains(&file.with_extension("rs")))
                .map(|file| format!("{}: there is no case of this name", file.display())),
        );
    }
    assert!(failures.is_empty(), "{} cases failed:\n\n{}", failures.len(), failures.join("\n\n"));
}

/// Returns the sorted paths in a folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder can be read");
    let mut paths: Vec<_> =
        entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    paths
}

/// Compares the errors of a case with its `.stderr`. With `overwrite`, stores them instead.
fn check(case: &Path, overwrite: bool) -> Result<(), String> {
    let name = case.display();
    let source = fs::read_to_string(case).map_err(|error| format!("{name}: {error}"))?;
    let errors = render(case, &source).map_err(|problem| format!("{name}: {problem}"))?;
    let file = case.with_extension("stderr");
    let stored = fs::read_to_string(&file).unwrap_or_default();
    if stored == errors {
        return Ok(());
    }
    if overwrite {
        return fs::write(&file, errors).map_err(|error| format!("{name}: {error}"));
    }
    Err(format!("{name}: `-` is stored, `+` is new\n{}", difference(&stored, &errors)))
}

/// Returns the lines in which two strings differ, without the equal lines at the start and the end.
fn difference(stored: &str, new: &str) -> String {
    let (stored, new): (Vec<_>, Vec<_>) = (stored.lines().collect(), new.lines().collect());
    let same = |(one, other): &(&&str, &&str)| one == other;
    let start = stored.iter().zip(&new).take_while(same).count();
    let rest = stored.iter().skip(start).rev().zip(new.iter().skip(start).rev());
    let end = rest.take_while(same).count();
    let differing = |lines: &[&str], sign: char| -> Vec<String> {
        let count = lines.len() - start - end;
        lines.iter().skip(start).take(count).map(|line| format!("{sign} {line}")).collect()
    };
    [differing(&stored, '-'), differing(&new, '+')].concat().join("\n")
}

/// Returns the errors of a case in the format of rustc.
fn render(case: &Path, source: &str) -> Result<String, String> {
    let tokens: TokenStream = source.parse().map_err(|error| format!("{error}"))?;
    let mut file: File = syn::parse2(isolate_spans(tokens)).map_err(|error| format!("{error}"))?;
    let mut expansions = Expansions::default();
    expansions.visit_file_mut(&mut file);
    let mut rendered: Vec<String> = Vec::new();
    for error in expansions.errors {
        let error = error.render(case, source)?;
        // rustc reports equal errors once.
        if !rendered.contains(&error) {
            rendered.push(error);
        }
    }
    extra::invalidate_current_thread_spans();
    match rendered.is_empty() {
        true => Err("the macros report no error".to_owned()),
        false => Ok(rendered.join("\n")),
    }
}

/// Gives each token a span that cannot be joined with another one, as in rustc.
///
/// Without this, proc-macro2 would join the spans of a type's tokens, and errors would point to the whole type instead
/// of its first token.
fn isolate_spans(tokens: TokenStream) -> TokenStream {
    let mut separated = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(mut token) = tokens.next() {
        let (start, mut end) = (token.span().start(), token.span().end());
        match (&token, tokens.peek()) {
            (TokenTree::Group(group), _) => {
                token = Group::new(group.delimiter(), isolate_spans(group.stream())).into();
            }
            // rustc's span of a lifetime's apostrophe covers the whole lifetime.
            (TokenTree::Punct(mark), Some(name)) if mark.as_char() == '\'' => {
                end = name.span().end();
            }
            _ => {}
        }
        token.set_span(isolated_span(start, end));
        separated.push(token);
    }
    separated.into_iter().collect()
}

/// Returns a span at the given position, in a source file of its own that contains only this token.
fn isolated_span(start: LineColumn, end: LineColumn) -> Span {
    let token = match end.line - start.line {
        0 => "x".repeat(end.column - start.column),
        lines => format!("\"{}{}\"", "\n".repeat(lines), " ".repeat(end.column - 1)),
    };
    let before = "\n".repeat(start.line - 1) + &" ".repeat(start.column);
    let tokens: TokenStream = (before + &token).parse().expect("a name or a text is a token");
    tokens.into_iter().next().expect("there is one token").span()
}

/// Expands the items of a case, and collects the errors.
#[derive(Default)]
struct Expansions {
    errors: Vec<CompileError>,
}

impl Expansions {
    /// Expands each macro of this crate on an item. Returns `true` if the item has one.
    fn expand(&mut self, item: &Item) -> bool {
        let parser = |input: syn::parse::ParseStream<'_>| {
            Ok((Attribute::parse_outer(input)?, input.parse::<TokenStream>()?))
        };
        let (attributes, rest) =
            parser.parse2(item.to_token_stream()).expect("an item starts with its attributes");
        let mut expanded = false;
        for (index, attribute) in attributes.iter().enumerate() {
            let others = attributes.iter().enumerate().filter(|(other, _)| *other != index);
            let others = others.map(|(_, attribute)| attribute);
            let item = quote!(#(#others)* #rest);
            for expansion in expansions(attribute, &item) {
                CompileError::collect(expansion, &mut self.errors);
                expanded = true;
            }
        }
        expanded
    }
}

impl VisitMut for Expansions {
    fn visit_item_mut(&mut self, item: &mut Item) {
        if !self.expand(item) {
            visit_mut::visit_item_mut(self, item);
        }
    }
}

/// Expands the macros of this crate that an attribute of an item names, for example both derives of
/// `#[derive(Debug, ParamGroup, UpdateInput)]`.
fn expansions(attribute: &Attribute, item: &TokenStream) -> Vec<TokenStream> {
    let options = match &attribute.meta {
        Meta::List(list) => list.tokens.clone(),
        Meta::Path(_) | Meta::NameValue(_) => TokenStream::new(),
    };
    let Some(name) = attribute.path().segments.last() else { return Vec::new() };
    let derived = |derive: &syn::Path| {
        let item = item.clone();
        match derive.segments.last()?.ident.to_string().as_str() {
            "ParamGroup" => Some(param_group::expand(item)),
            "OperationError" => Some(operation_error::expand(item)),
            "UpdateInput" => Some(update_input::expand(item)),
            "CreateInput" => Some(create_input::expand(item)),
            "Resource" => Some(resource::expand(item)),
            _ => None,
        }
    };
    match name.ident.to_string().as_str() {
        "operation" => vec![operation::expand(options, item.clone())],
        "operations" => vec![operation::expand_block(options, item.clone())],
        "computed_fields" => vec![computed_fields::expand(options, item.clone())],
        "derive" => {
            let parser = Punctuated::<syn::Path, Token![,]>::parse_terminated;
            let derives = parser.parse2(options).expect("`derive` has a list of paths");
            derives.iter().filter_map(derived).collect()
        }
        _ => Vec::new(),
    }
}

/// A `compile_error!` call in an expansion.
struct CompileError {
    message: String,
    start: Span,
    end: Span,
}

impl CompileError {
    /// Adds the errors in an expansion: `::core::compile_error! { "…" }`.
    fn collect(tokens: TokenStream, errors: &mut Vec<Self>) {
        let mut start = None;
        for token in tokens {
            match token {
                TokenTree::Ident(name) if name == "compile_error" => start = Some(name.span()),
                TokenTree::Punct(mark) if mark.as_char() == '!' => {}
                TokenTree::Group(group) => match start.take() {
                    None => Self::collect(group.stream(), errors),
                    Some(start) => {
                        let message: LitStr =
                            syn::parse2(group.stream()).expect("an error is a text");
                        errors.push(Self { message: message.value(), start, end: group.span() });
                    }
                },
                _ => start = None,
            }
        }
    }

    /// Returns the error in the format of rustc.
    fn render(&self, case: &Path, source: &str) -> Result<String, String> {
        let (message, start, end) = (&self.message, self.start.start(), self.end.end());
        if self.start.byte_range().is_empty() {
            return Err(format!(
                "move the case to `tests/ui`: an attribute is the location of: {message}"
            ));
        }
        if start.line != end.line {
            return Err(format!(
                "move the case to `tests/ui`: several lines are the location of: {message}"
            ));
        }
        let line = source.lines().nth(start.line - 1).expect("a token is in a line");
        let number = start.line.to_string();
        let margin = " ".repeat(number.len());
        let (case, column) = (case.display(), start.column + 1);
        let (before, marked) = (" ".repeat(start.column), "^".repeat(end.column - start.column));
        Ok(format!(
            "error: {message}\n{margin}--> {case}:{number}:{column}\n{margin} |\n{number} | {line}\n{margin} | {before}{marked}\n"
        ))
    }
}
