//! From serde_json's values to serde. A type is given what it asks for and nothing else, so that no visitor is generated
//! with an answer to everything.
use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Number, Value, map};
use std::mem::take;

use super::Error;

type Result<T> = std::result::Result<T, Error>;

/// Kinds that are one to us.
macro_rules! same {
    ($($to:ident: $($from:ident)+;)+) => {
        $($(fn $from<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.$to(visitor)
        })+)+
    };
}

/// A value, lent: its texts are taken out of it, and it is dropped where all of the tree is. Were it handed on, each
/// type would be generated with what drops the rest of it.
pub(super) struct Tree<'a>(pub(super) &'a mut Value);

impl Tree<'_> {
    /// As a variant: its name alone, or an object with it as the one member.
    fn variant(&mut self) -> Option<Variant<'_>> {
        match self.0 {
            Value::String(name) => Some(Variant { name, value: None }),
            Value::Object(map) if map.len() == 1 => {
                map.iter_mut().next().map(|(name, value)| Variant { name, value: Some(value) })
            }
            _ => None,
        }
    }

    /// What a visitor that wants something else is told.
    fn unexpected(&self, visitor: &dyn Expected) -> Error {
        let met = match &*self.0 {
            Value::Null => Unexpected::Other("null"),
            Value::Bool(yes) => Unexpected::Bool(*yes),
            Value::Number(number) => {
                return Error::new(format!("invalid type: number `{number}`, expected {visitor}"));
            }
            Value::String(text) => Unexpected::Str(text),
            Value::Array(_) => Unexpected::Seq,
            Value::Object(_) => Unexpected::Map,
        };
        serde::de::Error::invalid_type(met, visitor)
    }
}

fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value> {
    match (number.as_u64(), number.as_i64()) {
        (Some(number), _) => visitor.visit_u64(number),
        (None, Some(number)) => visitor.visit_i64(number),
        (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
    }
}

fn members(map: &mut Map<String, Value>) -> Members<'_> {
    Members { members: map.iter_mut(), member: None }
}

fn items(items: &mut [Value]) -> Items<'_> {
    Items { items: items.iter_mut(), index: 0 }
}

impl<'de> Deserializer<'de> for Tree<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(yes) => visitor.visit_bool(*yes),
            Value::Number(number) => visit_number(number, visitor),
            Value::String(text) => visitor.visit_string(take(text)),
            Value::Array(all) => visitor.visit_seq(items(all)),
            Value::Object(map) => visitor.visit_map(members(map)),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Value::Bool(yes) => visitor.visit_bool(*yes),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Value::Number(number) => visit_number(number, visitor),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Value::String(text) => visitor.visit_string(take(text)),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Value::Array(all) => visitor.visit_seq(items(all)),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Value::Object(map) => visitor.visit_map(members(map)),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            _ => Err(self.unexpected(&visitor)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.variant() {
            Some(variant) => visitor.visit_enum(variant),
            None => Err(Error::new("neither a text nor an object of one member".to_owned())),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    same! {
        deserialize_i64: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_u8 deserialize_u16 deserialize_u32
            deserialize_u64 deserialize_f32 deserialize_f64;
        deserialize_string: deserialize_str deserialize_char deserialize_identifier;
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    forward_to_deserialize_any! { i128 u128 bytes byte_buf unit_struct }
}

/// The members of an object.
struct Members<'a> {
    members: map::IterMut<'a>,
    /// The member whose name was handed out last.
    member: Option<(&'a str, &'a mut Value)>,
}

impl<'a> Members<'a> {
    fn advance(&mut self) -> Option<&'a str> {
        let (name, value) = self.members.next()?;
        self.member = Some((name, value));
        Some(name)
    }

    fn value(&mut self) -> Result<(&'a str, &'a mut Value)> {
        self.member.take().ok_or_else(|| Error::new("a value was asked for before its name".to_owned()))
    }
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        self.advance().map(|name| seed.deserialize(Name(name))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        let (name, value) = self.value()?;
        seed.deserialize(Tree(value)).map_err(|error| error.within(name))
    }
}

/// The items of an array.
struct Items<'a> {
    items: std::slice::IterMut<'a, Value>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(Tree(item)).map(Some).map_err(|error| error.at(index))
    }
}

/// A variant: its name, and what it holds.
struct Variant<'a> {
    name: &'a str,
    value: Option<&'a mut Value>,
}

impl<'de, 'a> EnumAccess<'de> for Variant<'a> {
    type Error = Error;
    type Variant = Held<'a>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Held<'a>)> {
        let name: StrDeserializer<'_, Error> = self.name.into_deserializer();
        seed.deserialize(name).map(|variant| (variant, Held(self.value)))
    }
}

/// What a variant holds.
struct Held<'a>(Option<&'a mut Value>);

impl<'a> Held<'a> {
    fn tree(self) -> Result<Tree<'a>> {
        self.0
            .map(Tree)
            .ok_or_else(|| Error::new("a variant that holds something was given nothing".to_owned()))
    }
}

impl<'de> VariantAccess<'de> for Held<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        match self.0 {
            None | Some(Value::Null) => Ok(()),
            Some(_) => Err(Error::new("a variant that holds nothing was given something".to_owned())),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        seed.deserialize(self.tree()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.tree()?.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value> {
        self.tree()?.deserialize_map(visitor)
    }
}

/// The name of a member: a text, or a number or a variant written as one.
struct Name<'a>(&'a str);

impl<'de> Deserializer<'de> for Name<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_str(self.0)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match (self.0.parse(), self.0.parse()) {
            (Ok(number), _) => visitor.visit_u64(number),
            (Err(_), Ok(number)) => visitor.visit_i64(number),
            (Err(_), Err(_)) => Err(serde::de::Error::invalid_type(Unexpected::Str(self.0), &visitor)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_enum(Variant { name: self.0, value: None })
    }

    same! {
        deserialize_i64: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_u8 deserialize_u16 deserialize_u32
            deserialize_u64;
    }

    forward_to_deserialize_any! {
        bool i128 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}
