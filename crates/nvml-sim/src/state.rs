//! The state of the library in this process: how often it was initialised, and the scenario then read.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::scenario::{Code, Scenario};

struct State {
    /// `nvmlInit` calls without their `nvmlShutdown`.
    users: u32,
    scenario: Option<Arc<Scenario>>,
}

static STATE: Mutex<State> = Mutex::new(State { users: 0, scenario: None });

fn lock() -> MutexGuard<'static, State> {
    // Each change below is one assignment, so that a panic elsewhere leaves nothing half done.
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The scenario in use, or that there is none yet.
pub(crate) fn scenario() -> Result<Arc<Scenario>, Code> {
    lock().scenario.clone().ok_or(Code::UNINITIALIZED)
}

/// Counts one user more; the first one's scenario stays until the last has left.
pub(crate) fn enter(scenario: Arc<Scenario>) {
    let mut state = lock();
    state.users = state.users.saturating_add(1);
    state.scenario.get_or_insert(scenario);
}

/// Counts one user less.
pub(crate) fn leave() -> Result<(), Code> {
    let mut state = lock();
    state.users = state.users.checked_sub(1).ok_or(Code::UNINITIALIZED)?;
    if state.users == 0 {
        state.scenario = None;
    }
    Ok(())
}
