//! What people write into `gres.conf` and `slurm.conf`.
use std::fs;

use proptest::prelude::*;

use super::*;

fn facts(slurm: &str, gres: &str) -> GresFacts {
    sheet(slurm, gres).said.unwrap()
}

fn sheet(slurm: &str, gres: &str) -> Sheet<GresFacts> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("slurm.conf"), slurm).unwrap();
    if !gres.is_empty() {
        fs::write(folder.path().join("gres.conf"), gres).unwrap();
    }
    read(&folder.path().join("slurm.conf"), &NodeName::from("gpu07"))
}

fn gpus(slurm: &str, gres: &str) -> ConfiguredGpus {
    facts(slurm, gres).gpus.unwrap()
}

const SLURM: &str = "NodeName=gpu[01-16] Gres=gpu:h100:8(S:0-1),shard:32 RealMemory=1000\n";

#[test]
fn files_with_ranges_are_counted_and_named() {
    let gpus = gpus(
        SLURM,
        "Name=gpu Type=h100 File=/dev/nvidia[0-3] Cores=0-55\nName=gpu Type=h100 File=/dev/nvidia[4-6],/dev/nvidia7\n",
    );
    assert_eq!((gpus.count, gpus.from.as_str(), gpus.boards()), (8, "gres.conf", Some(8)));
    assert_eq!(gpus.files, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!((gpus.types["h100"], gpus.nvidia), (8, true));
    assert!(!self::gpus(SLURM, "Name=gpu File=/dev/dri/renderD[128-135]\n").nvidia);
}

#[test]
fn with_autodetect_or_without_gres_conf_slurm_conf_counts() {
    for gres in ["AutoDetect=nvml\n", "", "NodeName=gpu[01-16] AutoDetect=nvidia Name=gpu\n"] {
        let gpus = gpus(SLURM, gres);
        assert_eq!((gpus.count, gpus.boards()), (8, Some(8)), "{gres}");
        assert_eq!(gpus.autodetect, gres.contains("AutoDetect"), "{gres}");
    }
    assert!(!gpus(SLURM, "AutoDetect=off\nName=gpu File=/dev/nvidia[0-7]\n").autodetect);
}

#[test]
fn lines_of_other_nodes_are_not_ours() {
    let gres = "NodeName=gpu[01-06] Name=gpu File=/dev/nvidia[0-3]\nNodeName=gpu[07-09] Name=gpu Count=8\nNodeName=gpu07 Name=fpga Count=2\n";
    let gpus = gpus(SLURM, gres);
    assert_eq!((gpus.count, gpus.files.len()), (8, 0));
}

#[test]
fn a_node_without_gpus_in_slurm_conf_is_promised_none() {
    assert_eq!(facts("NodeName=gpu07 CPUs=4\n", "Name=gpu File=/dev/nvidia0\n").gpus, None);
    assert_eq!(facts("NodeName=other Gres=gpu:8\n", "").gpus, None);
    assert_eq!(facts("NodeName=gpu07 Gres=fpga:2,gpu:0\n", "").gpus, None);
}

#[test]
fn mig_devices_are_no_boards() {
    let slurm = "NodeName=gpu07 Gres=gpu:1g.10gb:7,gpu:h100_3g.40gb:2\n";
    let gpus = gpus(slurm, "AutoDetect=nvml\n");
    assert_eq!((gpus.count, gpus.mig, gpus.boards()), (9, true, None));
    let files = "Name=gpu Type=1g.10gb MultipleFiles=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap21,/dev/nvidia-caps/nvidia-cap22\n";
    let gpus = self::gpus(slurm, files);
    assert_eq!((gpus.files.as_slice(), gpus.boards()), ([0].as_slice(), Some(1)));
    assert!(!self::gpus("NodeName=gpu07 Gres=gpu:gtx.1080:2\n", "").mig);
}

#[test]
fn counts_may_have_no_type_no_number_and_suffixes() {
    for (gres, count) in
        [("gpu", 1), ("gpu:4", 4), ("gpu:a100", 1), ("gpu:a100:no_consume:2", 2), ("gpu:1K", 1024)]
    {
        assert_eq!(gpus(&format!("NodeName=gpu07 Gres={gres}\n"), "").count, count, "{gres}");
    }
}

#[test]
fn what_cannot_be_read_is_blindness_and_not_zero_gpus() {
    let folder = tempfile::tempdir().unwrap();
    let missing = read(&folder.path().join("slurm.conf"), &NodeName::from("gpu07"));
    assert!(missing.said.is_none() && missing.blind[0].contains("slurm.conf"));
    fs::write(folder.path().join("slurm.conf"), SLURM).unwrap();
    fs::create_dir(folder.path().join("gres.conf")).unwrap();
    assert!(read(&folder.path().join("slurm.conf"), &NodeName::from("gpu07")).said.is_none());
}

#[test]
fn the_named_file_wins_over_the_usual_places() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path());
    assert_eq!(slurm_conf(&root, None), None);
    fs::create_dir_all(root.at("/etc/slurm")).unwrap();
    fs::write(root.at("/etc/slurm/slurm.conf"), "").unwrap();
    assert_eq!(slurm_conf(&root, None), Some(root.at("/etc/slurm/slurm.conf")));
    assert_eq!(slurm_conf(&root, Some(Path::new("/x"))), Some(PathBuf::from("/x")));
}

proptest! {
    #[test]
    fn any_text_is_answered(
        slurm in "(NodeName=gpu07 Gres=)?([a-z:0-9(),.\\[\\]KkMm -]|\\PC){0,60}",
        gres in "(Name=gpu (File|MultipleFiles|Count|Type)=)?([a-z/:0-9(),.\\[\\]-]|\\PC){0,60}",
    ) {
        let _ = sheet(&slurm, &gres);
        let _ = (is_mig_profile(&gres), count(&gres), paths(&gres));
    }
}
