//! The one call: [`step`].
mod input;
mod output;
mod stages;

pub use input::{Asked, Input, Trigger};
pub use output::{Need, Output};
pub use stages::step;
