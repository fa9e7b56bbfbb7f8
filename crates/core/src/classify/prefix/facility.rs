//! Facilities and levels that are spelled out.
use super::Sender;
use super::cursor::Cursor;

const FACILITIES: [(&[u8], Sender); 16] = [
    (b"kern", Sender::Kernel),
    (b"user", Sender::Process),
    (b"daemon", Sender::Process),
    (b"syslog", Sender::Process),
    (b"authpriv", Sender::Process),
    (b"auth", Sender::Process),
    (b"cron", Sender::Process),
    (b"mail", Sender::Process),
    (b"local", Sender::Process),
    (b"security", Sender::Process),
    (b"lpr", Sender::Process),
    (b"news", Sender::Process),
    (b"uucp", Sender::Process),
    (b"ftp", Sender::Process),
    (b"ntp", Sender::Process),
    (b"console", Sender::Process),
];

const LEVELS: [&[u8]; 11] = [
    b"emerg", b"panic", b"alert", b"crit", b"error", b"err", b"warning", b"warn", b"notice", b"info",
    b"debug",
];

/// `kern`, `local7`: whose it is.
pub(super) fn named(cursor: &mut Cursor<'_>) -> Option<Sender> {
    let mut c = *cursor;
    let sender = FACILITIES.iter().find_map(|(name, sender)| c.text(name).map(|()| *sender))?;
    let _ = c.number(2);
    *cursor = c;
    Some(sender)
}

/// `warning`, and all the other words for a level.
pub(super) fn level(c: &mut Cursor<'_>) -> Option<()> {
    LEVELS.iter().find_map(|name| c.text(name))
}

/// `kern.warn `, as busybox and OpenWrt write it.
pub(super) fn with_level(cursor: &mut Cursor<'_>) -> Option<Sender> {
    let mut c = *cursor;
    let sender = named(&mut c)?;
    c.byte(b'.')?;
    level(&mut c)?;
    c.byte(b' ')?;
    *cursor = c;
    Some(sender)
}

/// `WARNING `, as SONiC writes it.
pub(super) fn upper_level(cursor: &mut Cursor<'_>) -> Option<()> {
    let mut c = *cursor;
    let is_level = |word: &[u8]| LEVELS.iter().any(|name| name.to_ascii_uppercase() == word);
    c.word().filter(|word| is_level(word))?;
    c.byte(b' ')?;
    *cursor = c;
    Some(())
}

/// `kern  :warn  : `, as `dmesg -x` writes it.
pub(super) fn decoded(cursor: &mut Cursor<'_>) -> Option<Sender> {
    let mut c = *cursor;
    let sender = named(&mut c)?;
    c.spaces();
    c.byte(b':')?;
    level(&mut c)?;
    c.spaces();
    c.text(b": ")?;
    *cursor = c;
    Some(sender)
}
