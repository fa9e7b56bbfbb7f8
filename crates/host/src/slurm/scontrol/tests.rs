use triage_core::{ArrayId, Stamp};

use super::*;
use crate::testkit::{Scripted, answered, failed};

fn scontrol(runner: &Scripted) -> Scontrol<'_> {
    Scontrol {
        runner,
        program: "/usr/bin/scontrol".into(),
        conf: Some("/etc/slurm/slurm.conf".into()),
        deadline: Duration::from_secs(3),
    }
}

fn names(list: &[&str]) -> Vec<NodeName> {
    list.iter().map(|name| NodeName::from(*name)).collect()
}

#[test]
fn it_is_run_by_absolute_path_with_little_environment_and_a_deadline() {
    let runner = Scripted::in_order([answered("NodeName=n1 State=IDLE\n")]);
    scontrol(&runner).node(&NodeName::from("n1")).unwrap();
    let command = &runner.commands()[0];
    assert_eq!(command.program, std::path::Path::new("/usr/bin/scontrol"));
    assert_eq!(command.args, ["-o", "show", "node", "n1"]);
    assert_eq!(command.env.keys().collect::<Vec<_>>(), ["SLURM_CONF", "SLURM_TIME_FORMAT"]);
    assert_eq!(command.deadline, Duration::from_secs(3));
}

#[test]
fn a_name_that_could_mean_more_than_one_is_never_given_to_it() {
    let runner = Scripted::in_order([]);
    let slurm = scontrol(&runner);
    for name in ["ALL", "all", "n[1-9]", "n1,n2", "", "-v", "n1 State=DOWN"] {
        let node = NodeName::from(name);
        assert!(matches!(slurm.drain(&node, "r"), Err(ScontrolError::BadName(_))), "{name}");
        assert!(
            slurm.undrain(&node).is_err()
                && slurm.node(&node).is_err()
                && slurm.set_extra(&node, "").is_err()
        );
        assert!(slurm.exclude("7", &[node]).is_err());
    }
    for name in ["", "7,8", "7_", "7_[1-3]", "-1", "all", "7_3_1", "7+1"] {
        assert!(matches!(slurm.requeue(name, false), Err(ScontrolError::BadName(_))), "{name}");
        assert!(slurm.start_now(name).is_err());
    }
    for name in ["", "7,8", "7_", "7_3_1", "7+", "+1", "7+1+2", "7_3+1", "7+[0-1]", "7+all"] {
        assert!(slurm.exclude(name, &names(&["n1"])).is_err(), "{name}");
    }
    assert!(runner.asked().is_empty());
}

#[test]
fn no_nodes_are_no_question_for_all_nodes() {
    let runner = Scripted::in_order([]);
    assert_eq!(scontrol(&runner).nodes(&[]), Ok(Vec::new()));
    assert!(runner.asked().is_empty());
}

#[test]
fn an_array_task_is_asked_for_by_its_own_name() {
    let record = "JobId=43 ArrayJobId=42 ArrayTaskId=1 JobName=x JobState=RUNNING\n";
    let runner = Scripted::in_order([answered(record), answered(record)]);
    let slurm = scontrol(&runner);
    let array = Some(ArrayId { job: 42, task: 1 });
    let start = Stamp::from_secs(1);
    let run = RunId { cluster: "c".into(), job: 43, array, het: None, restart: 0, start };
    assert!(slurm.job_of(&run).is_ok());
    assert!(slurm.job_of(&RunId { array: None, het: Some(9), ..run }).is_ok());
    assert_eq!(runner.asked(), ["-o show job 42_1", "-o show job 43"]);
}

#[test]
fn each_command_says_what_it_means() {
    let runner = Scripted::new(|_| answered(""));
    let slurm = scontrol(&runner);
    let node = NodeName::from("n1");
    slurm.drain(&node, "slurm-triage: xid.79 gpu:0000:61:00.0 [case 0a1b2c3d]").unwrap();
    slurm.undrain(&node).unwrap();
    slurm.set_extra(&node, "{\"a\": 1}").unwrap();
    slurm.requeue("42_1", false).unwrap();
    slurm.requeue("42", true).unwrap();
    slurm.exclude("42_1", &names(&["n1", "n2", "x"])).unwrap();
    slurm.start_now("42_1").unwrap();
    let args: Vec<Vec<String>> = runner.commands().into_iter().map(|command| command.args).collect();
    assert_eq!(
        args[0][3], "Reason=slurm-triage: xid.79 gpu:0000:61:00.0 [case 0a1b2c3d]",
        "one argument, no shell"
    );
    assert_eq!(
        runner.asked()[1..],
        [
            "update NodeName=n1 State=UNDRAIN",
            "update NodeName=n1 Extra={\"a\": 1}",
            "requeue 42_1",
            "requeuehold 42",
            "update JobId=42_1 ExcNodeList=n[1-2],x",
            "update JobId=42_1 StartTime=now",
        ]
    );
}

#[test]
fn a_controller_that_is_away_is_worth_another_try_and_a_refusal_is_not() {
    let away = "slurm_load_node error: Unable to contact slurm controller (connect failure)";
    for (answer, later) in [
        (failed(away), true),
        (failed("slurm_update error: Access/permission denied"), false),
        (failed("something new"), false),
        (Err(RunError::NotFound { program: "/usr/bin/scontrol".into() }), true),
        (answered(""), true),
    ] {
        let runner = Scripted::in_order([answer]);
        let error = scontrol(&runner).node(&NodeName::from("n1")).unwrap_err();
        assert_eq!(error.may_pass_later(), later, "{error}");
    }
}

#[test]
fn what_it_complains_about_is_one_line_and_bounded() {
    let runner = Scripted::in_order([failed(&"complaint\nover lines ".repeat(1_000))]);
    let text = scontrol(&runner).version().unwrap_err().to_string();
    assert!(!text.contains('\n') && text.len() < 500, "{text}");
}
