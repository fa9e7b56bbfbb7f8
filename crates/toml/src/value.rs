//! From the parser's values to serde. Texts are copied, never lent, so that one set of functions serves every type.
use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_spanned::de::{SpannedDeserializer, is_spanned};
use toml::Spanned;
use toml::de::{DeArray, DeFloat, DeInteger, DeTable, DeValue};

use crate::UnknownKey;
use crate::error::Error;
use crate::near::nearest;
use crate::place::{Name, Step, dotted};

/// Most unknown keys that are remembered: nobody reads more of them, and each is held against all that are known.
const MOST_UNKNOWN: usize = 1024;

type Result<T> = std::result::Result<T, Error>;

/// Kinds that are one to us. What a type asks for is all it is given: a visitor that could be handed anything would be
/// generated with an answer to everything.
macro_rules! same {
    ($($to:ident: $($from:ident)+;)+) => {
        $($(fn $from<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.$to(visitor)
        })+)+
    };
}

/// A value of the document, and the way to it.
#[derive(Clone)]
pub(crate) struct Value<'a> {
    value: &'a DeValue<'a>,
    span: Range<usize>,
    way: Option<&'a Step<'a>>,
    unknown: &'a RefCell<Vec<UnknownKey>>,
}

impl<'a> Value<'a> {
    /// The whole document.
    pub(crate) const fn root(
        value: &'a DeValue<'a>,
        span: Range<usize>,
        unknown: &'a RefCell<Vec<UnknownKey>>,
    ) -> Self {
        Self { value, span, way: None, unknown }
    }

    fn remember_as_unknown(&self) {
        let Some(step) = self.way.filter(|_| self.unknown.borrow().len() < MOST_UNKNOWN) else { return };
        let meant = match step.name {
            Name::Key(key) => nearest(key, step.known.iter().copied()),
            Name::Item(_) => None,
        };
        self.unknown.borrow_mut().push(UnknownKey { at: step.at, key: dotted(self.way), meant });
    }

    fn table(&self, table: &'a DeTable<'a>, known: &'static [&'static str]) -> Table<'a> {
        Table { entries: table.iter(), entry: None, way: self.way, known, unknown: self.unknown }
    }

    /// What a visitor that wants something else is told.
    fn unexpected(&self, visitor: &dyn Expected) -> Error {
        let text;
        let met = match self.value {
            DeValue::String(text) => Unexpected::Str(text),
            DeValue::Integer(integer) => {
                text = format!("integer `{}`", integer.as_str());
                Unexpected::Other(&text)
            }
            DeValue::Float(float) => Unexpected::Float(float_of(float).unwrap_or(f64::NAN)),
            DeValue::Boolean(yes) => Unexpected::Bool(*yes),
            DeValue::Datetime(time) => {
                text = format!("date `{time}`");
                Unexpected::Other(&text)
            }
            DeValue::Array(_) => Unexpected::Seq,
            DeValue::Table(_) => Unexpected::Map,
        };
        serde::de::Error::invalid_type(met, visitor)
    }

    fn items(&self, items: &'a DeArray<'a>) -> Items<'a> {
        Items { items: items.iter(), index: 0, way: self.way, unknown: self.unknown }
    }
}

fn float_of(float: &DeFloat<'_>) -> Result<f64> {
    let number: f64 = float.as_str().parse().map_err(serde::de::Error::custom)?;
    if number.is_infinite() && !float.as_str().contains("inf") {
        return Err(serde::de::Error::custom("floating-point number overflowed"));
    }
    Ok(number)
}

/// As the parser leaves it to its callers: digits without separators.
fn visit_integer<'de, V: Visitor<'de>>(integer: &DeInteger<'_>, visitor: V) -> Result<V::Value> {
    match i64::from_str_radix(integer.as_str(), integer.radix()) {
        Ok(signed) => visitor.visit_i64(signed),
        Err(_) => match u64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(unsigned) => visitor.visit_u64(unsigned),
            Err(_) => Err(serde::de::Error::custom("integer number overflowed")),
        },
    }
}

