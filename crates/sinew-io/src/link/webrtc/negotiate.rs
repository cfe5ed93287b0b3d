//! From SDP to a connection.

use std::{
    net::SocketAddr,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use openssl::rand::rand_bytes;
use str0m::{
    Candidate, IceCreds, Rtc, RtcError,
    change::{SdpAnswer, SdpPendingOffer},
    channel::{ChannelConfig, ChannelId},
    config::DtlsCert,
    media::{Direction, MediaKind},
};
use tracing::dispatcher::{Dispatch, with_default};

use super::{
    connection::{Connection, LONGEST, ROOM, Wanted},
    dtls::{self, Habits},
    ports::Ports,
    sdp,
};

/// How long str0m waits for an answer to STUN at most, and so how often it asks.
const STUN: Duration = Duration::from_millis(1500);
const LABEL: &str = "data";
/// Streams of a DTLS client are even, those of a server odd.
const SERVERS_STREAM: u16 = 1;
const CLIENTS_STREAM: u16 = 0;

/// Calls str0m without its log, which has passwords and messages, and without its panics: some of its
/// assertions are about what a peer sent.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, RtcError>) -> Result<T, String> {
    let quiet = || with_default(&Dispatch::none(), work);
    match catch_unwind(AssertUnwindSafe(quiet)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(words(&error)),
        Err(_) => Err("WebRTC broke down over what the peer sent".into()),
    }
}

fn words(error: &RtcError) -> String {
    match (dtls::take_reason(), error) {
        (Some(reason), _) => format!("DTLS failed: {reason}"),
        // Its words may quote the SDP, which has a password.
        (None, RtcError::Sdp(_)) => "the SDP cannot be read".into(),
        (None, error) => error.to_string(),
    }
}

/// An offer that waits for its answer.
pub(super) struct Offering {
    rtc: Rtc,
    ports: Ports,
    pending: SdpPendingOffer,
    channel: ChannelId,
    own: String,
}

impl Offering {
    /// `certificate` is the one to show, if not any.
    pub(super) fn new(
        ports: Ports,
        certificate: Option<DtlsCert>,
        now: Instant,
    ) -> Result<Self, String> {
        let habits = Habits { own_dcep: true, ..Habits::default() };
        let mut rtc = rtc(&ports, habits, certificate, 22, now)?;
        let mut api = rtc.sdp_api();
        // The library's sections in the library's order. Robots open no channel without media.
        api.add_media(MediaKind::Audio, Direction::SendRecv, None, None, None);
        api.add_media(MediaKind::Video, Direction::RecvOnly, None, None, None);
        let channel = api.add_channel_with_config(agreed(SERVERS_STREAM));
        let (offer, pending) = api.apply().ok_or("nothing to offer")?;
        Ok(Offering { rtc, ports, pending, channel, own: offer.to_sdp_string() })
    }

    /// What to send.
    pub(super) fn text(&self) -> String {
        sdp::offer(&self.own)
    }

    /// Takes the robot's answer. One of two sides must begin the association; where the robot waits
    /// for us although it is the DTLS client, `eager` begins it.
    pub(super) fn accept(
        mut self,
        answer: &str,
        eager: bool,
        now: Instant,
    ) -> Result<Connection, String> {
        let answer = sdp::answer(&self.own, answer);
        let robot_is_active = sdp::is_active(&answer);
        let channel = guarded(|| {
            let rtc = &mut self.rtc;
            let answer = SdpAnswer::from_sdp_string(&answer)?;
            if eager && robot_is_active {
                rtc.direct_api().start_sctp(true);
            }
            rtc.sdp_api().accept_answer(self.pending, answer)?;
            Ok(match robot_is_active {
                true => self.channel,
                false => rtc.direct_api().create_data_channel(agreed(CLIENTS_STREAM)),
            })
        })?;
        Ok(Connection::new(self.rtc, self.ports, Wanted::Own(channel), now))
    }
}

/// A channel on this stream that str0m need not open.
fn agreed(stream: u16) -> ChannelConfig {
    ChannelConfig { label: LABEL.into(), negotiated: Some(stream), ..ChannelConfig::default() }
}

