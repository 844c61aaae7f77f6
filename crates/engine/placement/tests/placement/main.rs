//! Tests of placement: algorithm by algorithm, by hand and at random, then whole plans.

mod closeness;
mod co_location;
mod cover;
mod cut_clusters;
mod generate;
mod groups;
mod held_out;
mod pages;
mod plans;
mod request_log;
mod settle;
mod support;
mod vectors;
