//! Taking people and places out of a bundle before it is given away: user names, paths and addresses. The same name
//! always becomes the same other one within one bundle, by a key that is made for it and kept nowhere.
//!
//! Names of nodes stay, without their domain: whoever reads the bundle has to be able to say which one is bad. So do
//! the system's own folders, libraries' paths below `site-packages`, addresses of this host itself, and everything that tells
//! devices apart.
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, Ipv6Addr};
use triage_core::arrange::Arrange as _;
use triage_core::arrange::Gather as _;

use triage_core::attribute::JobEvidence;
use triage_core::catalog::{Catalog, Origin};
use triage_core::joblog;

use super::addresses::{self, Piece};
use super::paths::{self, ENDING, LIBRARIES, ROOTS, SYSTEM};

/// Longest word that is looked at, bytes: the longest path there is.
const LONGEST: usize = 4096;

/// Gives other names to people and places.
pub struct Redactor<'c> {
    keys: RandomState,
    users: BTreeSet<String>,
    by_length: Vec<String>,
    nodes: BTreeSet<String>,
    addresses: HashMap<Ipv4Addr, Ipv4Addr>,
    taken: HashSet<Ipv4Addr>,
    catalog: &'c Catalog,
}

impl<'c> Redactor<'c> {
    /// For the bundle of this evidence; `catalog` tells which lines of the job's output must keep their meaning.
    pub fn new(evidence: &JobEvidence, catalog: &'c Catalog) -> Self {
        let users = std::iter::once(&evidence.run.user).chain(evidence.history.iter().map(|run| &run.user));
        // Slurm's own name for who is not known, a number, and root say nothing.
        let names_somebody =
            |user: &&str| user.len() > 1 && *user != "root" && !user.bytes().all(|b| b.is_ascii_digit());
        // `CORP\\ann`, `ann@corp.com`: programs print the short name.
        let parts = |user: &'_ str| {
            let short = user.rsplit('\\').next().unwrap_or(user);
            let short = short.split('@').next().unwrap_or(short);
            [user.to_owned(), short.to_owned()]
        };
        let users: BTreeSet<String> =
            users.flat_map(|user| parts(user)).filter(|user| names_somebody(&user.as_str())).into_set();
        let mut by_length: Vec<String> = users.iter().cloned().collect();
        by_length.arrange_by_key(|user| std::cmp::Reverse(user.len()));
        Self {
            keys: RandomState::new(),
            users,
            by_length,
            nodes: evidence.nodes.iter().map(|node| node.node.as_str().to_owned()).collect(),
            addresses: HashMap::new(),
            taken: HashSet::new(),
            catalog,
        }
    }

    /// A name that was somebody's.
    pub(super) fn user(&self, name: &str) -> String {
        if self.users.contains(name) { self.other("user", name) } else { name.to_owned() }
    }

    /// One text.
    pub(super) fn text(&mut self, text: &str) -> String {
        String::from_utf8_lossy(&self.line(text.as_bytes(), true)).into_owned()
    }

    /// What a job printed, line by line. A line that means something keeps its meaning, and if a user should be called
    /// `error`, that word in it.
    pub(super) fn output(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        for line in bytes.split_inclusive(|b| *b == b'\n') {
            let other = self.line(line, true);
            if joblog::is_candidate(line) && self.means(line) != self.means(&other) {
                out.extend(self.line(line, false));
            } else {
                out.extend(other);
            }
        }
        out
    }

    /// A line of a kernel's log.
    pub(super) fn kernel(&mut self, text: &str) -> String {
        let meaning =
            |text: &str| self.catalog.read(Origin::Kernel, text.as_bytes()).map(|meaning| meaning.code);
        let before = meaning(text);
        let other = self.text(text);
        let after = self.catalog.read(Origin::Kernel, other.as_bytes()).map(|meaning| meaning.code);
        if before == after {
            other
        } else {
            String::from_utf8_lossy(&self.line(text.as_bytes(), false)).into_owned()
        }
    }

    fn means(&self, line: &[u8]) -> Option<triage_core::Code> {
        joblog::read_line(self.catalog, line.trim_ascii_end()).map(|meaning| meaning.code)
    }

    fn line(&mut self, line: &[u8], words: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(line.len());
        let mut rest = line;
        while !rest.is_empty() {
            let gap = rest.iter().take_while(|b| !is_of_token(**b)).count();
            let (before, after) = rest.split_at(gap);
            out.extend_from_slice(before);
            let length = after.iter().take_while(|b| is_of_token(**b)).count();
            let (token, more) = after.split_at(length);
            match std::str::from_utf8(token) {
                // Nothing that anybody would look for, and whose secrets it holds nobody can tell.
                _ if length > LONGEST => out.extend_from_slice(format!("({length} bytes)").as_bytes()),
                // Most words of a log: nothing that a path or an address is made of, and nobody's name.
                Ok(word) if is_plain(token) && !(words && self.names_in(word)) => {
                    out.extend_from_slice(token);
                }
                Ok(token) => out.extend_from_slice(self.token(token, words).as_bytes()),
                // A name in another encoding is somebody's all the same.
                Err(_) if token.contains(&b'/') => out.extend_from_slice(b"(path)"),
                Err(_) => {
                    for chunk in token.utf8_chunks() {
                        out.extend_from_slice(self.token(chunk.valid(), words).as_bytes());
                        out.extend_from_slice(chunk.invalid());
                    }
                }
            }
            rest = more;
        }
        out
    }

    fn names_in(&self, word: &str) -> bool {
        self.users.iter().any(|user| find_name(word, user, 0).is_some())
    }

    fn token(&mut self, token: &str, words: bool) -> String {
        let bare = token.trim_end_matches(['.', ':']);
        let tail = token.get(bare.len()..).unwrap_or_default();
        let mut out = String::with_capacity(token.len());
        for piece in addresses::split(bare) {
            match piece {
                Piece::Text(text) => self.between_addresses(text, words, &mut out),
                Piece::Mac(mac) => {
                    let [a, b, c, d, e, ..] = self.hash("mac", mac).to_be_bytes();
                    let _ = write!(out, "02:{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}");
                }
                Piece::V4(address) => out.push_str(&self.v4(address).to_string()),
                Piece::V6(text, address) => out.push_str(&self.v6(text, address)),
            }
        }
        out + tail
    }

    /// Paths, and what stands before and between them. Without recursion: a line may be all colons and slashes.
    fn between_addresses(&mut self, text: &str, words: bool, out: &mut String) {
        let mut rest = text;
        while let Some(at) = paths::begin(rest, words) {
            let (before, path) = rest.split_at(at);
            out.push_str(&self.words(before, words));
            let end = path.find(':').unwrap_or(path.len());
            let (path, behind) = path.split_at(end);
            out.push_str(&self.path(path));
            let sign = behind.get(..1).unwrap_or_default();
            out.push_str(sign);
            rest = behind.get(sign.len()..).unwrap_or_default();
        }
        out.push_str(&self.words(rest, words));
    }

    fn v6(&mut self, text: &str, address: Ipv6Addr) -> String {
        if let Some(mapped) = address.to_ipv4_mapped() {
            return format!("::ffff:{}", self.v4(mapped));
        }
        if address.is_loopback() || address.is_unspecified() {
            return text.to_owned();
        }
        let [a, b, c, d, ..] = self.hash("v6", &address.to_string()).to_be_bytes();
        format!("2001:db8::{a:x}{b:02x}:{c:x}{d:02x}")
    }

    /// Words between colons and the like.
    fn words(&mut self, text: &str, words: bool) -> String {
        if let Some((name, host)) = text.split_once('@').filter(|(name, host)| words && is_mail(name, host)) {
            return format!("{}@{}", self.other("user", name), self.word(host, words));
        }
        let mut out = String::with_capacity(text.len());
        for part in text.split_inclusive([':', '/', '@', '%', '#', '~']) {
            let word = part.trim_end_matches([':', '/', '@', '%', '#', '~']);
            let sign = part.get(word.len()..).unwrap_or_default();
            out.push_str(&self.word(word, words));
            out.push_str(sign);
        }
        out
    }

    fn word(&mut self, word: &str, words: bool) -> String {
        if let Some((host, domain)) = word.split_once('.') {
            let is_node = self.nodes.contains(host);
            if is_node && (domain.contains('.') || is_domain(word)) {
                return format!("{host}.{}", self.other("domain", domain));
            }
            if words && !is_node && is_domain(word) {
                return format!("{}.{}", self.other("host", host), self.other("domain", domain));
            }
        }
        if words { self.without_users(word) } else { word.to_owned() }
    }

    /// The text with every user in it called otherwise, where their name stands for itself.
    fn without_users(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // The longest first: `ann-b` before `ann`.
        for user in &self.by_length {
            let mut from = 0;
            while let Some(at) = find_name(&text, user, from) {
                let other = self.other("user", user);
                text.replace_range(at..at + user.len(), &other);
                from = at + other.len();
            }
        }
        text
    }

    fn path(&self, path: &str) -> String {
        let mut kept = false;
        let in_root = |place: usize| place == 1 && path.starts_with('/');
        let mut out = String::with_capacity(path.len());
        for (place, part) in path.split('/').enumerate() {
            if place > 0 {
                out.push('/');
            }
            kept |= LIBRARIES.contains(&part) || (in_root(place) && SYSTEM.contains(&part));
            if kept || matches!(part, "" | "." | ".." | "~") || (in_root(place) && ROOTS.contains(&part)) {
                out.push_str(part);
            } else {
                out.push_str(&self.part(part));
            }
        }
        out
    }

    /// One name in a path; its ending says what kind of file it is.
    fn part(&self, name: &str) -> String {
        if self.users.contains(name) {
            return self.other("user", name);
        }
        let plain = |ending: &&str| {
            !ending.is_empty() && ending.len() <= ENDING && ending.bytes().all(|b| b.is_ascii_alphanumeric())
        };
        let ending = name.rsplit_once('.').map(|(_, ending)| ending).filter(plain);
        let other = self.other("p", name);
        ending.map_or_else(|| other.clone(), |ending| format!("{other}.{ending}"))
    }

    /// An address of the range that is kept for measurements (RFC 2544), so that it still reads as one.
    fn v4(&mut self, address: Ipv4Addr) -> Ipv4Addr {
        if address.is_loopback() || address.is_unspecified() || address.is_broadcast() {
            return address;
        }
        if let Some(known) = self.addresses.get(&address) {
            return *known;
        }
        let mut host = self.hash("v4", &address.to_string());
        let mut other = measured(host);
        // There are 131,072 of them; a bundle with more addresses than that lets two share one.
        for _ in 0..1000 {
            if self.taken.insert(other) {
                break;
            }
            host = host.wrapping_add(1);
            other = measured(host);
        }
        self.addresses.insert(address, other);
        other
    }

    fn other(&self, kind: &str, name: &str) -> String {
        format!("{kind}-{:08x}", self.hash(kind, name) >> 32)
    }

    fn hash(&self, kind: &str, name: &str) -> u64 {
        self.keys.hash_one((kind, name))
    }
}

