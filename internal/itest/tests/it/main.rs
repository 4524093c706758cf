//! The integration tests, in one binary: the house rules, and what needs several layers together.

mod adr_index;
mod errors;
mod examples;
mod house;
mod layers;
mod llama;
mod sizes;
mod source;
