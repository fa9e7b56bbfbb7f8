//! NVLinks of one GPU.
use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::nv_link::ErrorCounter;
use nvml_wrapper::error::NvmlError;
use triage_core::reading::NvLinkReading;

use super::call::Calls;
use super::raw;

/// Highest number of links that is asked for. NVML 13 has 18; newer GPUs have more, and NVML says where they end.
const MAX_LINKS: u32 = 64;

const STATE: &str = "nvmlDeviceGetNvLinkState";
const COUNTER: &str = "nvmlDeviceGetNvLinkErrorCounter";

/// Every link the GPU has. A board without NVLink has none.
pub(super) fn read(gpu: &Device<'_>, calls: &mut Calls) -> Vec<NvLinkReading> {
    let mut links = Vec::new();
    for link in 0..MAX_LINKS {
        if calls.lost {
            break;
        }
        match raw::link_state(gpu, link) {
            Ok(state) => links.extend(is_active(state, calls).map(|active| one(gpu, link, active, calls))),
            // There is no link with that number, and no board has a gap.
            Err(NvmlError::InvalidArg) => break,
            Err(error) => {
                calls.note(STATE, &error);
                if matches!(error, NvmlError::FailedToLoadSymbol(_)) {
                    break;
                }
            }
        }
    }
    links
}

/// Whether the state lets data through: 1 is active, 2 asleep until there is some, 3 trained with traffic disabled.
fn is_active(state: u32, calls: &mut Calls) -> Option<bool> {
    match state {
        1 | 2 => Some(true),
        0 | 3 => Some(false),
        other => {
            calls.note_text(STATE, format!("state_{other}"));
            None
        }
    }
}

fn one(gpu: &Device<'_>, link: u32, active: bool, calls: &mut Calls) -> NvLinkReading {
    let wrapper = gpu.link_wrapper_for(link);
    let mut count = |counter: ErrorCounter| calls.get(COUNTER, || wrapper.error_counter(counter));
    NvLinkReading {
        link,
        active,
        replays: count(ErrorCounter::DlReplay),
        recoveries: count(ErrorCounter::DlRecovery),
        crc: count(ErrorCounter::DlCrcFlit),
    }
}
