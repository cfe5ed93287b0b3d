//! What of captured teaching datagrams may reach a robot again.

use sinew_wire::teach::{
    Command, Datagram, G1_ARM_JOINTS, Keyframes, Layout, Message, Sender, Sequence,
};

use crate::playback::Verdict;

/// The gate before a robot that is taught by datagrams.
#[derive(Debug)]
pub(crate) struct Gate {
    /// What moves arms may pass.
    confirmed: bool,
    /// What is played are a robot's answers.
    from_robot: bool,
    /// The layout that was spoken last, and the last number.
    last: Option<(Layout, Sequence)>,
    armed: bool,
}

impl Gate {
    pub(crate) const fn new(confirmed: bool, from_robot: bool) -> Self {
        Gate { confirmed, from_robot, last: None, armed: false }
    }

    /// Whether a datagram may be sent next.
    pub(crate) fn judge(&self, bytes: &[u8]) -> Verdict {
        let Ok(datagram) = Datagram::new_checked(bytes) else {
            return Verdict::LeftOut("no teaching datagram");
        };
        if !self.confirmed && matches!(Command::from(datagram.command), Command::Unknown(_)) {
            return Verdict::LeftOut("not known to be harmless");
        }
        // What is stored beyond a joint's limits would be played from there.
        if let Ok(Message::Save(save)) = Message::parse(&datagram, Some(Sender::Host))
            && let Err(why) = within_limits("save", &save.keyframes)
        {
            return Verdict::Refused(why);
        }
        match self.moves(&datagram) {
            false => Verdict::Pass,
            true if !self.confirmed => Verdict::LeftOut("moves the robot"),
            true => match Message::parse(&datagram, Some(Sender::Host)) {
                Ok(Message::Play(play)) => match within_limits("play", &play.keyframes) {
                    Ok(()) => Verdict::Pass,
                    Err(why) => Verdict::Refused(why),
                },
                Ok(_) => Verdict::Pass,
                Err(error) => Verdict::Refused(error.to_string()),
            },
        }
    }

    /// Whether a robot that takes it for a request would move, or let its arms go.
    fn moves(&self, datagram: &Datagram<'_>) -> bool {
        match Message::parse(datagram, Some(Sender::Host)) {
            Ok(Message::Maintain { mode_flags, .. }) => mode_flags != 0,
            Ok(message) => message.command().moves(),
            // Of an answer it is known that it is none.
            Err(_) => !self.from_robot && Command::from(datagram.command).moves(),
        }
    }

    /// A datagram that may pass is sent.
    pub(crate) fn sent(&mut self, bytes: &[u8]) {
        if let Ok(datagram) = Datagram::new_checked(bytes) {
            self.last = Some((datagram.layout, datagram.sequence));
            self.armed |= self.moves(&datagram);
        }
    }

    /// Whether arms may move or be soft.
    pub(crate) const fn is_armed(&self) -> bool {
        self.armed
    }

    /// What ends playing and teaching.
    pub(crate) fn all_stop(&self) -> Vec<Vec<u8>> {
        let Some((layout, sequence)) = self.last else { return Vec::new() };
        let exit = Message::Exit { mode_flags: 0, rest: &[] };
        exit.to_vec(layout, sequence.next()).into_iter().collect()
    }
}

fn within_limits(what: &str, keyframes: &Keyframes) -> Result<(), String> {
    for keyframe in keyframes.iter() {
        let Some(joint) = G1_ARM_JOINTS.get(usize::from(keyframe.joint)) else {
            return Err(format!("{what}: there is no joint {}", keyframe.joint));
        };
        if !(joint.min..=joint.max).contains(&keyframe.value) {
            return Err(format!(
                "{what}: {}: wanted {} to {} rad, got {}",
                joint.name, joint.min, joint.max, keyframe.value
            ));
        }
    }
    Ok(())
}
