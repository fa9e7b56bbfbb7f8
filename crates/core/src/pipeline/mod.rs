//! The one call: [`step`].
mod input;
mod output;
mod past;
mod stages;

pub use input::{Asked, Input, Running, Trigger};
pub use output::{Need, Output};
pub use past::{Closed, Endpoint, Past};
pub use stages::{step, weigh};
