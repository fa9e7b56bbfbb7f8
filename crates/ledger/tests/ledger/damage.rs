//! A damaged file is set aside and said so; nothing else is.
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use triage_core::*;
use triage_ledger::*;

use crate::support::*;

fn assert_told(ledger: &Ledger, place: &Place) {
    let set_aside = ledger.opened().set_aside.clone().expect("opening tells");
    assert!(set_aside.file.exists());
    let name = set_aside.file.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("ledger.db.corrupt-20260301T100000Z"), "{name}");
    let about = ledger.about().unwrap();
    assert_eq!(about.replaced.expect("the ledger tells").file, set_aside.file);
    let loud = Filter { level: Some(Level::Error), ..Filter::default() };
    let rows = place.reader().audit(&loud).unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].note.kind, "ledger.replaced");
}

#[test]
fn what_is_no_database_is_kept_and_a_new_ledger_begun() {
    let mut page = vec![0_u8; 4096];
    page[..16].copy_from_slice(b"SQLite format 3\0");
    let contents: [&[u8]; 4] = [b"not a database", &[0xff; 8192], &page, &page[..100]];
    for content in contents {
        let place = Place::new();
        fs::write(place.path(), content).unwrap();
        let mut ledger = place.open();
        assert_told(&ledger, &place);
        let kept = ledger.opened().set_aside.clone().unwrap().file;
        assert_eq!(fs::read(kept).unwrap(), content);
        record_span(&mut ledger, 1);
        drop(ledger);
        assert_eq!(place.open().opened().set_aside, None, "said once");
    }
}

#[test]
fn a_file_that_lost_its_end_is_set_aside() {
    let place = Place::new();
    {
        let mut ledger = place.open();
        for job in 0..200 {
            record_span(&mut ledger, job);
        }
        ledger.checkpoint().unwrap();
    }
    let file = fs::File::options().write(true).open(place.path()).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    let ledger = place.open();
    // The header's page count does not fit: met at once, or by the first read, as SQLite sees fit.
    let ledger = match ledger.opened().set_aside {
        Some(_) => ledger,
        None => {
            let error = ledger.check().unwrap_err();
            assert!(error.is_corrupt(), "{error}");
            ledger.set_aside(&error.to_string()).unwrap()
        }
    };
    assert_told(&ledger, &place);
}

#[test]
fn damage_met_later_leads_to_a_new_ledger_too() {
    let place = Place::new();
    let mut ledger = place.open();
    for job in 0..500 {
        record_span(&mut ledger, job);
    }
    ledger.checkpoint().unwrap();
    drop(ledger);
    let mut file = fs::File::options().write(true).open(place.path()).unwrap();
    let pages = file.metadata().unwrap().len() / 4096;
    // Not the pages of the schema, which come first: opening would notice.
    for page in pages * 3 / 4..pages {
        file.seek(SeekFrom::Start(page * 4096)).unwrap();
        file.write_all(&[0xa5; 4096]).unwrap();
    }
    drop(file);
    let ledger = place.open();
    assert_eq!(ledger.opened().set_aside, None, "not noticed yet");
    let error = ledger.load(&Load { spans_since: Stamp::from_micros(0), run: None }).unwrap_err();
    assert!(error.is_corrupt(), "{error}");
    let mut ledger = ledger.set_aside(&error.to_string()).unwrap();
    assert_told(&ledger, &place);
    record_span(&mut ledger, 1);
}

#[test]
fn the_daily_check_finds_damage_nobody_has_read_yet() {
    let place = Place::new();
    let mut ledger = place.open();
    for job in 0..500 {
        record_span(&mut ledger, job);
    }
    let limits = Limits::default();
    let minute = Duration::from_secs(60);
    assert!(ledger.upkeep(&limits, T0, minute).unwrap().checked);
    assert!(!ledger.upkeep(&limits, T0.plus_secs(3600), minute).unwrap().checked, "once a day");
    drop(ledger);
    let mut file = fs::File::options().write(true).open(place.path()).unwrap();
    let last = file.metadata().unwrap().len() - 4096;
    file.seek(SeekFrom::Start(last)).unwrap();
    file.write_all(&[0xa5; 4096]).unwrap();
    let error = place.open().upkeep(&limits, T0.plus_secs(90_000), minute).unwrap_err();
    assert!(error.is_corrupt(), "{error}");
}

#[test]
fn a_mistyped_path_renames_nobody_elses_file() {
    let place = Place::new();
    let path = place.folder.path().join("passwd");
    fs::write(&path, "root:x:0:0::/root:/bin/sh\n").unwrap();
    let error = Ledger::open(&path, &OpenOptions::writer(WAIT, T0)).unwrap_err();
    assert!(error.is_corrupt(), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "root:x:0:0::/root:/bin/sh\n");
}

#[test]
fn programs_that_meet_over_a_damaged_file_set_it_aside_once() {
    const PROGRAMS: u32 = 8;
    let place = Place::new();
    fs::write(place.path(), vec![7; 10_000]).unwrap();
    let start = Barrier::new(PROGRAMS as usize);
    thread::scope(|scope| {
        for job in 0..PROGRAMS {
            let (place, start) = (&place, &start);
            scope.spawn(move || {
                start.wait();
                record_span(&mut place.open(), job);
            });
        }
    });
    let kept = names(place.folder.path()).into_iter().filter(|name| name.contains("corrupt")).count();
    assert_eq!(kept, 1);
    assert_eq!(place.reader().spans(&Filter::default()).unwrap().len(), PROGRAMS as usize, "nothing lost");
}

#[test]
fn a_file_that_others_have_open_is_not_replaced_under_them() {
    let place = Place::new();
    let other = place.open();
    let mut impatient = place.open();
    impatient.set_wait(Duration::from_millis(20)).unwrap();
    let inode = fs::metadata(place.path()).unwrap().ino();
    assert!(impatient.set_aside("so it was said").unwrap_err().is_busy());
    assert_eq!(fs::metadata(place.path()).unwrap().ino(), inode);
    drop(other);
}

#[test]
fn whoever_comes_second_takes_the_new_ledger() {
    let place = Place::new();
    // The second one's file is gone by the time it complains.
    let (first, second) = (place.open(), place.open());
    let waits = thread::spawn(move || second.set_aside("damaged"));
    let fresh = {
        // Both want the lock alone, so both must let go first.
        first.set_aside("damaged")
    };
    let (a, b) = (waits.join().unwrap(), fresh);
    let told = [&a, &b].iter().filter(|l| l.as_ref().is_ok_and(|l| l.opened().set_aside.is_some())).count();
    assert!(a.is_ok() || b.is_ok());
    assert_eq!(told, 1, "{a:?} {b:?}");
}

#[test]
fn a_disk_that_damages_every_ledger_is_not_filled_by_them() {
    let place = Place::new();
    for second in 0..10 {
        // Its log would mend it.
        let _ = fs::remove_file(beside(&place.path(), "-wal"));
        fs::write(place.path(), vec![7; 10_000]).unwrap();
        let options = OpenOptions::writer(WAIT, T0.plus_secs(second));
        drop(Ledger::open(&place.path(), &options).unwrap());
    }
    let kept: Vec<String> = names(place.folder.path())
        .into_iter()
        .filter(|name| name.contains("corrupt") && !name.ends_with("-shm"))
        .collect();
    assert_eq!(kept.len(), 4, "{kept:?}");
    assert!(kept[3].ends_with("100009Z"), "the newest stay: {kept:?}");
}
