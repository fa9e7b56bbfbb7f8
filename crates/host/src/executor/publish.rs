//! This node's word in its own record: one key of ours in `Extra`, and nothing else in it is touched.
use serde_json::{Map, Value};
use triage_core::{NodeName, Outcome, peer};

use super::Executor;

impl Executor<'_> {
    pub(super) fn publish(&self, node: &NodeName, body: &str) -> Outcome {
        let record = match self.scontrol.node(node) {
            Ok(record) => record,
            Err(error) => return self.failed(&error),
        };
        let extra = match with(&record.extra, body) {
            Ok(Some(extra)) => extra,
            Ok(None) => return self.done("the node record says so already"),
            Err(why) => return self.left_alone(why),
        };
        match self.scontrol.set_extra(node, &extra) {
            Ok(()) if body.is_empty() => self.done("taken out of the node record"),
            Ok(()) => self.done("told in the node record"),
            Err(error) => self.failed(&error),
        }
    }
}

/// `extra` with our key set to `body`, or without our key where the body is empty; `None` when nothing changes.
fn with(extra: &str, body: &str) -> Result<Option<String>, String> {
    let foreign = || "Extra of the node is no JSON object: it is somebody else's, left alone".to_owned();
    let mut object: Map<String, Value> = match extra {
        "" | "(null)" => Map::new(),
        text => serde_json::from_str(text).map_err(|_| foreign())?,
    };
    let before = object.clone();
    if body.is_empty() {
        object.remove(peer::KEY);
    } else {
        let body: Value =
            serde_json::from_str(body).map_err(|error| format!("our own word is no JSON: {error}"))?;
        object.insert(peer::KEY.to_owned(), body);
    }
    if object == before {
        return Ok(None);
    }
    if object.is_empty() {
        return Ok(Some(String::new()));
    }
    serde_json::to_string(&object).map(Some).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_already_stays() {
        let with = |extra: &str, body: &str| super::with(extra, body).unwrap();
        assert_eq!(with("", r#"{"v":1}"#).as_deref(), Some(r#"{"slurm_triage":{"v":1}}"#));
        assert_eq!(with(r#"{"a":1}"#, r#"{"v":1}"#).as_deref(), Some(r#"{"a":1,"slurm_triage":{"v":1}}"#));
        assert_eq!(with(r#"{"a":1,"slurm_triage":{"v":1}}"#, "").as_deref(), Some(r#"{"a":1}"#));
        assert_eq!(with(r#"{"slurm_triage":{"v":1}}"#, "").as_deref(), Some(""));
        assert_eq!(with(r#"{"slurm_triage":{"v":1}}"#, r#"{"v":1}"#), None);
    }

    #[test]
    fn what_is_no_object_is_somebody_elses() {
        for foreign in ["rack 7", "[1]", "\"x\"", "{", "7"] {
            assert!(super::with(foreign, r#"{"v":1}"#).is_err(), "{foreign}");
        }
    }
}
