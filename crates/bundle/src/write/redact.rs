//! Taking people and places out of a bundle before it is given away: user names, paths and addresses. The same name
//! always becomes the same other one within one bundle, by a key that is made for it and kept nowhere.
//!
//! Names of nodes stay, without their domain: whoever reads the bundle has to be able to say which one is bad. So do
//! the system's own folders, libraries' paths below `site-packages`, addresses of this host itself, and everything that tells
//! devices apart.
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use triage_core::attribute::JobEvidence;
use triage_core::catalog::{Catalog, Origin};
use triage_core::joblog;

/// Folders in the root that hold the system; what lies below them names nobody.
const SYSTEM: &[&str] =
    &["bin", "boot", "dev", "etc", "lib", "lib64", "opt", "proc", "run", "sbin", "sys", "usr"];

/// Folders in the root whose name says what kind of filesystem it is; what lies below them is named by people.
const ROOTS: &[&str] = &[
    "beegfs", "data", "efs", "export", "fs", "fsx", "gpfs", "home", "local", "lustre", "mnt", "net", "nfs",
    "projects", "root", "scratch", "shared", "srv", "tmp", "users", "var", "vast", "weka", "work",
];

/// Below these, names are those of libraries.
const LIBRARIES: &[&str] = &["site-packages", "dist-packages"];

/// Longest ending of a file's name that stays.
const ENDING: usize = 6;

/// Gives other names to people and places.
pub struct Redactor<'c> {
    keys: RandomState,
    users: BTreeSet<String>,
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
            |user: &&String| user.len() > 1 && *user != "root" && !user.bytes().all(|b| b.is_ascii_digit());
        Self {
            keys: RandomState::new(),
            users: users.filter(names_somebody).cloned().collect(),
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
                // Most words of a log: nothing that a path or an address is made of, and nobody's name.
                Ok(word) if is_plain(token) && !(words && self.names_in(word)) => {
                    out.extend_from_slice(token);
                }
                Ok(token) => out.extend_from_slice(self.token(token, words).as_bytes()),
                // A name in another encoding is somebody's all the same.
                Err(_) if token.contains(&b'/') => out.extend_from_slice(b"(path)"),
                Err(_) => out.extend_from_slice(token),
            }
            rest = more;
        }
        out
    }

    fn names_in(&self, word: &str) -> bool {
        self.users.contains(word)
            || word.split(|c: char| !c.is_alphanumeric()).any(|part| self.users.contains(part))
    }

    fn token(&mut self, token: &str, words: bool) -> String {
        let bare = token.trim_end_matches(['.', ':']);
        let tail = token.get(bare.len()..).unwrap_or_default();
        if let Some(other) = self.whole(bare) {
            return other + tail;
        }
        let slash = bare.find('/').filter(|at| *at == 0 || bare.as_bytes().get(at - 1) == Some(&b':'));
        match slash.and_then(|at| bare.split_at_checked(at)) {
            Some((before, path)) if path.trim_matches('/').contains('/') || path.len() > 2 => {
                let (path, behind) = match path.split_once(':') {
                    Some((path, behind)) => (path, Some(behind)),
                    None => (path, None),
                };
                let before = self.words(before, words);
                let behind =
                    behind.map(|behind| format!(":{}", self.token(behind, words))).unwrap_or_default();
                format!("{before}{}{behind}{tail}", self.path(path))
            }
            _ => self.words(bare, words) + tail,
        }
    }

    /// Addresses that hold the signs at which words are split.
    fn whole(&mut self, token: &str) -> Option<String> {
        let colons = token.bytes().filter(|b| *b == b':').count();
        let is_mac = token.len() == 17
            && colons == 5
            && token.split(':').all(|part| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit()));
        if is_mac {
            let [a, b, c, d, e, ..] = self.hash("mac", token).to_be_bytes();
            return Some(format!("02:{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}"));
        }
        if let Some(mapped) = token.strip_prefix("::ffff:")
            && let Ok(address) = mapped.parse::<Ipv4Addr>()
        {
            return Some(format!("::ffff:{}", self.v4(address)));
        }
        // `c10::d` is no address.
        let address: Ipv6Addr = token.parse().ok().filter(|_| colons >= 3)?;
        let [a, b, c, d, ..] = self.hash("v6", &address.to_string()).to_be_bytes();
        let plain = address.is_loopback() || address.is_unspecified();
        Some(if plain { token.to_owned() } else { format!("2001:db8::{a:x}{b:02x}:{c:x}{d:02x}") })
    }

    /// Words between colons and the like.
    fn words(&mut self, text: &str, words: bool) -> String {
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
        if let Ok(IpAddr::V4(address)) = word.parse() {
            return self.v4(address).to_string();
        }
        if let Some((host, domain)) = word.split_once('.')
            && self.nodes.contains(host)
            && domain.contains('.')
        {
            return format!("{host}.{}", self.other("domain", domain));
        }
        if !words || self.users.is_empty() {
            return word.to_owned();
        }
        if self.users.contains(word) {
            return self.other("user", word);
        }
        let is_sign = |c: char| !c.is_alphanumeric();
        word.split_inclusive(is_sign)
            .map(|part| {
                let bare = part.trim_end_matches(is_sign);
                self.user(bare) + part.get(bare.len()..).unwrap_or_default()
            })
            .collect()
    }

    fn path(&self, path: &str) -> String {
        let mut kept = false;
        let mut out = String::with_capacity(path.len());
        for (place, part) in path.split('/').enumerate() {
            if place > 0 {
                out.push('/');
            }
            kept |= LIBRARIES.contains(&part) || (place == 1 && SYSTEM.contains(&part));
            if kept || matches!(part, "" | "." | "..") || (place == 1 && ROOTS.contains(&part)) {
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
    !token.iter().any(|b| matches!(b, b'/' | b'.' | b':'))
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
