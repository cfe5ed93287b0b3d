//! DTLS 1.2 by OpenSSL, as str0m wants it.
//!
//! str0m's own use of OpenSSL sends a lost flight again only when something comes, reads one record
//! of a datagram, and panics when what it was given piles up. It takes no fewer peers than this:
//! RSA certificates, no extended master secret, CBC.

use std::{
    cell::RefCell,
    collections::VecDeque,
    fmt, io,
    io::{Read, Write},
    time::{Duration, Instant},
};

use openssl::{
    error::ErrorStack,
    pkey::PKey,
    srtp::SrtpProfileId,
    ssl::{
        self, ErrorCode, Ssl, SslContext, SslMethod, SslOptions, SslStream, SslVerifyMode,
        SslVersion,
    },
    x509::X509,
};
use str0m::crypto::{
    CryptoError, CryptoProvider,
    dtls::{
        DtlsCert, DtlsImplError, DtlsInstance, DtlsOutput, DtlsProvider, DtlsVersion,
        KeyingMaterial, ProtocolVersion, SrtpProfile,
    },
    from_feature_flags,
};

use super::dcep;

/// How often a handshake is looked after; OpenSSL repeats a flight after 1, 2, 4 s.
const LOOK: Duration = Duration::from_millis(200);
/// A poll that nothing is due for asks to be called again after this long.
const NEVER: Duration = Duration::from_secs(3600);
/// Longest record.
const RECORD: usize = 1 << 14;
const MTU: usize = 1200;
const CIPHERS: &str = "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:ECDHE+AES:DHE+AES";
/// What a server says to a client that takes none of its certificates.
pub(super) const NO_SHARED_CIPHER: &str = "no shared cipher";
const PROFILES: &str = "SRTP_AEAD_AES_256_GCM:SRTP_AEAD_AES_128_GCM:SRTP_AES128_CM_SHA1_80";
const EXPORTER: &str = "EXTRACTOR-dtls_srtp";
/// `SSL_OP_NO_EXTENDED_MASTER_SECRET`, which the binding has no name for.
const NO_EXTENDED_MASTER_SECRET: SslOptions = SslOptions::from_bits_retain(1);

thread_local! {
    /// What OpenSSL said last; str0m's error has no room for it.
    static REASON: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Why DTLS failed on this thread, once.
pub(super) fn take_reason() -> Option<String> {
    REASON.take()
}

/// What a side's DTLS is like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Habits {
    /// Whether channels are opened as [`dcep`] says.
    pub(super) own_dcep: bool,
    pub(super) no_extended_master_secret: bool,
    pub(super) cbc_only: bool,
    /// Takes only RSA certificates.
    pub(super) rsa_only: bool,
}

impl Habits {
    const fn from_bits(bits: usize) -> Self {
        Habits {
            own_dcep: bits & 1 != 0,
            no_extended_master_secret: bits & 2 != 0,
            cbc_only: bits & 4 != 0,
            rsa_only: bits & 8 != 0,
        }
    }

    const fn ciphers(self) -> &'static str {
        match (self.cbc_only, self.rsa_only) {
            (false, false) => CIPHERS,
            (true, false) => "ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA",
            (false, true) => "ECDHE-RSA-AES128-GCM-SHA256",
            (true, true) => "ECDHE-RSA-AES128-SHA",
        }
    }
}

/// str0m's ciphers with this DTLS.
pub(super) fn provider(habits: Habits) -> CryptoProvider {
    let provider = PROVIDERS.iter().find(|provider| provider.0 == habits);
    CryptoProvider { dtls_provider: provider.unwrap_or(&PROVIDERS[0]), ..from_feature_flags() }
}

/// str0m wants them for ever.
static PROVIDERS: [Provider; 16] = {
    let mut all = [Provider(Habits::from_bits(0)); 16];
    let mut bits = 1;
    while bits < all.len() {
        all[bits] = Provider(Habits::from_bits(bits));
        bits += 1;
    }
    all
};

#[derive(Debug, Clone, Copy)]
struct Provider(Habits);

impl DtlsProvider for Provider {
    fn generate_certificate(&self) -> Option<DtlsCert> {
        from_feature_flags().dtls_provider.generate_certificate()
    }

    fn new_dtls(
        &self,
        cert: &DtlsCert,
        now: Instant,
        _version: DtlsVersion,
        mtu: Option<usize>,
    ) -> Result<Box<dyn DtlsInstance>, CryptoError> {
        let dtls = Dtls::new(cert, now, mtu.unwrap_or(MTU), self.0);
        dtls.map(|dtls| Box::new(dtls) as _).map_err(|error| CryptoError::Other(error.to_string()))
    }
}

