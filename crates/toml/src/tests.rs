use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Deserialize;

use super::*;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    One,
    Two,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Everything {
    text: String,
    number: u16,
    signed: Option<i64>,
    ratio: f64,
    yes: bool,
    word: Option<Word>,
    words: Vec<Word>,
    pair: Option<(u8, String)>,
    map: BTreeMap<String, u8>,
    below: Vec<Below>,
    strict: Option<Strict>,
    spanned: Option<Spanned<String>>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Below {
    milliseconds: u32,
    name: String,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Strict {
    must: u8,
}

fn parse(text: &str) -> Result<Read<Everything>, String> {
    read(text).map_err(|fault: Fault| {
        let (line, column) = line_column(text, fault.at);
        format!("{line}:{column}: {}: {}", fault.key, fault.message)
    })
}

#[test]
fn every_kind_of_value_is_read_as_the_library_reads_it() {
    let text = "text = \"a\\tb\"\nnumber = 0x1_0\nsigned = -9_223_372_036_854_775_808\nratio = 1_0.5e1\nyes = true\n\
        word = \"two\"\nwords = [\"one\", \"two\"]\npair = [1, \"x\"]\nmap.a = 1\nmap.\"b c\" = 2\n\
        spanned = \"here\"\n[[below]]\nname = 'n'\n[[below]]\nmilliseconds = 4_000_000_000\n[strict]\nmust = 1\n";
    let ours = parse(text).unwrap();
    assert_eq!(ours.unknown, []);
    let theirs = toml::from_str::<Everything>(text).unwrap();
    assert_eq!(ours.value, theirs);
    assert_eq!(ours.value.spanned.unwrap().span(), theirs.spanned.unwrap().span());
    for wide in [u64::MAX, 1 << 63] {
        let read = read::<BTreeMap<String, u64>>(&format!("n = {wide}")).unwrap();
        assert_eq!(read.value["n"], wide);
    }
}

#[test]
fn a_wrong_value_is_named_with_its_place_and_key() {
    for (text, expected) in [
        ("number = \"7\"\n", "1:10: number: invalid type: string \"7\", expected u16"),
        ("\n\n number = 70000\n", "3:11: number: invalid value: integer `70000`, expected u16"),
        ("number = 99999999999999999999\n", "1:10: number: integer number overflowed"),
        ("ratio = 1e400\n", "1:9: ratio: floating-point number overflowed"),
        ("number = 1.5\n", "1:10: number: invalid type: floating point `1.5`, expected u16"),
        (
            "[[below]]\n[[below]]\nname = 7\n",
            "3:8: below.1.name: invalid type: integer `7`, expected a string",
        ),
        (
            "words = [\"one\",\n \"three\"]\n",
            "2:2: words.1: unknown variant `three`, expected `one` or `two`",
        ),
        ("map = { a = 1, b = 300 }\n", "1:20: map.b: invalid value: integer `300`, expected u8"),
        ("[strict]\nmust = 1\nmusst = 2\n", "3:1: strict: unknown field `musst`, expected `must`"),
        ("[strict]\n", "1:1: strict: missing field `must`"),
        ("text = \"é\" x\n", "1:12: : "),
        (
            "text = 1979-05-27\nnumber = 1979-05-27\n",
            "2:10: number: invalid type: date `1979-05-27`, expected u16",
        ),
        ("text = \"a\"\ntext = \"b\"\n", "2:1: : duplicate key `text`"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.starts_with(expected), "for {text:?}\n  got: {error}\n  not: {expected}");
    }
}

/// A type that looks at what it was given afterwards, as with `deserialize_with`.
#[test]
fn what_is_refused_after_it_was_read_has_its_place_too() {
    let refused = read::<BTreeMap<String, std::num::NonZeroU8>>("a = 1\nbad = 0\n").unwrap_err();
    assert_eq!((refused.at, refused.key.as_str()), (12, "bad"));
    let root = read::<Strict>("other = 1").unwrap_err();
    assert_eq!((root.at, root.message.as_str()), (0, "unknown field `other`, expected `must`"));
}

#[test]
fn a_key_that_means_nothing_is_told_with_its_place_and_the_one_that_was_meant() {
    let read = parse("numbr = 1\n[later]\nx = 1\n[[below]]\nmiliseconds = 7\nzzz = { deep = 1 }\n").unwrap();
    let unknown: Vec<_> = read.unknown.iter().map(|u| (u.at, u.key.as_str(), u.meant)).collect();
    assert_eq!(
        unknown,
        [
            (0, "numbr", Some("number")),
            (11, "later", None),
            (34, "below.0.miliseconds", Some("milliseconds")),
            (50, "below.0.zzz", None)
        ]
    );
}

#[test]
fn a_key_is_found_by_its_path() {
    let text = "a = 1\n[b.c]\nd = [{ e = 1 }, { f = 2 }]\n";
    for (path, at) in [
        (&["a"][..], Some(0)),
        (&["b", "c", "d"], Some(12)),
        (&["b", "c", "d", "1", "f"], Some(30)),
        (&["b", "c", "d", "7"], Some(12)),
        (&["x"], None),
        (&[], None),
    ] {
        assert_eq!(key_offset(text, path), at, "{path:?}");
    }
    assert_eq!(key_offset("no toml", &["a"]), None);
}

#[test]
fn a_word_that_is_another_word_is_no_slip() {
    assert_eq!(nearest("confidense", ["code", "confidence"]), Some("confidence"));
    assert_eq!(nearest("cdoe", ["code", "confidence"]), Some("code"));
    assert_eq!(nearest("colour", ["code", "confidence"]), None);
    assert_eq!(nearest("code", []), None);
}

fn any_text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[a-z]{1,4} = [0-9\"a-z.\\[\\]{}=, -]{0,12}",
        "\\[{1,2}[a-z.]{1,8}\\]{1,2}",
        "(number|text|ratio|yes|word|map|below|strict|spanned)(\\.[a-z]{1,3})? = ([0-9._-]{1,6}|\"[a-z]{0,3}\"|true|\\[\\]|\\{\\})",
        ".{0,20}",
    ];
    proptest::collection::vec(line, 0..8).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn whatever_the_text_it_is_read_as_the_library_reads_it(text in any_text()) {
        match (parse(&text), toml::from_str::<Everything>(&text)) {
            (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours.value, theirs),
            (Err(_), Err(_)) => {}
            // The library has a kind of its own for dates; ours are texts.
            (Ok(_), Err(error)) if error.message().contains("map") => {}
            (ours, theirs) => prop_assert!(false, "{ours:?}\n{theirs:?}"),
        }
    }

    #[test]
    fn every_place_is_in_the_text(text in any_text()) {
        match read::<Everything>(&text) {
            Ok(read) => for unknown in read.unknown {
                prop_assert!(text.is_char_boundary(unknown.at) && unknown.at < text.len());
            },
            Err(fault) => prop_assert!(fault.at <= text.len()),
        }
    }
}

/// Whatever a type can ask for, its reader's message alone would leave the author of the file to guess.
#[test]
fn a_value_of_any_wrong_kind_has_a_remedy() {
    for (text, expected) in [
        ("number = \"7\"\n", "whole number"),
        ("ratio = \"7\"\n", "number"),
        ("yes = \"no\"\n", "true or false"),
        ("text = 7\n", "in quotes"),
        ("words = \"one\"\n", "a list"),
        ("strict = 7\n", "in brackets"),
        ("below = [7]\n", "{ key = value }"),
        ("map = { a = \"x\" }\n", "whole number"),
        ("map = 7\n", "in brackets"),
        ("number = 2000s\n", "without a unit"),
        ("number = 1\nnumber = 2\n", "once"),
    ] {
        let fault = read::<Everything>(text).unwrap_err();
        let told = remedy(&fault.key, &fault.message);
        assert!(told.is_some_and(|told| told.contains(expected)), "{text:?}: {fault:?}\n  got: {told:?}");
    }
}

#[test]
fn unknown_keys_below_a_long_name_are_told_in_short() {
    let keys: String = (0..5_000).map(|n| format!("a{n} = 1\n")).collect();
    let text = format!("[{}]\nname = \"x\"\n{keys}", "n".repeat(100_000));
    let unknown = read::<BTreeMap<String, Below>>(&text).unwrap().unknown;
    assert!((1..=1_024).contains(&unknown.len()), "{}", unknown.len());
    assert!(unknown.iter().all(|key| key.key.len() < 200 && key.key.contains(".a")), "{:?}", unknown.first());
    let text = format!("[\"{}\"]\nname = 1\n", "\u{fc}".repeat(100));
    assert!(read::<BTreeMap<String, Below>>(&text).unwrap_err().key.ends_with(".name"));
}
