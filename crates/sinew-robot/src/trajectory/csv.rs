use std::fmt::Write;

use super::{Error, Imported, JOINTS, JointMap, Recording, recording::check_size};

const TIME: &str = "time_ms";

/// A table: `time_ms` and the joints by name, a line per frame.
pub fn to_csv(recording: &Recording, joints: &JointMap) -> String {
    let names: Vec<_> = joints.joints.iter().map(|joint| joint.name).collect();
    let mut text = format!("{TIME},{}\n", names.join(","));
    for frame in recording.frames() {
        let _infallible = write!(text, "{}", frame.time_ms);
        for value in frame.positions {
            let _infallible = write!(text, ",{value}");
        }
        text.push('\n');
    }
    text
}

/// Reads such a table. Columns may stand in any order; those that no slot takes are left out and
/// named. Empty lines and lines that begin with `#` do not count.
pub fn from_csv(text: &str, joints: &JointMap) -> Result<Imported, Error> {
    check_size(text)?;
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let Some((number, header)) = lines.next() else {
        return Err(Error::new("header", "time_ms and the joints' names", "nothing"));
    };
    let (columns, dropped) = Columns::new(header, joints).map_err(|error| error.at(number))?;
    let mut recording = Recording::new();
    for (number, line) in lines {
        let pushed = columns.frame(line).and_then(|(time, pose)| recording.push(time, pose));
        pushed.map_err(|error| error.at(number))?;
    }
    Ok(Imported { recording, dropped })
}

/// Where in a line what stands.
struct Columns {
    count: usize,
    time: usize,
    slots: [usize; JOINTS],
}

impl Columns {
    fn new(header: &str, joints: &JointMap) -> Result<(Self, Vec<String>), Error> {
        let names: Vec<_> = header.split(',').map(str::trim).collect();
        let place = |wanted: &str| {
            let mut places = names.iter().enumerate().filter(|(_, name)| **name == wanted);
            match (places.next(), places.next()) {
                (Some((place, _)), None) => Ok(place),
                (None, _) => Err(Error::new("header", format!("a column {wanted}"), header)),
                _ => Err(Error::new("header", format!("one column {wanted}"), header)),
            }
        };
        let mut slots = [0; JOINTS];
        for (slot, joint) in slots.iter_mut().zip(&joints.joints) {
            *slot = place(joint.name)?;
        }
        let columns = Columns { count: names.len(), time: place(TIME)?, slots };
        let unknown = |name: &&&str| **name != TIME && joints.slot_of(name).is_none();
        let dropped = names.iter().filter(unknown).map(|name| (*name).into()).collect();
        Ok((columns, dropped))
    }

    fn frame(&self, line: &str) -> Result<(u32, [f32; JOINTS]), Error> {
        let cells: Vec<_> = line.split(',').map(str::trim).collect();
        if cells.len() != self.count {
            let wanted = format!("{}, as in the header", self.count);
            return Err(Error::new("columns", wanted, cells.len()));
        }
        let cell = |place: usize| cells.get(place).copied().unwrap_or_default();
        let mut pose = [0.0; JOINTS];
        for (value, &place) in pose.iter_mut().zip(&self.slots) {
            let text = cell(place);
            *value = text.parse().map_err(|_| Error::new("position", "a number", text))?;
        }
        let text = cell(self.time);
        let time = text.parse::<f64>().ok().map(f64::round);
        match time.filter(|time| (0.0..=f64::from(u32::MAX)).contains(time)) {
            Some(time) => Ok((time as u32, pose)),
            None => Err(Error::new(TIME, format!("0 to {}", u32::MAX), text)),
        }
    }
}