struct Dtls {
    stream: SslStream<Datagrams>,
    habits: Habits,
    is_active: bool,
    is_connected: bool,
    /// What str0m is told about the handshake, once.
    news: VecDeque<News>,
    received: VecDeque<Vec<u8>>,
    record: Vec<u8>,
    close_sent: bool,
    close_received: bool,
    now: Instant,
}

enum News {
    Certificate(Vec<u8>),
    Keys(Vec<u8>, SrtpProfile),
    Connected,
    Closed,
}

/// What OpenSSL reads and writes; borders between datagrams are kept.
#[derive(Debug, Default)]
struct Datagrams {
    incoming: VecDeque<Vec<u8>>,
    outgoing: VecDeque<Vec<u8>>,
}

impl Dtls {
    fn new(cert: &DtlsCert, now: Instant, mtu: usize, habits: Habits) -> Result<Self, ErrorStack> {
        let mut ssl = Ssl::new(context(cert, habits)?.as_ref())?;
        ssl.set_mtu(mtu as u32)?;
        Ok(Dtls {
            stream: SslStream::new(ssl, Datagrams::default())?,
            habits,
            is_active: false,
            is_connected: false,
            news: VecDeque::new(),
            received: VecDeque::new(),
            record: vec![0; RECORD],
            close_sent: false,
            close_received: false,
            now,
        })
    }

    /// Goes on with the handshake, as far as what has come allows it, and sends again what is due.
    fn shake_hands(&mut self) -> Result<(), DtlsImplError> {
        let done = match self.is_active {
            true => self.stream.connect(),
            false => self.stream.accept(),
        };
        match done {
            Ok(()) => self.connected(),
            Err(error) if is_waiting(error.code()) => Ok(()),
            Err(error) => failed(&reason(&error)),
        }
    }

    fn connected(&mut self) -> Result<(), DtlsImplError> {
        self.is_connected = true;
        let ssl = self.stream.ssl();
        let certificate = ssl.peer_certificate().and_then(|certificate| certificate.to_der().ok());
        let Some(certificate) = certificate else { return failed(&"no certificate came") };
        self.news.push_back(News::Certificate(certificate));
        // A peer that wants no media needs no keys for it.
        if let Some(profile) = ssl.selected_srtp_profile().and_then(|it| srtp_profile(it.id())) {
            let mut keys = vec![0; profile.keying_material_len()];
            if let Err(error) = ssl.export_keying_material(&mut keys, EXPORTER, None) {
                return failed(&error);
            }
            self.news.push_back(News::Keys(keys, profile));
        }
        self.news.push_back(News::Connected);
        Ok(())
    }

    /// Reads all records that have come.
    fn read(&mut self) -> Result<(), DtlsImplError> {
        loop {
            match self.stream.ssl_read(&mut self.record) {
                Ok(count) => {
                    let mut packet = self.record[..count].to_vec();
                    if self.habits.own_dcep {
                        dcep::incoming(&mut packet);
                    }
                    self.received.push_back(packet);
                }
                Err(error) if error.code() == ErrorCode::ZERO_RETURN => {
                    if !self.close_received {
                        self.close_received = true;
                        self.news.push_back(News::Closed);
                    }
                    return Ok(());
                }
                Err(error) if is_waiting(error.code()) => return Ok(()),
                Err(error) => return failed(&reason(&error)),
            }
        }
    }
}

fn context(cert: &DtlsCert, habits: Habits) -> Result<SslContext, ErrorStack> {
    let mut context = SslContext::builder(SslMethod::dtls())?;
    context.set_min_proto_version(Some(SslVersion::DTLS1_2))?;
    context.set_cipher_list(habits.ciphers())?;
    context.set_tlsext_use_srtp(PROFILES)?;
    // Who the peer is, its fingerprint in the SDP says; str0m compares it.
    let verify = SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT;
    context.set_verify_callback(verify, |_, _| true);
    let key = PKey::private_key_from_der(&cert.private_key)?;
    context.set_private_key(&key)?;
    context.set_certificate(&*X509::from_der(&cert.certificate)?)?;
    context.set_options(SslOptions::NO_QUERY_MTU);
    if habits.no_extended_master_secret {
        context.set_options(NO_EXTENDED_MASTER_SECRET);
    }
    Ok(context.build())
}

fn is_waiting(code: ErrorCode) -> bool {
    code == ErrorCode::WANT_READ || code == ErrorCode::WANT_WRITE
}

