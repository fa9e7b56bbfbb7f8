//! Where a text that is built into the program comes from.

/// A text of the program's own, as it is or made when somebody first looks at it.
#[derive(Debug, Clone, Copy)]
pub enum BuiltIn {
    /// As it is.
    Text(&'static str),
    /// Made by this function, the same at every call: a text that is kept folded up. The function keeps what it has
    /// made, so that a later call costs nothing.
    Made(fn() -> &'static str),
}

impl BuiltIn {
    /// The text.
    pub fn text(self) -> &'static str {
        match self {
            Self::Text(text) => text,
            Self::Made(make) => make(),
        }
    }
}

impl Default for BuiltIn {
    fn default() -> Self {
        Self::Text("")
    }
}

impl From<&'static str> for BuiltIn {
    fn from(text: &'static str) -> Self {
        Self::Text(text)
    }
}
