//! The tree gives a type the same as serde_json does.
use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Id(String);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Kind {
    Unit,
    One(u8),
    Two(i32, String),
    Members { a: bool, b: Option<i64> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Everything {
    id: Id,
    flag: bool,
    small: i8,
    large: u64,
    ratio: f64,
    letter: char,
    #[serde(default)]
    perhaps: Option<Box<Everything>>,
    pair: (u16, Id),
    list: Vec<Kind>,
    by_name: BTreeMap<String, u32>,
    by_number: BTreeMap<i32, Kind>,
    nothing: (),
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Unit),
        any::<u8>().prop_map(Kind::One),
        (any::<i32>(), any::<String>()).prop_map(|(number, text)| Kind::Two(number, text)),
        (any::<bool>(), any::<Option<i64>>()).prop_map(|(a, b)| Kind::Members { a, b }),
    ]
}

fn everything() -> impl Strategy<Value = Everything> {
    let leaf = (
        (any::<String>(), any::<bool>(), any::<i8>(), any::<u64>(), -1e300..1e300, any::<char>()),
        (any::<u16>(), any::<String>(), prop::collection::vec(kind(), 0..4)),
        (
            prop::collection::btree_map(any::<String>(), any::<u32>(), 0..3),
            prop::collection::btree_map(any::<i32>(), kind(), 0..3),
        ),
    );
    let leaf = leaf.prop_map(
        |((id, flag, small, large, ratio, letter), (short, name, list), (by_name, by_number))| Everything {
            id: Id(id),
            flag,
            small,
            large,
            ratio,
            letter,
            perhaps: None,
            pair: (short, Id(name)),
            list,
            by_name,
            by_number,
            nothing: (),
        },
    );
    leaf.prop_recursive(3, 4, 1, |inner| {
        inner.prop_map(|inner| Everything { perhaps: Some(Box::new(inner.clone())), ..inner })
    })
}

proptest! {
    #[test]
    fn what_was_written_is_read_as_serde_json_reads_it(all in everything()) {
        let text = serde_json::to_string(&all).unwrap();
        let theirs: Everything = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(from_text::<Everything>(&text).unwrap(), theirs);
    }

    #[test]
    fn any_json_is_read_by_both_or_by_none(text in r#"[\[\]{}:, "a0-9.eEt-]{0,40}"#) {
        // A name that is there twice is the one thing they tell apart: the last one holds here.
        let theirs = serde_json::from_str::<BTreeMap<String, Vec<u8>>>(&text).ok();
        prop_assert_eq!(from_text::<BTreeMap<String, Vec<u8>>>(&text).ok(), theirs);
        let theirs = serde_json::from_str::<Vec<Option<f64>>>(&text).ok();
        prop_assert_eq!(from_text::<Vec<Option<f64>>>(&text).ok(), theirs);
    }
}

#[test]
fn bytes_are_read_as_text_is_and_what_is_no_text_is_said_to_be_none() {
    assert_eq!(from_bytes::<Vec<u8>>(b"[1, 2]").unwrap(), [1, 2]);
    assert!(from_bytes::<Vec<u8>>(b"[1, 2").unwrap_err().to_string().contains("line 1 column 5"));
    assert!(from_bytes::<String>(b"\"caf\xe9\"").unwrap_err().to_string().contains("UTF-8"));
}

#[test]
fn an_error_names_the_way_to_its_place() {
    let error = |text| from_text::<BTreeMap<String, Vec<Kind>>>(text).unwrap_err().to_string();
    assert_eq!(error(r#"{"a": [{"One": 256}]}"#), "invalid value: integer `256`, expected u8 at a.0");
    assert_eq!(
        error(r#"{"a": [{"Members": {"a": true, "b": "x"}}]}"#),
        "invalid type: string \"x\", expected i64 at a.0.b"
    );
    assert!(error(r#"{"a": ["Three"]}"#).starts_with("unknown variant `Three`, expected one of"));
    assert!(error(r#"{"a": {}}"#).contains("invalid type: map, expected a sequence at a"));
    assert_eq!(
        from_text::<bool>("-1.5").unwrap_err().to_string(),
        "invalid type: number `-1.5`, expected a boolean"
    );
}

#[test]
fn a_list_is_no_struct_and_what_is_not_known_is_passed_over() {
    #[derive(Debug, Deserialize)]
    struct One {
        a: u8,
    }
    assert!(from_text::<One>("[1]").is_err());
    assert_eq!(from_text::<One>(r#"{"b": [{"c": null}], "a": 1}"#).unwrap().a, 1);
    assert!(from_text::<One>(r#"{"b": 1}"#).unwrap_err().to_string().contains("missing field `a`"));
}

#[test]
fn what_is_nested_too_deeply_is_an_error() {
    let deep = "[".repeat(100_000);
    assert!(from_text::<Value>(&deep).unwrap_err().to_string().contains("recursion limit"));
}
