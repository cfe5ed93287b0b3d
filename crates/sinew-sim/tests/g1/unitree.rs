//! The data channel's side, with the texts that clients send and robots answer.

mod arm;
mod support;
mod validation;
