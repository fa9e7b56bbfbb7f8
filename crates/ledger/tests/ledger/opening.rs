//! What opening makes, upgrades and refuses.
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use rusqlite::Connection;
use triage_ledger::*;

use crate::support::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_new_ledger_is_for_its_owner_and_readable_by_its_group() {
    let place = Place::new();
    let path = place.folder.path().join("state/slurm-triage/ledger.db");
    let mut ledger = open(&path);
    record_span(&mut ledger, 1);
    assert_eq!(mode(path.parent().unwrap()) & 0o027, 0, "folder");
    for suffix in ["", "-wal", "-shm", ".lock"] {
        assert_eq!(mode(&beside(&path, suffix)), 0o640, "ledger.db{suffix}");
    }
    assert_eq!(ledger.opened().migrated_from, Some(0));
    assert_eq!(open(&path).opened().migrated_from, None);
}

#[test]
fn the_header_says_whose_file_it_is() {
    let place = Place::new();
    drop(place.open());
    assert_eq!(ask::<i64>(&place.path(), "PRAGMA application_id"), 0x5452_4941);
    assert_eq!(ask::<i64>(&place.path(), "PRAGMA user_version"), SCHEMA_VERSION);
    assert_eq!(ask::<String>(&place.path(), "PRAGMA journal_mode"), "wal");
    assert_eq!(ask::<i64>(&place.path(), "PRAGMA auto_vacuum"), 2, "incremental");
    let loose: i64 = ask(
        &place.path(),
        "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND NOT strict
         AND name NOT LIKE 'sqlite%'",
    );
    assert_eq!(loose, 0, "every table is STRICT");
}

#[test]
fn an_empty_file_becomes_a_ledger() {
    let place = Place::new();
    fs::write(place.path(), "").unwrap();
    let ledger = place.open();
    assert_eq!(ledger.opened().migrated_from, Some(0));
    assert_eq!(ledger.opened().set_aside, None);
    drop(ledger);
    assert_eq!(ask::<i64>(&place.path(), "PRAGMA auto_vacuum"), 2);
}

#[test]
fn a_ledger_of_the_first_version_is_upgraded_with_what_it_holds() {
    let place = Place::new();
    let old = Connection::open(place.path()).unwrap();
    old.execute_batch(include_str!("../../schema/0001-tables.sql")).unwrap();
    old.execute_batch(
        "PRAGMA application_id = 0x54524941; PRAGMA user_version = 1;
         INSERT INTO audit (at, program, actor, level, kind, subject, text, synthetic)
         VALUES (1, 'x', '', 'info', 'old', '', 'kept', 0);",
    )
    .unwrap();
    drop(old);
    let reader = Ledger::open(&place.path(), &OpenOptions::reader(WAIT, T0));
    assert!(matches!(reader, Err(Error::Older { found: 1, .. })), "a reader does not upgrade");
    let ledger = place.open();
    assert_eq!(ledger.opened().migrated_from, Some(1));
    let kinds: Vec<String> =
        ledger.audit(&Filter::default()).unwrap().into_iter().map(|row| row.note.kind).collect();
    assert_eq!(kinds, ["old", "ledger.upgraded"]);
    assert_eq!(ask::<i64>(&place.path(), "SELECT count(*) FROM v_audit"), 2);
}

#[test]
fn a_later_version_is_left_as_it_is_to_the_byte() {
    let place = Place::new();
    drop(place.open());
    let later = Connection::open(place.path()).unwrap();
    later.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA user_version = 999;").unwrap();
    drop(later);
    let before = fs::read(place.path()).unwrap();
    for options in [OpenOptions::writer(WAIT, T0), OpenOptions::reader(WAIT, T0)] {
        let error = Ledger::open(&place.path(), &options).unwrap_err();
        assert!(matches!(error, Error::Newer { found: 999, .. }), "{error}");
        assert!(error.to_string().contains("upgrade the package"), "{error}");
    }
    assert_eq!(fs::read(place.path()).unwrap(), before);
    assert_eq!(names(place.folder.path()), ["ledger.db", "ledger.db.lock"]);
}

#[test]
fn the_file_of_another_program_is_left_as_it_is_to_the_byte() {
    for sql in ["CREATE TABLE t (x)", "PRAGMA application_id = 7", "PRAGMA user_version = 3"] {
        let place = Place::new();
        Connection::open(place.path()).unwrap().execute_batch(sql).unwrap();
        let before = fs::read(place.path()).unwrap();
        let error = Ledger::open(&place.path(), &OpenOptions::writer(WAIT, T0)).unwrap_err();
        assert!(matches!(error, Error::NotOurs { .. }), "{sql}: {error}");
        assert_eq!(fs::read(place.path()).unwrap(), before, "{sql}");
    }
}

