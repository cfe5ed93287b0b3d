//! Calls of the robot's services that wait for an answer.

use std::time::{Duration, Instant};

use sinew_wire::unitree::{Request as Call, Response, arm, arm::ArmRequest, mapping};

use super::{Session, outbox::Sort, stopping::What};

/// An answer that has not come by then counts for nothing.
const FORGOTTEN: Duration = Duration::from_secs(60);
/// Calls that are remembered; repeated stops and keep-alives are the most of them.
const MAX_CALLS: usize = 128;

/// Calls that wait for an answer.
#[derive(Debug)]
pub(super) struct Calls {
    next_id: i64,
    chance: u64,
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    id: i64,
    service: &'static str,
    api_id: i64,
    purpose: Purpose,
    sent: Instant,
}

/// What a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The request of the arms that is being carried out.
    Arm,
    /// The request of the SLAM service that is being carried out.
    Slam,
    /// Keeping a recording going.
    KeepAlive,
    /// Stopping something.
    Stop(What),
}

impl Calls {
    pub(super) fn new(seed: u64) -> Self {
        // The app counts from 1, the library takes the time; both stay within 31 bits.
        let next_id = i64::from(mix(seed) as u32 >> 2) + 1;
        Calls { next_id, chance: seed, open: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.open.clear();
    }

    /// What is answered to these is of no interest any more.
    pub(super) fn forget(&mut self, purpose: Purpose) {
        self.open.retain(|call| call.purpose != purpose);
    }

    pub(super) fn forget_old(&mut self, now: Instant) {
        self.open.retain(|call| now.saturating_duration_since(call.sent) < FORGOTTEN);
    }

    /// A text as the library makes it for a request without a number.
    pub(super) fn uuid(&mut self) -> String {
        let mut next = || {
            self.chance = self.chance.wrapping_add(0x9E37_79B9_7F4A_7C15);
            mix(self.chance)
        };
        let (high, low) = (next(), next());
        let (high, low) = (high & !0xF000 | 0x4000, low & (u64::MAX >> 2) | 1 << 63);
        let hex = format!("{high:016x}{low:016x}");
        let part = |from, to| hex.get(from..to).unwrap_or_default();
        [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
    }

    /// The purpose of the call that this answers; each call is answered once.
    pub(super) fn take(&mut self, response: &Response) -> Option<Purpose> {
        let is = |call: &Open| {
            (call.id, call.api_id) == (response.id, response.api_id)
                && call.service == response.service
        };
        let index = self.open.iter().position(is)?;
        Some(self.open.remove(index).purpose)
    }
}

/// Spreads a number over 64 bits (splitmix64's finish).
fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

impl Session {
    pub(super) fn call_arm(&mut self, now: Instant, purpose: Purpose, call: &ArmRequest) {
        let sort = match call {
            ArmRequest::RecordKeepAlive => Sort::KeepAlive,
            ArmRequest::Preset(_) | ArmRequest::Play(_) | ArmRequest::RecordStart(_) => {
                Sort::Motion
            }
            _ => Sort::Plain,
        };
        self.call(now, purpose, sort, arm::SERVICE, call.api_id(), call.parameter());
    }

    pub(super) fn call_slam(
        &mut self,
        now: Instant,
        purpose: Purpose,
        call: &mapping::SlamRequest,
    ) {
        use mapping::SlamRequest::{GoTo, Resume};
        let sort = if matches!(call, GoTo { .. } | Resume) { Sort::Motion } else { Sort::Plain };
        self.call(now, purpose, sort, mapping::SERVICE, call.api_id(), call.parameter());
    }

    fn call(
        &mut self,
        now: Instant,
        purpose: Purpose,
        sort: Sort,
        service: &'static str,
        api_id: i64,
        parameter: String,
    ) {
        let id = self.calls.next_id;
        self.calls.next_id += 1;
        let call = Call { service: service.into(), id, api_id, parameter, priority: None };
        if self.calls.open.len() >= MAX_CALLS {
            self.calls.open.remove(0);
        }
        self.calls.open.push(Open { id, service, api_id, purpose, sent: now });
        match purpose {
            Purpose::Stop(_) => self.send_urgently(call.emit()),
            _ => self.send(sort, call.emit()),
        }
    }
}
