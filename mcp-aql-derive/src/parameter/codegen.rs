//! Generates a parameter's table entry and the decoding of its value.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::attr::{Constraints, DefaultValue};
use super::model::Parameter;
use crate::support::json::{Number, Value};
use crate::support::ty::Kind;
use crate::support::values::Deprecated;
use crate::support::variant_ident;

impl Parameter<'_> {
    /// Generates the table entry of the parameter: a constructor and its builder calls.
    ///
    /// ```text
    /// required::<u8, fn(u8)>("priority", "1 is most urgent.").default(…).constraints(&[…])
    /// ```
    pub(crate) fn spec(&self) -> TokenStream {
        self.spec_with(self.default.as_ref())
    }

    /// Like [`spec`](Self::spec), with another default.
    pub(crate) fn spec_with(&self, default: Option<&DefaultValue>) -> TokenStream {
        let Self { ty, name, .. } = self;
        let name = &name.text;
        // With this span, rustc reports errors about the function type at the parameter's type.
        let function = quote_spanned!(ty.span()=> fn(#ty));
        let description = &self.doc;
        let constructor = if self.optional { quote!(optional) } else { quote!(required) };
        let default = default.map(|default| {
            let default = self.default_spec(default);
            quote!(.default(#default))
        });
        let marks = self.marks();
        quote! {
            __rt::#constructor::<#ty, #function>(#name, #description) #default #marks
        }
    }

    /// Generates the builder calls shared by parameters and the fields of a resource, for example
    /// `.constraints(…).sensitive().deprecated(…)`.
    pub(crate) fn marks(&self) -> TokenStream {
        let constraints = self.constraints.tokens(&self.kind);
        let constraints =
            (!constraints.is_empty()).then(|| quote!(.constraints(&[#(#constraints),*])));
        let sensitive = self.sensitive.then(|| quote!(.sensitive()));
        let deprecated = self.deprecated.as_ref().map(Deprecated::tokens);
        quote!(#constraints #sensitive #deprecated)
    }

    fn default_spec(&self, default: &DefaultValue) -> TokenStream {
        let ty = self.ty;
        match default {
            DefaultValue::Literal(json) => {
                let text = json.to_string();
                quote!(__rt::DefaultSpec::Json(#text))
            }
            DefaultValue::Expr(expr) => quote! {
                __rt::DefaultSpec::Expr(|| {
                    let __default: #ty = #expr;
                    __rt::serde_json::to_value(__default)
                })
            },
        }
    }

    /// Generates the decoding of the value from `__call`.
    pub(crate) fn take(&self) -> TokenStream {
        let ty = self.ty;
        if self.optional {
            quote!(__call.optional::<#ty>()?)
        } else {
            quote!(__call.param::<#ty>()?)
        }
    }
}

impl Constraints {
    fn tokens(&self, kind: &Kind) -> Vec<TokenStream> {
        let root = quote!(__rt::Constraint);
        let bound = |number| bound(number, kind);
        let mut tokens = Vec::new();
        if let Some(it) = &self.minimum {
            let bound = bound(it.0);
            tokens.push(quote!(#root::Minimum(#bound)));
        }
        if let Some(it) = &self.maximum {
            let bound = bound(it.0);
            tokens.push(quote!(#root::Maximum(#bound)));
        }
        if let Some(it) = &self.min_length {
            let length = it.0;
            tokens.push(quote!(#root::MinLength(#length)));
        }
        if let Some(it) = &self.max_length {
            let length = it.0;
            tokens.push(quote!(#root::MaxLength(#length)));
        }
        if let Some(it) = &self.pattern {
            let pattern = &it.0;
            tokens.push(quote!(#root::Pattern(#pattern)));
        }
        if let Some(it) = &self.format {
            let format = variant_ident(**it);
            tokens.push(quote!(#root::Format(__rt::Format::#format)));
        }
        if let Some(it) = &self.choices {
            let values = it.0.iter().filter_map(|choice| {
                let value = quote!(__rt::EnumValue);
                Some(match &choice.value {
                    Value::Text(text) => quote!(#value::Str(#text)),
                    Value::Bool(flag) => quote!(#value::Bool(#flag)),
                    Value::Number(number) => {
                        let bound = bound(*number);
                        quote!(#value::Number(#bound))
                    }
                    Value::Null | Value::List(_) | Value::Object(_) => return None,
                })
            });
            tokens.push(quote!(#root::Enum(&[#(#values),*])));
        }
        if let Some(it) = &self.min_items {
            let length = it.0;
            tokens.push(quote!(#root::MinItems(#length)));
        }
        if let Some(it) = &self.max_items {
            let length = it.0;
            tokens.push(quote!(#root::MaxItems(#length)));
        }
        tokens
    }
}

/// Generates a bound as an integer or a float, depending on the parameter's type.
fn bound(number: Number, kind: &Kind) -> TokenStream {
    match (number, kind) {
        (Number::Int(value), kind) if *kind != Kind::Float => {
            let value = proc_macro2::Literal::i128_unsuffixed(value);
            quote!(__rt::Bound::Int(#value))
        }
        (number, _) => {
            let value = proc_macro2::Literal::f64_unsuffixed(number.as_f64());
            quote!(__rt::Bound::Float(#value))
        }
    }
}

impl Deprecated {
    /// Generates `.deprecated(Deprecation::new()…)`.
    pub(crate) fn tokens(&self) -> TokenStream {
        let replacement =
            self.replacement.as_ref().map(|name| &name.0).map(|name| quote!(.replacement(#name)));
        let date = self.removal_date.as_ref().map(|date| quote!(.removal_date(#date)));
        quote!(.deprecated(__rt::Deprecation::new() #replacement #date))
    }
}
