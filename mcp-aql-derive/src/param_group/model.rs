//! The model of `#[derive(ParamGroup)]`.

use darling::error::Accumulator;
use syn::{Data, DeriveInput, Fields, Ident, Path};

use crate::operation::duplicate_name;
use crate::parameter::{ParamAttr, Parameter};
use crate::support::doc::Doc;
use crate::support::options::{Grammar, Hint, Options};
use crate::support::values::CratePath;
use crate::support::{fault, shape, ty};

const GRAMMAR: Grammar = Grammar {
    attribute: "param_group",
    known: &["crate"],
    hint: |_| Hint::new("write options of a parameter above its field, `#[param(…)]`"),
    ..Grammar::EMPTY
};

/// A struct whose fields are parameters.
pub(crate) struct GroupModel<'a> {
    pub(crate) runtime: Option<Path>,
    /// The names of the fields, in the order of the parameters.
    pub(crate) fields: Vec<&'a Ident>,
    pub(crate) parameters: Vec<Parameter<'a>>,
}

impl<'a> GroupModel<'a> {
    pub(crate) fn read(item: &'a DeriveInput, errors: &mut Accumulator) -> Self {
        let mut options = Options::of(&item.attrs, "param_group", &GRAMMAR, errors);
        let runtime = options.take::<CratePath>("crate", errors).map(|it| it.into_inner().0);
        let mut model = Self { runtime, fields: Vec::new(), parameters: Vec::new() };
        match &item.data {
            Data::Struct(syn::DataStruct { fields: Fields::Named(fields), .. }) => {
                for field in &fields.named {
                    model.add(field, errors);
                }
            }
            other => {
                let ident = &item.ident;
                errors.push(fault(
                    ident.span(),
                    format_args!(
                        "`{ident}` is {}, not a struct with named fields: write `struct {ident} {{ … }}`",
                        shape(other)
                    ),
                ));
            }
        }
        model
    }

    fn add(&mut self, field: &'a syn::Field, errors: &mut Accumulator) {
        let Some(ident) = &field.ident else { return };
        let attr = ParamAttr::read(&field.attrs, errors);
        attr.no_claim(errors);
        if let Some(span) = attr.group {
            errors.push(fault(
                span,
                "a group cannot contain another group: write its parameters as fields",
            ));
        }
        let ty = ty::peel(&field.ty);
        self.fields.push(ident);
        self.parameters.push(Parameter::new(attr, Doc::of(&field.attrs), ident, ty));
    }

    /// Rejects two parameters with the same name.
    pub(crate) fn names_differ(&self, errors: &mut Accumulator) {
        let mut seen = Vec::new();
        for parameter in &self.parameters {
            let name = parameter.name.text.as_str();
            if seen.contains(&name) {
                errors.push(duplicate_name("parameters are", name, parameter.name.span));
            }
            seen.push(name);
        }
    }
}
