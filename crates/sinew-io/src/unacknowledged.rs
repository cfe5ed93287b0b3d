//! What the other end of a TCP connection has not acknowledged.

use std::{io, net::SocketAddr};

/// Bytes written to a TCP connection of this process that its peer has not acknowledged, of which
/// some may not have been sent yet.
///
/// Asked of the kernel's socket diagnostics (sock_diag(7)), which find one socket by its addresses:
/// that takes microseconds however many there are, where `/proc/net/tcp` lists them all.
#[cfg(target_os = "linux")]
pub fn unacknowledged(local: SocketAddr, peer: SocketAddr) -> io::Result<u32> {
    use rustix::net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send,
        socket_with,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let kernel =
        socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG))?;
    send(&kernel, &request(local, peer), SendFlags::empty())?;
    let mut space = [0; 512];
    // The kernel answers while it is asked.
    let (count, _) = recv(&kernel, &mut space[..], RecvFlags::empty())?;
    waiting(space.get(..count).unwrap_or(&space))
}

/// There is no such question elsewhere.
#[cfg(not(target_os = "linux"))]
pub fn unacknowledged(_local: SocketAddr, _peer: SocketAddr) -> io::Result<u32> {
    Err(io::ErrorKind::Unsupported.into())
}

/// `nlmsghdr`, then `inet_diag_req_v2`. The header's and the kernel's numbers are in the machine's
/// order, ports and addresses in the network's.
#[cfg(target_os = "linux")]
fn request(local: SocketAddr, peer: SocketAddr) -> Vec<u8> {
    const LENGTH: u32 = 72;
    const SOCK_DIAG_BY_FAMILY: u16 = 20;
    const NLM_F_REQUEST: u16 = 1;
    const TCP: u8 = 6;
    use rustix::net::AddressFamily;

    let family = if local.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let interface = match local {
        SocketAddr::V4(_) => 0,
        SocketAddr::V6(local) => local.scope_id(),
    };
    let mut request = Vec::with_capacity(LENGTH as usize);
    request.extend(LENGTH.to_ne_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend(NLM_F_REQUEST.to_ne_bytes());
    // Number and sender of the request, which is the only one of its socket.
    request.extend([0; 8]);
    request.extend([family.as_raw() as u8, TCP, 0, 0]);
    // In any state.
    request.extend(u32::MAX.to_ne_bytes());
    request.extend(local.port().to_be_bytes());
    request.extend(peer.port().to_be_bytes());
    for address in [local, peer] {
        match address {
            SocketAddr::V4(address) => {
                request.extend(address.ip().octets());
                request.extend([0; 12]);
            }
            SocketAddr::V6(address) => request.extend(address.ip().octets()),
        }
    }
    request.extend(interface.to_ne_bytes());
    // Without the cookie that a listing would have given.
    request.extend([0xFF; 8]);
    request
}

/// Reads `idiag_wqueue` of the `inet_diag_msg` behind the header.
#[cfg(target_os = "linux")]
fn waiting(answer: &[u8]) -> io::Result<u32> {
    const NLMSG_ERROR: u16 = 2;
    const QUEUE: usize = 16 + 60;
    let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).ok_or_else(short)?;
    let number = |at: usize| {
        let bytes = answer.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u32::from_ne_bytes).ok_or_else(short)
    };
    match u16::from_ne_bytes(kind) {
        NLMSG_ERROR => Err(io::Error::from_raw_os_error((number(16)? as i32).wrapping_neg())),
        _ => number(QUEUE),
    }
}
