//! Where objects live: part by part by hand and at random, then whole plans.

mod closeness;
mod cover;
mod cut_clusters;
mod gather;
mod generate;
mod groups;
mod held_out;
mod pages;
mod plans;
mod request_log;
mod settle;
mod support;
mod vectors;
