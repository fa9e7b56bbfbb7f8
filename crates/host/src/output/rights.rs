//! Giving up rights, for good, before a path of a user is touched.
use std::ffi::{CStr, CString};
use std::io;

use nix::errno::Errno;
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::{Gid, Uid, User};

/// `nobody` on every common distribution: for owners this node does not know, and for jobs of root.
const NOBODY: u32 = 65_534;

/// Address space, bytes: the catalogue, one buffer and what was found are below a tenth of it.
const MEMORY: u64 = 1 << 30;

/// Descriptors: the pipe's, a file's, a folder's, and what a name service opens.
const DESCRIPTORS: u64 = 64;

/// Becomes the owner of the job, where we are root, and limits what can still go wrong.
///
/// Where this node does not know the owner, its user id is taken with no group at all; a job of root is read with the
/// rights of nobody. Only one who `appends` can make a file longer.
///
/// # Errors
/// When any of the owner's missing rights could not be given up.
pub(super) fn give_up(owner: Option<u32>, seconds: u64, appends: bool) -> io::Result<()> {
    if let Some(owner) = owner {
        become_user(owner)?;
    }
    nix::sys::prctl::set_no_new_privs()?;
    limit(seconds, appends)
}

/// Whose rights are taken for a job of this user.
pub(super) const fn rights_of(owner: u32) -> u32 {
    if owner == 0 || owner == u32::MAX { NOBODY } else { owner }
}

fn become_user(owner: u32) -> io::Result<()> {
    let uid = Uid::from_raw(rights_of(owner));
    let known = if owner == rights_of(owner) { User::from_uid(uid).ok().flatten() } else { None };
    let group = known.as_ref().map_or(Gid::from_raw(NOBODY), |user| user.gid);
    let groups = known.as_ref().and_then(|user| groups(&user.name, group)).unwrap_or_default();
    nix::unistd::setgroups(&groups)?;
    nix::unistd::setresgid(group, group, group)?;
    nix::unistd::setresuid(uid, uid, uid)?;
    drop_capabilities()?;
    // The kernel forgets it when the ids change.
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
    if nix::unistd::setuid(Uid::from_raw(0)).is_ok() || !has_become(uid, group)? {
        return Err(io::Error::from(Errno::EPERM));
    }
    Ok(())
}

/// The owner's groups. None of them may be root's: a file that only root's group may read is none of the owner's output.
fn groups(name: &str, group: Gid) -> Option<Vec<Gid>> {
    let name: CString = CString::new(name).ok()?;
    let name: &CStr = &name;
    let mut groups = nix::unistd::getgrouplist(name, group).ok()?;
    groups.retain(|group| group.as_raw() != 0);
    Some(groups)
}

fn has_become(uid: Uid, gid: Gid) -> nix::Result<bool> {
    let users = nix::unistd::getresuid()?;
    let groups = nix::unistd::getresgid()?;
    Ok([users.real, users.effective, users.saved].iter().all(|id| *id == uid)
        && [groups.real, groups.effective, groups.saved].iter().all(|id| *id == gid))
}

/// Changing from root to another user drops them, unless somebody forbade that to this process.
fn drop_capabilities() -> io::Result<()> {
    /// `_LINUX_CAPABILITY_VERSION_3` of `linux/capability.h`.
    const VERSION: u32 = 0x2008_0522;
    let header: [u32; 2] = [VERSION, 0];
    let none: [u32; 6] = [0; 6];
    // SAFETY: the header is a version and a process id, the data two times effective, permitted, inheritable.
    let done = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A bug of ours, or a line that finds one, is to end in this process.
fn limit(seconds: u64, appends: bool) -> io::Result<()> {
    // The limit is on where a file ends, and the job's output may be of any length.
    let size = if appends { u64::MAX } else { 0 };
    for (resource, most) in [
        (Resource::RLIMIT_AS, MEMORY),
        (Resource::RLIMIT_CPU, seconds),
        (Resource::RLIMIT_FSIZE, size),
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_NOFILE, DESCRIPTORS),
        (Resource::RLIMIT_NPROC, 0),
    ] {
        let (_, hard) = nix::sys::resource::getrlimit(resource)?;
        setrlimit(resource, most.min(hard), most.min(hard))?;
    }
    Ok(())
}