#[test]
fn a_view_without_end_in_a_tables_place_is_an_error_and_holds_nobody() {
    let place = Place::new();
    drop(open(&place.path()));
    Connection::open(place.path())
        .unwrap()
        .execute_batch(
            "PRAGMA legacy_alter_table = ON; ALTER TABLE events RENAME TO e; CREATE VIEW events AS
             WITH RECURSIVE r (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x AS id, x AS at FROM r",
        )
        .unwrap();
    let ledger = Ledger::open(&place.path(), &OpenOptions::reader(WAIT, T0));
    assert!(ledger.and_then(|ledger| ledger.events(&Filter::default())).is_err());
}

#[test]
fn links_folders_and_pipes_are_no_ledger() {
    let place = Place::new();
    let real = place.folder.path().join("real.db");
    drop(open(&real));
    symlink(&real, place.path()).unwrap();
    refused(&place.path());
    fs::remove_file(place.path()).unwrap();
    symlink("nowhere", place.path()).unwrap();
    refused(&place.path());
    fs::remove_file(place.path()).unwrap();
    fs::create_dir(place.path()).unwrap();
    refused(&place.path());
    fs::remove_dir(place.path()).unwrap();
    nix::unistd::mkfifo(&place.path(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    refused(&place.path());
}

fn refused(path: &Path) {
    let error = Ledger::open(path, &OpenOptions::writer(WAIT, T0)).unwrap_err();
    assert!(matches!(error, Error::NotAPlainFile { .. }), "{error}");
}

#[test]
fn a_reader_of_nothing_says_that_there_is_nothing_and_makes_nothing() {
    let place = Place::new();
    for content in [None, Some("")] {
        if let Some(content) = content {
            fs::write(place.path(), content).unwrap();
        }
        let error = Ledger::open(&place.path(), &OpenOptions::reader(WAIT, T0)).unwrap_err();
        assert!(matches!(error, Error::Missing { .. }), "{error}");
    }
    assert_eq!(names(place.folder.path()), ["ledger.db"]);
}

#[test]
fn a_reader_makes_no_file_even_after_sqlite3_took_the_log_away() {
    let place = Place::new();
    record_span(&mut place.open(), 1);
    // Whatever closes it last without our settings takes log and index away.
    drop(Connection::open(place.path()).unwrap().execute_batch("SELECT * FROM meta; DELETE FROM counters"));
    let bare = names(place.folder.path());
    assert_eq!(bare, ["ledger.db", "ledger.db.lock"]);
    let reader = place.reader();
    assert_eq!(reader.spans(&Filter::default()).unwrap().len(), 1);
    drop(reader);
    assert_eq!(names(place.folder.path()), bare);
}

#[test]
fn a_reader_sees_what_is_only_in_the_log_and_changes_no_byte() {
    let place = Place::new();
    drop(place.open());
    record_span(&mut place.open(), 1);
    assert!(fs::metadata(beside(&place.path(), "-wal")).unwrap().len() > 0, "nothing in the log to see");
    let content = |suffix: &str| fs::read(beside(&place.path(), suffix)).unwrap();
    let before = [content(""), content("-wal"), content("-shm")];
    let mut reader = place.reader();
    assert_eq!(reader.spans(&Filter::default()).unwrap().len(), 1);
    let (node, boot) = (node(), boot());
    let batch = Batch { spans: &[span(2)], ..Batch::new(T0, &node, &boot, "test") };
    assert!(matches!(reader.record(&batch), Err(Error::NoPermission { .. })), "a reader cannot write");
    drop(reader);
    assert_eq!([content(""), content("-wal"), content("-shm")], before);
}

#[test]
fn a_reader_sees_what_is_written_after_it_opened() {
    let place = Place::new();
    let mut ledger = place.open();
    let reader = place.reader();
    assert_eq!(reader.spans(&Filter::default()).unwrap().len(), 0);
    record_span(&mut ledger, 1);
    assert_eq!(reader.spans(&Filter::default()).unwrap().len(), 1);
    ledger.checkpoint().unwrap();
    record_span(&mut ledger, 2);
    assert_eq!(reader.spans(&Filter::default()).unwrap().len(), 2);
}

#[test]
fn the_file_never_grows_beyond_its_limit() {
    let place = Place::new();
    let options = OpenOptions { max_bytes: 1024 * 1024, ..OpenOptions::writer(WAIT, T0) };
    let mut ledger = Ledger::open(&place.path(), &options).unwrap();
    let (node, boot) = (node(), boot());
    let long = "x".repeat(4000);
    for n in 0..1000 {
        let line = line(n, &long);
        let event = event(&line, "xid.31");
        let batch = Batch {
            observations: std::slice::from_ref(&line),
            events: std::slice::from_ref(&event),
            ..Batch::new(T0, &node, &boot, "test")
        };
        // The oldest events make room.
        assert_eq!(
            ledger.record(&batch).unwrap(),
            Recorded::Committed { events: 1, intents: 0 },
            "event {n}"
        );
    }
    ledger.checkpoint().unwrap();
    assert!(fs::metadata(place.path()).unwrap().size() <= 1024 * 1024 / 8 * 9);
    let newest = ledger.events(&Filter { limit: Some(1), ..Filter::default() }).unwrap();
    assert_eq!(newest[0].cursor, 999);
}
