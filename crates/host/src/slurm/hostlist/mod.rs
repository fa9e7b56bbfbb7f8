//! Node lists: `n[1-4,7],gpu-[01-03]-[1-2]`.
mod fold;

pub use fold::fold;
use triage_core::NodeName;

/// Most nodes one list expands to. Slurm's own limit is 64 K nodes in a cluster.
pub const MAX_NODES: usize = 65_536;

/// Longest list looked at, bytes.
const MAX_LIST: usize = 1024 * 1024;

/// Longest name, bytes; Slurm keeps 64 in its own tables, DNS 255.
const MAX_NAME: usize = 255;

/// Most brackets in one name: Slurm takes one for each dimension of a machine, five at most.
const MAX_BRACKETS: usize = 8;

/// A list that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostlistError {
    /// Brackets that do not match, a range that runs backwards, an empty name.
    #[error("\"{0}\" is no node list")]
    Syntax(String),
    /// More nodes than any cluster has.
    #[error("the node list names more than {MAX_NODES} nodes")]
    TooMany,
}

/// The nodes of a list, in its order. An empty list and `(null)` name none.
///
/// # Errors
/// When the text is no list, or names too many nodes.
pub fn expand(list: &str) -> Result<Vec<NodeName>, HostlistError> {
    let list = list.trim();
    if list.is_empty() || list == "(null)" {
        return Ok(Vec::new());
    }
    let bad = || HostlistError::Syntax(list.chars().take(80).collect());
    if list.len() > MAX_LIST {
        return Err(HostlistError::TooMany);
    }
    let mut nodes = Vec::new();
    for part in top_level(list).ok_or_else(bad)? {
        let mut names = vec![String::new()];
        expand_part(part, &mut names).map_err(|error| error.unwrap_or_else(bad))?;
        if nodes.len() + names.len() > MAX_NODES {
            return Err(HostlistError::TooMany);
        }
        nodes.extend(names.into_iter().map(NodeName::new));
    }
    if nodes.iter().all(NodeName::is_safe) { Ok(nodes) } else { Err(bad()) }
}

/// Splits at commas outside brackets.
fn top_level(list: &str) -> Option<Vec<&str>> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_u32, 0);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => {
                parts.push(list.get(start..at)?);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(list.get(start..)?);
    (depth == 0).then_some(parts)
}

/// Multiplies `names` by every piece of `part`. `Err(None)`: no list.
fn expand_part(part: &str, names: &mut Vec<String>) -> Result<(), Option<HostlistError>> {
    // Before it is multiplied: a long name times many numbers would fill memory, and many brackets take for ever.
    if outside_brackets(part) > MAX_NAME || part.matches('[').count() > MAX_BRACKETS {
        return Err(None);
    }
    let mut rest = part;
    while let Some((plain, after)) = rest.split_once('[') {
        let (ranges, tail) = after.split_once(']').ok_or(None)?;
        names.iter_mut().for_each(|name| name.push_str(plain));
        let numbers = numbers(ranges)?;
        if names.len().saturating_mul(numbers.len()) > MAX_NODES {
            return Err(Some(HostlistError::TooMany));
        }
        *names = names.iter().flat_map(|name| numbers.iter().map(move |n| format!("{name}{n}"))).collect();
        rest = tail;
    }
    names.iter_mut().for_each(|name| name.push_str(rest));
    Ok(())
}

/// Bytes of a part that stand in each of its names.
fn outside_brackets(part: &str) -> usize {
    let pieces = part.split('[').map(|piece| piece.split_once(']').map_or(piece, |(_, behind)| behind));
    pieces.map(str::len).sum()
}

/// `01-03,7` as `01 02 03 7`: the width of the first number of a range is kept.
fn numbers(ranges: &str) -> Result<Vec<String>, Option<HostlistError>> {
    let mut all = Vec::new();
    for range in ranges.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let digits =
            |text: &str| !text.is_empty() && text.len() <= 9 && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(low) || !digits(high) {
            return Err(None);
        }
        let (from, to): (usize, usize) = (low.parse().map_err(|_| None)?, high.parse().map_err(|_| None)?);
        if from > to {
            return Err(None);
        }
        if all.len() + (to - from) >= MAX_NODES {
            return Err(Some(HostlistError::TooMany));
        }
        let width = low.len();
        all.extend((from..=to).map(|n| format!("{n:0width$}")));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(list: &str) -> Vec<String> {
        expand(list).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn ranges_keep_their_width_and_order() {
        assert_eq!(names("n[1-3,7]"), ["n1", "n2", "n3", "n7"]);
        assert_eq!(names("gpu-[08-10]"), ["gpu-08", "gpu-09", "gpu-10"]);
        assert_eq!(names("r[1-2]c[1-2],login"), ["r1c1", "r1c2", "r2c1", "r2c2", "login"]);
        assert_eq!(names("n3"), ["n3"]);
        assert_eq!(names("(null)"), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for bad in ["n[1-", "n]1[", "n[3-1]", "n[a-b]", "n[]", ",", "a,,b", "n[1-2", "../x", "n 1", "n[1-2]]"]
        {
            assert!(expand(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_list_made_to_fill_memory_is_refused() {
        assert_eq!(expand("n[0-999999999]"), Err(HostlistError::TooMany));
        assert_eq!(expand("n[1-999][1-999][1-999]"), Err(HostlistError::TooMany));
        assert_eq!(expand(&"n,".repeat(100_000)), Err(HostlistError::TooMany));
        assert!(expand(&format!("{}[1-60000]", "n".repeat(900_000))).is_err());
        assert!(expand(&format!("[1-60000]{}", "n".repeat(900_000))).is_err());
        assert!(expand(&format!("n[1-60000]{}[1-1]", "n".repeat(900_000))).is_err());
        assert!(expand(&"n[1-2]".repeat(1_000)).is_err());
        assert!(expand(&format!("n[1-60000]{}", "[1-1]".repeat(20_000))).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".{0,64}") {
            let _ = expand(&text);
        }
    }
}
