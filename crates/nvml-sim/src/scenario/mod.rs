//! A scenario: the GPUs of a node, and the faults that come over them. Reading one is all or nothing.
mod fault;
mod file;
mod identity;
mod pci;
mod place;
mod profile;
mod values;
mod window;
mod words;

use std::time::SystemTime;

pub(crate) use self::fault::Effect;
use self::fault::Fault;
pub(crate) use self::file::Driver;
use self::file::ScenarioFile;
pub(crate) use self::pci::PciAddress;
pub(crate) use self::place::Place;
use self::values::Overrides;
pub(crate) use self::values::Values;
pub(crate) use self::words::{Code, MigMode};

/// Version of the format that this library reads.
const FORMAT: u32 = 1;

/// Most GPUs of one node: twice what any server holds today, so that a test can go beyond.
const MAX_GPUS: u32 = 64;

/// A checked scenario.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scenario {
    pub(crate) driver: Driver,
    gpus: Vec<Values>,
    faults: Vec<Fault>,
}

impl Scenario {
    /// Eight healthy GPUs on that node.
    pub(crate) fn healthy(place: &Place) -> Result<Self, String> {
        Self::build(ScenarioFile::default(), place, &[])
    }

    /// Reads the text of a scenario file. `functions` are the names a fault may give. The error is one line.
    pub(crate) fn parse(text: &str, place: &Place, functions: &[&str]) -> Result<Self, String> {
        let file: ScenarioFile = toml::from_str(text).map_err(|error| {
            let line = error
                .span()
                .map_or(1, |span| 1 + text.bytes().take(span.start).filter(|&byte| byte == b'\n').count());
            format!("line {line}: {}", error.message().replace('\n', " "))
        })?;
        Self::build(file, place, functions)
    }

    fn build(file: ScenarioFile, place: &Place, functions: &[&str]) -> Result<Self, String> {
        if file.format != FORMAT {
            return Err(format!("format {} is not known, only {FORMAT}", file.format));
        }
        if file.gpus > MAX_GPUS {
            return Err(format!("gpus = {}: at most {MAX_GPUS}", file.gpus));
        }
        let place = Place { node: file.node.unwrap_or_else(|| place.node.clone()), ..place.clone() };
        let gpus = read_gpus(file.gpus, &file.gpu_defaults, &file.gpu, &place.node)?;
        let start = file.start.map_or(place.modified, |time| time.0);
        let mut faults = Vec::with_capacity(file.fault.len());
        for (at, table) in file.fault.into_iter().enumerate() {
            let in_fault = |error| format!("fault {}: {error}", at + 1);
            let fault = Fault::read(table, file.gpus, start, &place, functions).map_err(in_fault)?;
            check_set(&fault, &gpus).map_err(in_fault)?;
            faults.push(fault);
        }
        Ok(Self { driver: file.driver, gpus, faults })
    }

    /// The faults that are on at `now` and hit that GPU, or, without one, the library as a whole.
    pub(crate) fn active(&self, gpu: Option<u32>, now: SystemTime) -> impl Iterator<Item = &Fault> {
        self.faults.iter().filter(move |fault| fault.hits(gpu) && fault.window.contains(now))
    }

    /// The GPUs that are enumerated at `now`, in the order of NVML's indices.
    pub(crate) fn present(&self, now: SystemTime) -> Vec<u32> {
        let absent = |gpu: u32| self.active(Some(gpu), now).any(|fault| fault.effect == Effect::Absent);
        (0..).take(self.gpus.len()).filter(|&gpu| !absent(gpu)).collect()
    }

    /// What that GPU says of itself at `now`, faults included; none if there is no such GPU.
    pub(crate) fn values(&self, gpu: u32, now: SystemTime) -> Option<Values> {
        let mut values = self.healthy_values(gpu)?.clone();
        self.active(Some(gpu), now).for_each(|fault| fault.apply(&mut values));
        Some(values)
    }

    /// What that GPU says of itself without any fault.
    pub(crate) fn healthy_values(&self, gpu: u32) -> Option<&Values> {
        self.gpus.get(usize::try_from(gpu).ok()?)
    }
}

fn read_gpus(
    count: u32,
    defaults: &Overrides,
    tables: &[Overrides],
    node: &str,
) -> Result<Vec<Values>, String> {
    if defaults.index.is_some() {
        return Err("gpu_defaults has no index".to_owned());
    }
    let mut gpus: Vec<Values> = (0..count).map(|index| identity::of(node, index)).collect();
    gpus.iter_mut().for_each(|values| defaults.apply(values));
    let mut seen = Vec::new();
    for table in tables {
        let index = table.index.ok_or("a [[gpu]] without index")?;
        let values = usize::try_from(index).ok().and_then(|at| gpus.get_mut(at));
        let values =
            values.ok_or_else(|| format!("[[gpu]] with index {index}: gpus = {count}, counted from 0"))?;
        if seen.contains(&index) {
            return Err(format!("two [[gpu]] with index {index}"));
        }
        seen.push(index);
        table.apply(values);
    }
    for (index, values) in gpus.iter().enumerate() {
        values.check().map_err(|error| format!("GPU {index}: {error}"))?;
    }
    Ok(gpus)
}

/// A `set` must leave values that can be reported, on every GPU it hits.
fn check_set(fault: &Fault, gpus: &[Values]) -> Result<(), String> {
    let Effect::Set(overrides) = &fault.effect else { return Ok(()) };
    if overrides.index.is_some() {
        return Err("set has no index".to_owned());
    }
    (0..).zip(gpus).filter(|(gpu, _)| fault.hits(Some(*gpu))).try_for_each(|(_, values)| {
        let mut values = values.clone();
        overrides.apply(&mut values);
        values.check()
    })
}

#[cfg(test)]
mod tests;