/// OpenSSL's words without its files and lines.
fn reason(error: &ssl::Error) -> String {
    let reasons = error.ssl_error().map(|stack| stack.errors()).unwrap_or_default();
    let reasons: Vec<_> = reasons.iter().filter_map(|error| error.reason()).collect();
    if reasons.is_empty() { error.to_string() } else { reasons.join(", ") }
}

fn failed<T>(error: &dyn fmt::Display) -> Result<T, DtlsImplError> {
    REASON.set(Some(error.to_string()));
    Err(DtlsImplError::ConnectionClosed)
}

fn srtp_profile(id: SrtpProfileId) -> Option<SrtpProfile> {
    match id {
        SrtpProfileId::SRTP_AES128_CM_SHA1_80 => Some(SrtpProfile::AES128_CM_SHA1_80),
        SrtpProfileId::SRTP_AEAD_AES_128_GCM => Some(SrtpProfile::AEAD_AES_128_GCM),
        SrtpProfileId::SRTP_AEAD_AES_256_GCM => Some(SrtpProfile::AEAD_AES_256_GCM),
        _ => None,
    }
}

impl DtlsInstance for Dtls {
    fn set_active(&mut self, active: bool) {
        self.is_active = active;
    }

    fn handle_packet(&mut self, packet: &[u8]) -> Result<(), DtlsImplError> {
        // Nothing at all would be the end of the stream to OpenSSL.
        if packet.is_empty() {
            return Ok(());
        }
        self.stream.get_mut().incoming.push_back(packet.to_vec());
        if !self.is_connected {
            self.shake_hands()?;
        }
        if self.is_connected {
            self.read()?;
        }
        // What OpenSSL left is of no use to it.
        self.stream.get_mut().incoming.clear();
        Ok(())
    }

    fn poll_output<'a>(&mut self, buf: &'a mut [u8]) -> DtlsOutput<'a> {
        if let Some(packet) = self.stream.get_mut().outgoing.pop_front() {
            return match fill(buf, &packet) {
                Ok(packet) => DtlsOutput::Packet(packet),
                Err(needed) => DtlsOutput::BufferTooSmall { needed },
            };
        }
        // The certificate comes before anything that trusts the peer.
        match self.news.pop_front() {
            Some(News::Certificate(certificate)) => {
                return match fill(buf, &certificate) {
                    Ok(certificate) => DtlsOutput::PeerCert(certificate),
                    Err(needed) => DtlsOutput::BufferTooSmall { needed },
                };
            }
            Some(News::Keys(keys, profile)) => {
                return DtlsOutput::KeyingMaterial(KeyingMaterial::new(&keys), profile);
            }
            Some(News::Connected) => return DtlsOutput::Connected,
            Some(News::Closed) if self.received.is_empty() => return DtlsOutput::CloseNotify,
            Some(closed) => self.news.push_front(closed),
            None => {}
        }
        if let Some(packet) = self.received.pop_front() {
            return match fill(buf, &packet) {
                Ok(packet) => DtlsOutput::ApplicationData(packet),
                Err(needed) => DtlsOutput::BufferTooSmall { needed },
            };
        }
        DtlsOutput::Timeout(self.now + if self.is_connected { NEVER } else { LOOK })
    }

    fn handle_timeout(&mut self, now: Instant) -> Result<(), DtlsImplError> {
        self.now = now;
        match self.is_connected || self.close_sent {
            true => Ok(()),
            false => self.shake_hands(),
        }
    }

    fn send_application_data(&mut self, data: &[u8]) -> Result<(), DtlsImplError> {
        if !self.is_connected {
            return Err(DtlsImplError::HandshakePending);
        }
        let sent = if self.habits.own_dcep {
            let mut packet = data.to_vec();
            dcep::outgoing(&mut packet);
            self.stream.ssl_write(&packet)
        } else {
            self.stream.ssl_write(data)
        };
        sent.map(drop).or_else(|error| failed(&reason(&error)))
    }

    fn is_active(&self) -> bool {
        self.is_active
    }

    fn protocol_version(&self) -> Option<ProtocolVersion> {
        self.is_connected.then_some(ProtocolVersion::DTLS1_2)
    }

    fn is_closing(&self) -> bool {
        self.close_sent || self.close_received
    }

    fn is_closed(&self) -> bool {
        self.close_sent && self.stream.get_ref().outgoing.is_empty()
    }

    fn close(&mut self) -> Result<(), DtlsImplError> {
        if self.is_connected && !self.close_sent {
            // A peer that does not hear it notices the silence.
            let _ = self.stream.shutdown();
        }
        self.close_sent = true;
        Ok(())
    }
}

