//! Lines of the kernel's in which it repeats what any user may choose: a process calls itself `kernel BUG at m`, a
//! program's file `x: Critical temperature reached`, and a deprecated system call makes the kernel print it. Such lines
//! tell of no fault whatever is in them. The wording is that of the kernel's sources.
use memchr::memmem;

/// Longest name of a process, bytes (`TASK_COMM_LEN` less its end).
const LONGEST: usize = 15;

/// What follows a process's name and number, `name (4711)`: remap_file_pages, mremap, SHM_HUGETLB, flock.
const BEHIND_NUMBER: &[&[u8]] = &[
    b" uses deprecated ",
    b": attempted to duplicate a private mapping",
    b": Using mlock ulimits ",
    b": Attempt to set a LOCK_MAND lock",
    b": drop_caches: ",
];

/// What follows `name[4711]`.
const BEHIND_BRACKETS: &[&[u8]] = &[b" vsyscall "];

/// Whether the line begins with words of a process's choosing and is not about a fault.
pub(super) fn is_worded_by_a_process(line: &[u8]) -> bool {
    let executable_stack =
        line.starts_with(b"process '") && memmem::find(line, b"' started with executable stack").is_some();
    executable_stack
        || (0..=LONGEST).any(|at| line.get(at..).is_some_and(|rest| rest.starts_with(b": vmalloc error: ")))
        || follows(line, b" (", b')', BEHIND_NUMBER)
        || follows(line, b"[", b']', BEHIND_BRACKETS)
}

/// Whether a number between `open` and `close`, begun within a process's name's length, is followed by one of `words`.
fn follows(line: &[u8], open: &[u8], close: u8, words: &[&[u8]]) -> bool {
    let head = line.get(..LONGEST + open.len()).unwrap_or(line);
    memmem::find_iter(head, open).any(|at| {
        let number = line.get(at + open.len()..).unwrap_or_default();
        let digits = number.iter().take_while(|b| b.is_ascii_digit()).count();
        let behind = number.get(digits..).and_then(|rest| rest.strip_prefix(&[close]));
        digits > 0 && behind.is_some_and(|behind| words.iter().any(|word| behind.starts_with(word)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_process_calls_itself_is_told_from_what_the_kernel_says() {
        for line in [
            "kernel BUG at m (4711) uses deprecated remap_file_pages() syscall. See Documentation/mm/remap_file_pages.rst.",
            "a (1) (4711): attempted to duplicate a private mapping with mremap.  This is not supported.",
            "NMI: IOCK error (9): Using mlock ulimits for SHM_HUGETLB is obsolete",
            "NMI: IOCK error: vmalloc error: size 4096, page order 0, failed to allocate pages",
            "kernel BUG at m[4711] vsyscall attempted with vsyscall=none ip:1",
            "process '/u/x: Critical temperature reached' started with executable stack",
        ] {
            assert!(is_worded_by_a_process(line.as_bytes()), "{line}");
        }
        for line in [
            "kernel BUG at mm/slub.c:4711!",
            "NMI: IOCK error (debug interrupt?) for reason 70 on CPU 0.",
            // The catalogue knows these by what follows the process's number, before all that the name might be taken for.
            "python3[48112]: unhandled level 2 translation fault (11) at 0x00000018, esr 0x92000006",
            "python3[48112]: segfault at 10 ip 00007f3c sp 00007ffd error 4 in libtorch.so[7f3c+5a]",
            "systemd[1]: Failed to start NVIDIA fabric manager service.",
            "NVRM: Xid (PCI:0000:61:00): 79, pid=4711, name=x (1) uses deprecated y, GPU has fallen off the bus.",
            "process 4711 hangs",
        ] {
            assert!(!is_worded_by_a_process(line.as_bytes()), "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_answered(line in proptest::collection::vec(any::<u8>(), 0..60)) {
            is_worded_by_a_process(&line);
        }

        #[test]
        fn no_name_of_a_process_gets_through(name in "[ -~]{1,15}", pid in 1u32..4_194_304) {
            let line = format!("{name} ({pid}) uses deprecated remap_file_pages() syscall.");
            prop_assert!(is_worded_by_a_process(line.as_bytes()));
        }
    }
}