fn rtc(
    ports: &Ports,
    habits: Habits,
    certificate: Option<DtlsCert>,
    password: usize,
    now: Instant,
) -> Result<Rtc, String> {
    let mut config = Rtc::builder()
        .set_crypto_provider(Arc::new(dtls::provider(habits)))
        .set_local_ice_credentials(IceCreds { ufrag: random(4), pass: random(password) })
        .clear_codecs()
        .enable_opus(true, false)
        .enable_h264(true)
        .set_sctp_max_buffered_amount(LONGEST + ROOM);
    config.set_max_stun_rto(STUN);
    if let Some(certificate) = certificate {
        config = config.set_dtls_cert(certificate);
    }
    let mut rtc = guarded(|| Ok(config.build(now)))?;
    let count = ports
        .addresses()
        .filter_map(|address| {
            guarded(|| Ok(rtc.add_local_candidate(candidate(address)?).is_some())).ok()
        })
        .filter(|added| *added)
        .count();
    if count == 0 { Err("no address can be offered".into()) } else { Ok(rtc) }
}

fn candidate(address: SocketAddr) -> Result<Candidate, RtcError> {
    // The first refuses 169.254.0.0/16, which a robot on a cable may have.
    Ok(Candidate::host(address, "udp").or_else(|_| {
        let (ip, port) = (address.ip(), address.port());
        Candidate::from_sdp_string(&format!("candidate:1 1 udp 2130706431 {ip} {port} typ host"))
    })?)
}

/// Letters and digits by chance, as ICE wants them.
fn random(count: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = vec![0; count];
    // A system without chance has no keys either, and fails there.
    let _ = rand_bytes(&mut bytes);
    bytes.into_iter().map(|byte| char::from(LETTERS[usize::from(byte % 64)])).collect()
}

#[cfg(feature = "sim")]
pub(super) use robot::{Answering, answer};

#[cfg(feature = "sim")]
mod robot {
    use str0m::change::SdpOffer;

    use super::*;

    /// How a robot answers.
    #[derive(Debug, Clone)]
    pub(in super::super) struct Answering {
        /// Whether it acknowledges that a channel is opened.
        pub(in super::super) dcep_ack: bool,
        /// Whether it begins DTLS.
        pub(in super::super) is_active: bool,
        pub(in super::super) no_extended_master_secret: bool,
        pub(in super::super) cbc_only: bool,
        pub(in super::super) rsa_only: bool,
        pub(in super::super) certificate: Option<DtlsCert>,
    }

    /// Answers an offer.
    pub(in super::super) fn answer(
        ports: Ports,
        offer: &str,
        how: Answering,
        now: Instant,
    ) -> Result<(Connection, String), String> {
        let habits = Habits {
            own_dcep: !how.dcep_ack,
            no_extended_master_secret: how.no_extended_master_secret,
            cbc_only: how.cbc_only,
            rsa_only: how.rsa_only,
        };
        let mut rtc = rtc(&ports, habits, how.certificate, 24, now)?;
        let is_old = sdp::robot::is_old(offer);
        let offer = sdp::robot::offer(offer, how.is_active);
        let answer = guarded(|| {
            let offer = SdpOffer::from_sdp_string(&offer)?;
            // The stack of older clients begins the association itself, and two that begin cost 3 s.
            if is_old {
                rtc.direct_api().start_sctp(false);
            }
            let answer = rtc.sdp_api().accept_offer(offer)?;
            if !how.dcep_ack {
                for stream in [CLIENTS_STREAM, SERVERS_STREAM] {
                    rtc.direct_api().create_data_channel(agreed(stream));
                }
            }
            Ok(answer.to_sdp_string())
        })?;
        let wanted = if how.dcep_ack { Wanted::Theirs } else { Wanted::Unacknowledged };
        let connection = Connection::new(rtc, ports, wanted, now);
        Ok((connection, sdp::robot::answer(&answer)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn an_address_that_a_machine_gave_itself_can_be_offered() {
        for address in ["169.254.7.8:9", "192.168.12.2:9", "[fd00::1]:9"] {
            let offered = candidate(address.parse().unwrap()).unwrap();
            assert_eq!(offered.addr(), address.parse().unwrap());
        }
    }

    #[test]
    fn what_breaks_down_inside_is_an_error_and_not_told_to_the_log() {
        let broken = guarded(|| -> Result<(), _> { panic!("as an assertion would") });
        assert!(broken.unwrap_err().contains("broke down"));
    }
}
