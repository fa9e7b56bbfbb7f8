//! The suite itself, on a real cluster: what it does, and above all what it must never do.

mod arrays;
mod brakes;
mod controller;
mod crash;
mod down;
mod drill;
mod expedited;
mod foreign;
mod gates;
mod gpu_lost;
mod healthy;
mod hung_nvml;
mod ledger_trouble;
mod left_alone;
mod monitor;
mod output;
mod people;
mod plugin;
mod refusal;
mod reruns;
mod several_nodes;
mod storm;
mod verdicts;
mod way_back;
