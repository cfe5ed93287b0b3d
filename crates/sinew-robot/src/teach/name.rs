use sinew_wire::{teach::Name, text::is_unshowable};

use crate::Refusal;

/// Checks the name that an action or a motion is to get. What has a name already, in a robot or in
/// a file, keeps it whatever it is; new ones hold nothing that would pass for another name where
/// it is shown.
pub fn new_name(text: &str) -> Result<Name, Refusal> {
    if let Some(c) = text.chars().find(|c| is_unshowable(*c)) {
        let got = u32::from(c);
        return Err(Refusal::invalid(format!(
            "name: wanted no control and no direction characters, got U+{got:04X}"
        )));
    }
    Name::new(text).map_err(|error| Refusal::invalid(error.to_string()))
}