fn fill<'a>(buffer: &'a mut [u8], bytes: &[u8]) -> Result<&'a [u8], usize> {
    let room = buffer.get_mut(..bytes.len()).ok_or(bytes.len())?;
    room.copy_from_slice(bytes);
    Ok(room)
}

impl fmt::Debug for Dtls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dtls").field("is_connected", &self.is_connected).finish_non_exhaustive()
    }
}

impl Read for Datagrams {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let datagram = self.incoming.pop_front().ok_or(io::ErrorKind::WouldBlock)?;
        let count = datagram.len().min(buffer.len());
        buffer[..count].copy_from_slice(&datagram[..count]);
        Ok(count)
    }
}

impl Write for Datagrams {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.push_back(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    /// Two sides that are joined, the first the client; `lost` says which datagrams are.
    fn shake_hands(habits: [Habits; 2], mut lost: impl FnMut(usize) -> bool) -> [Dtls; 2] {
        let begin = Instant::now();
        let mut sides = habits.map(|habits| {
            let cert = Provider(habits).generate_certificate().unwrap();
            Dtls::new(&cert, begin, MTU, habits).unwrap()
        });
        sides[0].set_active(true);
        let (mut count, mut buffer) = (0, vec![0; RECORD]);
        while !sides.iter().all(|side| side.is_connected) {
            assert!(begin.elapsed() < Duration::from_secs(30), "no handshake");
            for from in [0, 1] {
                sides[from].handle_timeout(Instant::now()).unwrap();
                while let DtlsOutput::Packet(packet) = sides[from].poll_output(&mut buffer) {
                    count += 1;
                    if !lost(count) {
                        sides[1 - from].handle_packet(packet).unwrap();
                    }
                }
            }
        }
        sides
    }

    fn cipher(side: &Dtls) -> &'static str {
        side.stream.ssl().current_cipher().unwrap().name()
    }

    #[test]
    fn each_habit_is_what_it_is_called() {
        let usual = Habits::default();
        assert_eq!(cipher(&shake_hands([usual; 2], |_| false)[0]), "ECDHE-ECDSA-AES256-GCM-SHA384");
        let cbc = Habits { cbc_only: true, ..usual };
        assert_eq!(cipher(&shake_hands([usual, cbc], |_| false)[0]), "ECDHE-ECDSA-AES128-SHA");
        assert_eq!(cipher(&shake_hands([cbc, usual], |_| false)[0]), "ECDHE-ECDSA-AES128-SHA");
        // The extension has number 23 and no content.
        let offers = |habits| {
            let cert = Provider(habits).generate_certificate().unwrap();
            let mut side = Dtls::new(&cert, Instant::now(), MTU, habits).unwrap();
            side.set_active(true);
            side.handle_timeout(Instant::now()).unwrap();
            let hello = side.stream.get_mut().outgoing.pop_front().unwrap();
            hello.windows(4).any(|four| four == [0, 23, 0, 0])
        };
        assert!(offers(usual));
        let without = Habits { no_extended_master_secret: true, ..usual };
        assert!(!offers(without));
        shake_hands([usual, without], |_| false);
        shake_hands([without, usual], |_| false);
    }

    #[test]
    fn a_flight_that_is_lost_is_sent_again() {
        // The first of the client, and later each side's.
        for lost in [1, 3, 6] {
            let [mut client, mut server] =
                shake_hands([Habits::default(); 2], |count| count == lost);
            client.send_application_data(b"hello").unwrap();
            let packet = client.stream.get_mut().outgoing.pop_back().unwrap();
            server.handle_packet(&packet).unwrap();
            assert_eq!(server.received, [b"hello"]);
        }
    }

    #[test]
    fn all_records_of_a_datagram_are_read_and_rubbish_is_passed_over() {
        let [mut client, mut server] = shake_hands([Habits::default(); 2], |_| false);
        let mut datagram = Vec::new();
        for text in ["one", "two", "three"] {
            client.send_application_data(text.as_bytes()).unwrap();
            datagram.extend(client.stream.get_mut().outgoing.pop_back().unwrap());
        }
        for rubbish in [&b""[..], &[23; 100], &[22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 9, 255, 255]] {
            server.handle_packet(rubbish).unwrap();
        }
        server.handle_packet(&datagram).unwrap();
        assert_eq!(server.received, [&b"one"[..], b"two", b"three"]);
        // What was heard before is not heard again.
        server.handle_packet(&datagram).unwrap();
        assert_eq!(server.received.len(), 3);
        client.close().unwrap();
        let goodbye = client.stream.get_mut().outgoing.pop_back().unwrap();
        server.handle_packet(&goodbye).unwrap();
        assert!(server.is_closing() && !server.is_closed());
    }
}