impl<'de> Deserializer<'de> for Value<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.value {
            DeValue::String(text) => visitor.visit_str(text),
            DeValue::Integer(integer) => visit_integer(integer, visitor),
            DeValue::Float(float) => visitor.visit_f64(float_of(float)?),
            DeValue::Boolean(yes) => visitor.visit_bool(*yes),
            DeValue::Datetime(time) => visitor.visit_str(&time.to_string()),
            DeValue::Array(items) => visitor.visit_seq(self.items(items)),
            DeValue::Table(table) => visitor.visit_map(self.table(table, &[])),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.value {
            DeValue::Boolean(yes) => visitor.visit_bool(*yes),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.value {
            DeValue::Integer(integer) => visit_integer(integer, visitor),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.value {
            DeValue::String(text) => visitor.visit_str(text),
            DeValue::Datetime(time) => visitor.visit_str(&time.to_string()),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.value {
            DeValue::Array(items) => visitor.visit_seq(self.items(items)),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_struct("", &[], visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        if is_spanned(name) {
            let span = self.span.clone();
            return visitor.visit_map(SpannedDeserializer::new(self, span));
        }
        match self.value {
            DeValue::Table(table) => visitor.visit_map(self.table(table, fields)),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.value {
            DeValue::String(text) => visitor.visit_enum(text.as_ref().into_deserializer()),
            DeValue::Table(table) => visitor.visit_enum(MapAccessDeserializer::new(self.table(table, &[]))),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.remember_as_unknown();
        visitor.visit_unit()
    }

    same! {
        deserialize_i64: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_u8 deserialize_u16 deserialize_u32
            deserialize_u64;
        deserialize_str: deserialize_string deserialize_char deserialize_identifier;
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    forward_to_deserialize_any! { i128 u128 f32 f64 bytes byte_buf unit unit_struct tuple_struct }
}

impl IntoDeserializer<'_, Error> for Value<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

type Key<'a> = Spanned<Cow<'a, str>>;

/// The entries of a table, one after another.
struct Table<'a> {
    entries: toml::map::Iter<'a, Key<'a>, Spanned<DeValue<'a>>>,
    /// The entry whose key was handed out last.
    entry: Option<(&'a Key<'a>, &'a Spanned<DeValue<'a>>)>,
    way: Option<&'a Step<'a>>,
    known: &'static [&'static str],
    unknown: &'a RefCell<Vec<UnknownKey>>,
}

impl<'de> MapAccess<'de> for Table<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        self.entry = self.entries.next();
        let Some((key, _)) = self.entry else { return Ok(None) };
        let name: StrDeserializer<'_, Error> = key.get_ref().as_ref().into_deserializer();
        seed.deserialize(name).map(Some).map_err(|error| error.or_at(key.span().start, || dotted(self.way)))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        let Some((key, value)) = self.entry.take() else {
            return Err(serde::de::Error::custom("a value was asked for before its key"));
        };
        let step = Step {
            before: self.way,
            name: Name::Key(key.get_ref()),
            at: key.span().start,
            known: self.known,
        };
        let (span, value) = (value.span(), value.get_ref());
        let at = span.start;
        let value = Value { value, span, way: Some(&step), unknown: self.unknown };
        seed.deserialize(value).map_err(|error| error.or_at(at, || dotted(Some(&step))))
    }
}

/// The items of an array, one after another.
struct Items<'a> {
    items: std::slice::Iter<'a, Spanned<DeValue<'a>>>,
    index: usize,
    way: Option<&'a Step<'a>>,
    unknown: &'a RefCell<Vec<UnknownKey>>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let at = item.span().start;
        let step = Step { before: self.way, name: Name::Item(self.index), at, known: &[] };
        self.index += 1;
        let value =
            Value { value: item.get_ref(), span: item.span(), way: Some(&step), unknown: self.unknown };
        seed.deserialize(value).map(Some).map_err(|error| error.or_at(at, || dotted(Some(&step))))
    }
}