/// `198.18.0.0/15`.
fn measured(host: u64) -> Ipv4Addr {
    let [.., a, b, c] = host.to_be_bytes();
    Ipv4Addr::new(198, 18 + (a & 1), b, c)
}

fn is_plain(token: &[u8]) -> bool {
    !token.iter().any(|b| matches!(b, b'/' | b'.' | b':' | b'@'))
}

/// Where `name` stands for itself in `text`, from `from` on: no letter or digit touches it.
fn find_name(text: &str, name: &str, from: usize) -> Option<usize> {
    let alone = |at: usize| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    };
    let places = text.get(from..)?.match_indices(name).map(|(at, _)| from + at);
    places.into_iter().find(|at| alone(*at))
}

/// `name@host.domain`.
fn is_mail(name: &str, host: &str) -> bool {
    let has_ending = host
        .rsplit_once('.')
        .is_some_and(|(_, ending)| ending.len() > 1 && ending.bytes().all(|b| b.is_ascii_alphabetic()));
    !name.is_empty() && has_ending && !name.contains([':', '/']) && !host.contains([':', '/', '@'])
}

/// `login1.hpc.corp.com`: what ends like a name of the Internet or of a site's own network. Modules of programs
/// have dots as well, so only common endings count.
fn is_domain(word: &str) -> bool {
    const ENDINGS: &[&str] = &[
        "com",
        "org",
        "net",
        "edu",
        "gov",
        "mil",
        "int",
        "local",
        "localdomain",
        "internal",
        "lan",
        "corp",
        "intra",
        "arpa",
        "ai",
        "eu",
        "de",
        "fr",
        "uk",
        "ch",
        "at",
        "nl",
        "be",
        "se",
        "fi",
        "dk",
        "es",
        "pt",
        "pl",
        "cz",
        "it",
        "jp",
        "cn",
        "kr",
        "tw",
        "sg",
        "us",
        "ca",
        "au",
        "br",
        "il",
        "sa",
        "ru",
    ];
    let label = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    word.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending)) && word.split('.').all(label)
}

