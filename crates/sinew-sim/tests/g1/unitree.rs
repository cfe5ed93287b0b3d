//! The data channel's side, with the texts that clients send and robots answer.

mod arm;
mod body;
mod clouds;
mod hostile;
mod services;
mod slam;
mod standing;
mod support;
mod validation;
