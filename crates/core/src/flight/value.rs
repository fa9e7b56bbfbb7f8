//! Values of a dump. They live in one list and name each other by number, so that a file in which everything refers to
//! everything costs no more than its own size.

/// A value's place in its [`Arena`].
pub(super) type Id = u32;

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Nothing,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    /// Something that is only understood by executing it.
    Opaque,
}

/// Longest text that is read as a number, and longest part of one that is taken for a name, bytes. A file may name one
/// long text in every record.
const LONGEST_NUMBER: usize = 64;
const LONGEST_NAME: usize = 256;

/// All values of one file.
#[derive(Debug, Default)]
pub(super) struct Arena(Vec<Value>);

impl Arena {
    pub(super) fn add(&mut self, value: Value) -> Option<Id> {
        let id = Id::try_from(self.0.len()).ok()?;
        self.0.push(value);
        Some(id)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn get(&self, id: Id) -> Option<&Value> {
        self.0.get(id as usize)
    }

    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut Value> {
        self.0.get_mut(id as usize)
    }

    /// The value of a dictionary's key, among its first keys: a record has some twenty.
    pub(super) fn field(&self, of: Id, key: &str) -> Option<Id> {
        const LOOKED_AT: usize = 256;
        let Value::Dict(pairs) = self.get(of)? else { return None };
        pairs
            .iter()
            .take(LOOKED_AT)
            .find(|(name, _)| matches!(self.get(*name), Some(Value::Text(text)) if text == key))
            .map(|(_, v)| *v)
    }

    /// The pairs of a dictionary.
    pub(super) fn pairs(&self, of: Id) -> &[(Id, Id)] {
        match self.get(of) {
            Some(Value::Dict(pairs)) => pairs,
            _ => &[],
        }
    }

    /// The members of a list or tuple.
    pub(super) fn members(&self, of: Id) -> &[Id] {
        match self.get(of) {
            Some(Value::List(members)) => members,
            _ => &[],
        }
    }

    /// A whole number, also one written as text.
    pub(super) fn int(&self, of: Id) -> Option<i64> {
        match self.get(of)? {
            Value::Int(number) => Some(*number),
            Value::Text(text) if text.len() <= LONGEST_NUMBER => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// A text, cut where it is longer than any name, or a number as text.
    pub(super) fn text(&self, of: Id) -> Option<String> {
        match self.get(of)? {
            Value::Text(text) => Some(text[..text.floor_char_boundary(LONGEST_NAME)].to_owned()),
            Value::Int(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// The first value, from JSON.
    pub(super) fn from_json(json: serde_json::Value) -> Option<(Self, Id)> {
        let mut arena = Self::default();
        let root = arena.add_json(json)?;
        Some((arena, root))
    }

    /// serde_json bounds the depth, so this recursion is bounded too.
    fn add_json(&mut self, json: serde_json::Value) -> Option<Id> {
        let value = match json {
            serde_json::Value::Null => Value::Nothing,
            serde_json::Value::Bool(b) => Value::Bool(b),
            serde_json::Value::Number(n) => {
                n.as_i64().map_or_else(|| Value::Float(n.as_f64().unwrap_or(0.0)), Value::Int)
            }
            serde_json::Value::String(text) => Value::Text(text),
            serde_json::Value::Array(members) => {
                Value::List(members.into_iter().map(|m| self.add_json(m)).collect::<Option<_>>()?)
            }
            serde_json::Value::Object(pairs) => Value::Dict(
                pairs
                    .into_iter()
                    .map(|(k, v)| Some((self.add(Value::Text(k))?, self.add_json(v)?)))
                    .collect::<Option<_>>()?,
            ),
        };
        self.add(value)
    }
}
