//! Event loop: it gives events, requests and responses to the parts of a front end, and carries out the actions that they return.

mod asks;
mod connections;
mod hubs;
mod migrations;
mod requests;
mod responses;
mod servers;
mod timers;
mod writing;
