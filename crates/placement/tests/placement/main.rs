//! Where objects live: part by part by hand and at random, then whole plans.

mod closeness;
mod cut_clusters;
mod gather;
mod generate;
mod held_out;
mod pages;
mod plans;
mod request_log;
mod settle;
mod support;
mod vectors;
