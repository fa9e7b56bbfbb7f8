//! The gate every function goes through: initialised or not, scripted hangs and errors, lost GPUs, panics.
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlReturn_t};

use crate::scenario::{Code, Effect, Scenario, Values};
use crate::{api, locate, state};

/// What a function's body returns: done, or the code to give the caller.
pub(crate) type Answer = Result<(), Code>;

/// Handles are this plus the GPU's number in the scenario: never null, never an address of anything.
const FIRST_HANDLE: usize = 0x4e56_0000;

/// A MIG device's handle is its GPU's and this, times its place counted from one.
const MIG_STRIDE: usize = 0x1_0000;

/// How often a hang looks whether its fault is over.
const HANG_STEP: Duration = Duration::from_millis(20);

/// A GPU as a call sees it.
pub(crate) struct Gpu {
    /// Its values, faults included.
    pub(crate) values: Values,
    /// NVML's index now.
    pub(crate) index: u32,
    /// Its number in the scenario.
    pub(crate) number: u32,
}

impl std::ops::Deref for Gpu {
    type Target = Values;

    fn deref(&self) -> &Values {
        &self.values
    }
}

/// The names of all functions exported for clients.
pub(crate) fn functions() -> Vec<&'static str> {
    api::FUNCTIONS.iter().flat_map(|group| group.iter().copied()).collect()
}

/// Runs the body of a function that needs no initialisation.
pub(crate) fn bare(body: impl FnOnce() -> Answer) -> nvmlReturn_t {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Code::SUCCESS.0,
        Ok(Err(code)) => code.0,
        Err(_) => Code::UNKNOWN.0,
    }
}

/// Runs the body of a function about the library as a whole.
pub(crate) fn system(function: &str, body: impl FnOnce(&Scenario) -> Answer) -> nvmlReturn_t {
    bare(|| {
        let scenario = state::scenario()?;
        meddle(&scenario, function, None)?;
        body(&scenario)
    })
}

/// Runs the body of a function about one GPU.
pub(crate) fn device(
    function: &str,
    handle: nvmlDevice_t,
    body: impl FnOnce(&Gpu) -> Answer,
) -> nvmlReturn_t {
    bare(|| {
        let scenario = state::scenario()?;
        let gpu = number(handle)
            .filter(|&gpu| scenario.healthy_values(gpu).is_some())
            .ok_or(Code::INVALID_ARGUMENT)?;
        let gpu = reach(&scenario, function, gpu)?;
        body(&gpu)
    })
}

/// Runs the body of a function that looks for a GPU, and hands out its handle.
pub(crate) fn find(
    function: &str,
    handle: crate::ffi::Out<nvmlDevice_t>,
    which: impl FnOnce(&Scenario, &[u32]) -> Result<u32, Code>,
) -> nvmlReturn_t {
    system_unmeddled(|scenario| {
        let gpu = which(scenario, &scenario.present(SystemTime::now()));
        // Faults of the whole library show even when the GPU asked for does not exist.
        let gpu = gpu.or_else(|code| meddle(scenario, function, None).and(Err(code)))?;
        reach(scenario, function, gpu)?;
        handle.set(std::ptr::without_provenance_mut(FIRST_HANDLE.saturating_add(gpu as usize)))
    })
}

/// Initialises: reads the scenario for the first user, and lets scripted faults have their way.
pub(crate) fn init() -> Answer {
    let scenario = match state::scenario() {
        Ok(scenario) => scenario,
        Err(_) => Arc::new(locate::load().map_err(|error| {
            locate::report(&error);
            Code::INVALID_ARGUMENT
        })?),
    };
    meddle(&scenario, "nvmlInit", None)?;
    state::enter(scenario);
    Ok(())
}

fn system_unmeddled(body: impl FnOnce(&Scenario) -> Answer) -> nvmlReturn_t {
    bare(|| body(&*state::scenario()?))
}

/// The GPU as seen through the faults that are on.
fn reach(scenario: &Scenario, function: &str, gpu: u32) -> Result<Gpu, Code> {
    meddle(scenario, function, Some(gpu))?;
    let now = SystemTime::now();
    if scenario.active(Some(gpu), now).any(|fault| fault.effect == Effect::Lost) {
        return Err(Code::GPU_IS_LOST);
    }
    let index = scenario.present(now).iter().position(|&present| present == gpu).ok_or(Code::GPU_IS_LOST)?;
    let values = scenario.values(gpu, now).ok_or(Code::INVALID_ARGUMENT)?;
    Ok(Gpu { values, index: u32::try_from(index).unwrap_or(u32::MAX), number: gpu })
}

/// Hangs or fails as the scenario wants it for this call.
fn meddle(scenario: &Scenario, function: &str, gpu: Option<u32>) -> Answer {
    for fault in scenario.active(gpu, SystemTime::now()).filter(|fault| fault.effect.meddles(function)) {
        match &fault.effect {
            Effect::Hang { lasts, .. } => hang(*lasts, || fault.window.contains(SystemTime::now())),
            Effect::Error { code, .. } => return Err(*code),
            _ => {}
        }
    }
    Ok(())
}

fn hang(lasts: Option<Duration>, on: impl Fn() -> bool) {
    let begin = Instant::now();
    while lasts.is_none_or(|lasts| begin.elapsed() < lasts) && on() {
        std::thread::sleep(HANG_STEP);
    }
}

/// The handle of a GPU's MIG device.
pub(crate) fn mig_handle(gpu: u32, place: u32) -> nvmlDevice_t {
    let place = (place as usize).saturating_add(1).saturating_mul(MIG_STRIDE);
    std::ptr::without_provenance_mut(FIRST_HANDLE.saturating_add(place).saturating_add(gpu as usize))
}

/// The handle of the GPU behind a handle, and the MIG device's place on it where it is one's.
pub(crate) fn mig_place(handle: nvmlDevice_t) -> (nvmlDevice_t, Option<u32>) {
    let beyond = handle.addr().saturating_sub(FIRST_HANDLE);
    let Some(place) = (beyond / MIG_STRIDE).checked_sub(1) else { return (handle, None) };
    let gpu = FIRST_HANDLE.saturating_add(beyond % MIG_STRIDE);
    (std::ptr::without_provenance_mut(gpu), u32::try_from(place).ok())
}

fn number(handle: nvmlDevice_t) -> Option<u32> {
    u32::try_from(handle.addr().checked_sub(FIRST_HANDLE)?).ok()
}