/// What stands together: words, paths, addresses.
const fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || byte >= 0x80
        || matches!(byte, b'_' | b'.' | b'/' | b':' | b'-' | b'~' | b'+' | b'@' | b'%' | b'#')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;
    use triage_core::attribute::{NodeEvidence, RunFacts};

    static CATALOG: LazyLock<Catalog> = LazyLock::new(triage_catalog::embedded);

    fn redactor(user: &str) -> Redactor<'static> {
        let run = RunFacts { user: user.to_owned(), ..RunFacts::default() };
        let node = NodeEvidence { node: "gpu7".into(), ..NodeEvidence::default() };
        Redactor::new(&JobEvidence { run, nodes: vec![node], ..JobEvidence::default() }, &CATALOG)
    }

    #[test]
    fn people_and_places_are_gone_and_devices_stay() {
        let mut redactor = redactor("ann");
        let line = "ann@gpu7.hpc.corp.com: File \"/home/ann/secret/train.py\", line 3, 10.1.2.3:29500 10.1.2.3<9> \
                    fe80::1:2:3:4 b8:ce:f6:00:11:22 ann-run ::ffff:10.1.2.3 server:/vol/ann/x /lustre/team/ckpt.pt";
        let told = redactor.text(line);
        for gone in ["ann", "corp", "secret", "train", "10.1.2.3", "fe80", "b8:ce", "team", "ckpt", "/vol/"] {
            assert!(!told.contains(gone), "{gone}: {told}");
        }
        for kept in
            ["gpu7.", "/home/", ".py\", line 3", ":29500", "<9>", "server:/", "/lustre/", ".pt", "-run"]
        {
            assert!(told.contains(kept), "{kept}: {told}");
        }
        let plain = "NVRM: Xid (PCI:0000:61:00): 79, GPU-4f2a /dev/nvidia0 it/s 3/4 12:00:05 127.0.0.1 0.0.0.0 std::bad_alloc \
                     /usr/lib/x86_64-linux-gnu/libnccl.so.2 mlx5_0 error";
        assert_eq!(redactor.text(plain), plain);
    }

    #[test]
    fn names_are_found_where_programs_really_put_them() {
        for (user, line) in [
            ("ann.b", "run ann.b-7 by ann.b@corp and /data/ann.b_old"),
            ("ann_b", "ann_b.log x/ann_b/y ann_b's"),
            ("CORP\\annb", "annb@corp CORP\\annb: job of annb"),
            ("annb@corp.com", "annb's run, annb@corp.com"),
        ] {
            let told = redactor(user).text(line);
            assert!(!told.contains("ann"), "{user}: {told}");
        }
        // A longer name is another one, and a name in another encoding is one.
        assert_eq!(redactor("ann").text("annual channel"), "annual channel");
        let told = redactor("ann").output(b"x\xff_ann_\xffy ann\xff\n");
        assert!(!told.windows(3).any(|bytes| bytes == b"ann"), "{}", String::from_utf8_lossy(&told));
    }

    #[test]
    fn places_are_found_whatever_they_are_glued_to() {
        let line = "mail eve.doe@corp.com ib0:fe80::ba59:9fff:fe12:3456%ib0<0> 10.1.2.3-10.1.2.9 fe80::1/64 \
                    login1.hpc.corp.com -I/home/eve/include ~/secret/x ./secret/y data/secret-7/z.pt gpu7.corp.com \
                    {\"/home/eve/secret\":1} --out=/scratch/secret s3://secret/x.pt https://corp.com/secret";
        let told = redactor("ann").text(line);
        for gone in ["eve", "corp", "ba59", "10.1.2", "fe80", "login1", "secret"] {
            assert!(!told.contains(gone), "{gone}: {told}");
        }
        for kept in ["ib0:", "%ib0<0>", "/64", "gpu7.", "-I/home/", "~/", ".pt"] {
            assert!(told.contains(kept), "{kept}: {told}");
        }
        for plain in [
            "NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read NET/IB/0/GDRDMA",
            "src/transport/net_ib.cc:123 -> 2 ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1234",
            "torch.nn.modules.linear 3/4 1.5it/s N/A TCP/IP n1:801:850 [0] c10::Error train.py",
        ] {
            assert_eq!(redactor("ann").text(plain), plain);
        }
    }

    #[test]
    fn a_line_of_nothing_but_signs_ends_soon_and_overflows_nothing() {
        for unit in ["/a/b:", ":", "/", "fe80::1%", "@", "10.1.2.3:", "~/a.b:", "a.", "1:"] {
            let line = unit.repeat((1 << 20) / unit.len());
            let told = redactor("ann").output(line.as_bytes());
            assert!(told.len() < 64, "{unit}");
            // As long as it may be, thousands of times.
            let word = unit.repeat(LONGEST / unit.len());
            let told = redactor("ann").output(format!("{word}\n").repeat(20).as_bytes());
            assert_eq!(told.iter().filter(|b| **b == b'\n').count(), 20);
        }
    }

    #[test]
    fn one_name_becomes_one_other_name_in_one_bundle_and_another_in_the_next() {
        let mut first = redactor("ann");
        let told = first.text("/home/ann/x ann 10.0.0.1 10.0.0.2 /home/ann/x 10.0.0.1");
        let words: Vec<&str> = told.split(' ').collect();
        assert_eq!((words[0], words[2]), (words[4], words[5]));
        assert_ne!(words[2], words[3]);
        assert!(words[0].contains(words[1]), "{told}");
        assert!(words[2].parse::<Ipv4Addr>().is_ok());
        assert_ne!(redactor("ann").text("/home/ann/x"), first.text("/home/ann/x"));
    }

    #[test]
    fn a_user_called_error_takes_no_meaning_away() {
        let line = b"RuntimeError: CUDA error: uncorrectable ECC error encountered\n";
        assert_eq!(redactor("error").output(line), line);
    }

    #[test]
    fn libraries_keep_their_names() {
        let told = redactor("ann").text("/home/ann/venv/lib/python3.12/site-packages/torch/nn/x.py");
        assert!(told.ends_with("/site-packages/torch/nn/x.py") && !told.contains("venv"), "{told}");
    }

    proptest! {
        #[test]
        fn no_known_name_is_left(before in "[ -~]{0,30}", after in "[ -~]{0,30}") {
            let mut redactor = redactor("zqx");
            let told = redactor.text(&format!("{before} zqx 172.16.254.9 {after}"));
            prop_assert!(!told.contains(" zqx ") && !told.contains(" 172.16.254.9 "), "{}", told);
        }

        #[test]
        fn any_bytes_are_taken_and_lines_stay_lines(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let lines = |bytes: &[u8]| bytes.iter().filter(|b| **b == b'\n').count();
            let told = redactor("ann").output(&bytes);
            prop_assert_eq!(lines(&told), lines(&bytes));
        }
    }
}
