use super::{Error, Imported, JOINTS, JointMap, Pose, Recording, recording::check_size};

/// Arm joints in such a file: the robot's 15 to 28, left arm first.
const PARTS: usize = 14;
const FIRST_JOINT: u8 = 15;
/// The two of them that the twelve slots of the default map leave out, for people.
const NAMES: [(u8, &str); 2] = [(21, "left_wrist_yaw"), (28, "right_wrist_yaw")];

/// Reads the joints of a motion from Unitree's SDK (`motion.seq`).
///
/// The file is YAML of one shape, of which this reads what it needs: the component whose `content`
/// is `JointDisplacement`, its `frame_rate` and its `frames`, a line each. What other components
/// hold is skipped unread; they are known to hold `nan`.
pub fn from_seq(text: &str, joints: &JointMap) -> Result<Imported, Error> {
    check_size(text)?;
    let slots = slots(joints)?;
    let mut reader = Reader::default();
    for (index, line) in text.lines().enumerate() {
        reader.line(line.trim(), &slots).map_err(|error| error.at(index + 1))?;
        if reader.is_over {
            break;
        }
    }
    let Some(frames) = reader.found else {
        let wanted = "a component with content: JointDisplacement and frames";
        return Err(Error::new("components", wanted, "none"));
    };
    // A file that was cut off would end in the middle of the motion.
    if let Some(declared) = reader.num_frames
        && declared != frames.len()
    {
        let wanted = format!("{declared}, as num_frames says");
        return Err(Error::new("frames", wanted, frames.len()));
    }
    let taken = |number: u8| joints.slot_of_number(number).is_some();
    let parts = FIRST_JOINT..FIRST_JOINT + PARTS as u8;
    let dropped = parts.filter(|number| !taken(*number)).map(|number| {
        let name = NAMES.iter().find(|row| row.0 == number).map_or("joint", |row| row.1);
        format!("{number} {name}")
    });
    Ok(Imported { recording: frames, dropped: dropped.collect() })
}

#[derive(Default)]
struct Reader {
    content: Option<String>,
    rate: Option<u32>,
    num_frames: Option<usize>,
    in_frames: bool,
    found: Option<Recording>,
    is_over: bool,
}

impl Reader {
    fn line(&mut self, line: &str, slots: &[usize; JOINTS]) -> Result<(), Error> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if let Some(row) = line.strip_prefix('-').map(str::trim).filter(|row| row.starts_with('['))
        {
            return if self.in_frames { self.frame(row, slots) } else { Ok(()) };
        }
        if self.in_frames {
            // The frames end where anything else begins.
            self.is_over = true;
            return Ok(());
        }
        let rest = match line.strip_prefix('-') {
            Some(rest) => {
                self.begin_component();
                rest.trim()
            }
            None => line,
        };
        match rest.split_once(':').map(|(key, value)| (key.trim(), value.trim())) {
            Some(("content", value)) => self.content = Some(value.into()),
            Some(("frame_rate", value)) => self.rate = Some(rate(value)?),
            Some(("num_frames", value)) => self.num_frames = Some(whole("num_frames", value)?),
            Some(("num_parts", value)) if self.is_joints() => {
                let parts: usize = whole("num_parts", value)?;
                if parts != PARTS {
                    let wanted = format!("{PARTS}, joints 15 to 28");
                    return Err(Error::new("num_parts", wanted, parts));
                }
            }
            Some(("frames", _)) if self.is_joints() => {
                if self.rate.is_none() {
                    return Err(Error::new("frame_rate", "it before the frames", "none"));
                }
                self.in_frames = true;
                self.found = Some(Recording::new());
            }
            Some(_) => {}
            None if rest.is_empty() => {}
            None => return Err(Error::new("line", "key: value, or - [ numbers ]", line)),
        }
        Ok(())
    }

    /// The rate stays: a component without one has that of the whole.
    fn begin_component(&mut self) {
        self.content = None;
        self.num_frames = None;
    }

    fn is_joints(&self) -> bool {
        self.content.as_deref() == Some("JointDisplacement")
    }

    fn frame(&mut self, row: &str, slots: &[usize; JOINTS]) -> Result<(), Error> {
        let (Some(recording), Some(rate)) = (&mut self.found, self.rate) else { return Ok(()) };
        let inner = row.strip_prefix('[').and_then(|row| row.strip_suffix(']'));
        let Some(inner) = inner else {
            return Err(Error::new("frame", "[ numbers ] in one line", row));
        };
        let cells: Vec<_> = inner.split(',').map(str::trim).collect();
        if cells.len() != PARTS {
            return Err(Error::new("frame", format!("{PARTS} numbers"), cells.len()));
        }
        let mut pose: Pose = [0.0; JOINTS];
        for (value, &place) in pose.iter_mut().zip(slots) {
            let text = cells.get(place).copied().unwrap_or_default();
            *value = text.parse().map_err(|_| Error::new("position", "a number", text))?;
        }
        let time = recording.len() as f64 * 1000.0 / f64::from(rate);
        recording.push(time.round() as u32, pose)
    }
}

/// Where in a frame the joint of each slot stands.
fn slots(joints: &JointMap) -> Result<[usize; JOINTS], Error> {
    let mut slots = [0; JOINTS];
    for (slot, joint) in slots.iter_mut().zip(&joints.joints) {
        let place = usize::from(joint.number).checked_sub(FIRST_JOINT.into());
        *slot = place.filter(|&place| place < PARTS).ok_or_else(|| {
            let wanted = "joints 15 to 28, which is all that such a file has";
            Error::new("joint map", wanted, format!("{} {}", joint.number, joint.name))
        })?;
    }
    Ok(slots)
}

/// Frames must differ in their milliseconds.
fn rate(text: &str) -> Result<u32, Error> {
    let rate = whole("frame_rate", text)?;
    let range = 1..=1000;
    if range.contains(&rate) {
        Ok(rate as u32)
    } else {
        Err(Error::new("frame_rate", "1 to 1000", rate))
    }
}

fn whole(field: &'static str, text: &str) -> Result<usize, Error> {
    text.parse().map_err(|_| Error::new(field, "a whole number", text))
}
