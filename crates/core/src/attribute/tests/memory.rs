//! Out of memory.
use super::*;

fn kill(pid: u32, cgroup: bool, by_owner: &[(u32, u64)]) -> OomKill {
    OomKill {
        at: at(400.0),
        pid,
        uid: Some(7001),
        cgroup,
        by_owner: by_owner.to_vec(),
        text: "oom-kill".to_owned(),
        ..OomKill::default()
    }
}

fn scene_with(kill: OomKill) -> Attribution {
    let mut job = Job::running(2);
    job.evidence.nodes[1].oom.push(kill);
    job.dies(5, 400.4, ExitStatus::Signal(9)).all_killed(404.0, 15);
    attribute(&job.evidence)
}

#[test]
fn a_job_that_meets_its_own_limit_is_its_own_doing() {
    let found = scene_with(kill(5005, true, &[]));
    assert_eq!((found.class, found.rule), (CauseClass::Application, "out_of_memory"));
    assert!(found.culprits.is_empty());
}

#[test]
fn a_machine_filled_by_somebody_else_is_the_machines_trouble() {
    let found = scene_with(kill(5005, false, &[(0, 900), (7001, 30)]));
    assert_eq!((found.class, found.culprits.clone()), (CauseClass::System, culprit("n2", "")));
    let found = scene_with(kill(5005, false, &[(7001, 900), (0, 30)]));
    assert_eq!(found.class, CauseClass::Application);
}

#[test]
fn a_kill_in_another_jobs_cgroup_is_none_of_ours() {
    let other = OomKill { task_memcg: "/slurm/job_999/step_0".to_owned(), ..kill(31, true, &[]) };
    assert_ne!(scene_with(other).rule, "out_of_memory");
}

#[test]
fn slurms_word_is_enough() {
    let mut job = Job::running(2);
    job.state("OUT_OF_MEMORY").dies(5, 400.4, ExitStatus::Signal(9)).all_killed(404.0, 15);
    assert_eq!(attribute(&job.evidence).class, CauseClass::Application);
}

#[test]
fn where_nobody_read_the_report_its_lines_are_enough() {
    let mut job = Job::running(2);
    let killed = crate::Event {
        text: "Memory cgroup out of memory: Killed process 5005 (run) total-vm:9kB, anon-rss:9kB, UID:7001"
            .to_owned(),
        ..event("oom.cgroup", Resource::Process(5005), CauseClass::Application, Advice::None)
    };
    job.kernel(1, 400.0, killed).dies(5, 400.4, ExitStatus::Signal(9)).all_killed(404.0, 15);
    let found = attribute(&job.evidence);
    assert_eq!((found.class, found.rule), (CauseClass::Application, "out_of_memory"));
}
