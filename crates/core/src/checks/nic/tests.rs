//! Ports and interfaces with one thing broken.
use super::*;
use crate::checks::ExpectNic;
use crate::checks::scene::Scene;

#[test]
fn a_port_that_was_never_up_is_not_down_by_fault() {
    let mut scene = Scene::healthy();
    scene.port(2).state = "down".to_owned();
    scene.port(2).phys_state = "polling".to_owned();
    assert_eq!(
        scene.bad(&PORT),
        ["nic:mlx5_2 | mlx5_2 port 1: down (polling), up when the baseline was learned"]
    );
    scene.baseline = None;
    assert!(scene.bad(&PORT)[0].contains("up earlier in this boot"));
    scene.before = Some(scene.facts.clone());
    assert!(scene.bad(&PORT).is_empty());
    // The look before saw it down already, and called it bad.
    scene.was_bad(&PORT, "nic:mlx5_2");
    assert_eq!(scene.bad(&PORT).len(), 1);
    scene.expect.nics =
        vec![ExpectNic { name: "mlx5_2".to_owned(), state: Some("down".to_owned()), ..ExpectNic::default() }];
    assert!(scene.bad(&PORT).is_empty(), "the site says that it is not connected");
}

#[test]
fn an_adapter_that_is_gone_is_named() {
    let mut scene = Scene::healthy();
    scene.facts.nic.as_mut().unwrap().said.as_mut().unwrap().ports.remove(3);
    assert_eq!(scene.bad(&PORT), ["nic:mlx5_3 | mlx5_3: not there, there when the baseline was learned"]);
    scene.was_bad(&PORT, "nic:mlx5_3");
    let again = scene.look(&PORT);
    assert_eq!((again.bad.len(), again.blind), (1, Vec::new()), "gone is no blindness at the second look");
}

#[test]
fn an_adapter_that_was_bad_and_is_gone_is_not_good_again() {
    let mut scene = Scene::healthy();
    scene.baseline = None;
    scene.facts.nic.as_mut().unwrap().said.as_mut().unwrap().ports.remove(3);
    scene.was_bad(&RATE, "nic:mlx5_3");
    assert_eq!(scene.look(&RATE).blind.len(), 1);
    scene.was_bad(&RATE, "nic:mlx5_2");
    assert!(scene.look(&RATE).blind.is_empty());
}

#[test]
fn a_slower_port_is_measured_against_the_site_and_the_baseline() {
    let mut scene = Scene::healthy();
    scene.port(0).rate_mbps = Some(200_000);
    assert_eq!(scene.bad(&RATE), ["nic:mlx5_0 | mlx5_0 port 1: 200 Gb/s, 400 when the baseline was learned"]);
    scene.expect.nics =
        vec![ExpectNic { name: "mlx5_0".to_owned(), rate_gbps: Some(200), ..ExpectNic::default() }];
    assert!(scene.bad(&RATE).is_empty());
    scene.port(0).rate_mbps = Some(2_500);
    assert!(scene.bad(&RATE)[0].contains("2.5 Gb/s, 200 by [expect]"));
}

#[test]
fn an_interface_without_carrier_is_down_when_it_had_one() {
    let mut scene = Scene::healthy();
    let interface = |scene: &mut Scene| {
        scene.facts.nic.as_mut().unwrap().said.as_mut().unwrap().interfaces[0].carrier = Some(false);
    };
    interface(&mut scene);
    assert_eq!(scene.bad(&INTERFACE), ["nic:eth0 | eth0: no carrier, up when the baseline was learned"]);
    scene.facts.nic.as_mut().unwrap().said.as_mut().unwrap().interfaces[0].wanted = false;
    assert!(scene.bad(&INTERFACE).is_empty(), "nobody brought it up");
}

#[test]
fn errors_and_flaps_count_when_they_grow_and_not_when_a_counter_is_reset() {
    let mut scene = Scene::healthy();
    scene.port(0).counters.insert("symbol_error".to_owned(), 10);
    assert!(scene.bad(&ERRORS).is_empty(), "108 an hour");
    scene.port(0).counters.insert("symbol_error".to_owned(), 11);
    assert!(scene.bad(&ERRORS)[0].contains("mlx5_0 port 1: 10 symbol errors since the last look"));
    scene.port(0).counters.insert("symbol_error".to_owned(), 0);
    assert!(scene.bad(&ERRORS).is_empty());
    scene.port(1).counters.insert("link_downed".to_owned(), 2);
    assert!(scene.bad(&FLAPS).is_empty(), "once is no flapping");
    scene.port(1).counters.insert("link_downed".to_owned(), 3);
    assert_eq!(scene.bad(&FLAPS).len(), 1);
    scene.port(2).counters_refused = true;
    assert_eq!(scene.look(&ERRORS).blind.len(), 1);
}

#[test]
fn mixed_firmware_names_the_odd_one_out() {
    let mut scene = Scene::healthy();
    scene.port(5).firmware = Some("28.36.1010".to_owned());
    assert_eq!(
        scene.bad(&FIRMWARE),
        ["nic:mlx5_5 | mlx5_5: firmware 28.36.1010, 28.39.1002 on others of the same board"]
    );
    scene.port(5).board = Some("MT_0000000001".to_owned());
    assert!(scene.bad(&FIRMWARE).is_empty(), "another board has another firmware");
}

#[test]
fn a_module_that_was_loaded_is_missed() {
    let mut scene = Scene::healthy();
    scene.driver().modules.retain(|name| name != "nvidia_peermem");
    assert_eq!(
        scene.bad(&MODULES),
        [
            "service:nvidia_peermem | module nvidia_peermem is not loaded, loaded when the baseline was learned"
        ]
    );
    scene.expect.modules = vec!["nvidia".to_owned()];
    assert!(scene.bad(&MODULES).is_empty());
    scene.expect.modules = vec!["gdrdrv".to_owned()];
    assert_eq!(scene.bad(&MODULES).len(), 1);
}

#[test]
fn a_kernel_update_that_brought_its_own_adapter_driver_is_told() {
    let mut scene = Scene::healthy();
    let nics = |scene: &mut Scene, version: Option<&str>| {
        scene.facts.nic.as_mut().unwrap().said.as_mut().unwrap().mlx5 = version.map(str::to_owned);
    };
    assert!(
        scene.bad(&FIRMWARE).is_empty(),
        "the kernel's own driver has no version, and nobody wanted another"
    );
    nics(&mut scene, Some("24.10-1.1.4"));
    scene.baseline = Some(crate::baseline::learn(&scene.facts, scene.nvml.as_ref()));
    assert!(scene.bad(&FIRMWARE).is_empty());
    nics(&mut scene, None);
    assert!(
        scene.bad(&FIRMWARE)[0]
            .ends_with("driver mlx5_core: the kernel's own, 24.10-1.1.4 when the baseline was learned")
    );
    scene.expect.ofed = "25.01-0.6.0".to_owned();
    nics(&mut scene, Some("24.10-1.1.4"));
    assert!(scene.bad(&FIRMWARE)[0].ends_with("24.10-1.1.4, 25.01-0.6.0 expected by [expect]"));
}
