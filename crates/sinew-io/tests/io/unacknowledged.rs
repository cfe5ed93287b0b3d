//! What a TCP peer has not acknowledged.

use std::{
    io::{ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    time::{Duration, Instant},
};

use sinew_io::unacknowledged;

/// A connection on this address: the end that writes, and the one that reads.
fn pair(address: &str) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(address).unwrap();
    let reader = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (listener.accept().unwrap().0, reader)
}

fn of(socket: &TcpStream) -> std::io::Result<u32> {
    unacknowledged(socket.local_addr()?, socket.peer_addr()?)
}

fn is_counted_until_it_is_taken(address: &str) {
    let (mut writer, mut reader) = pair(address);
    assert_eq!(of(&writer).unwrap(), 0);
    writer.set_nonblocking(true).unwrap();
    let mut written = 0;
    loop {
        match writer.write(&[0; 4096]) {
            Ok(count) => written += count,
            Err(error) => break assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    }
    // The peer's kernel acknowledges what it has room for, and no more.
    let waits = of(&writer).unwrap() as usize;
    assert!(waits > 0 && waits < written, "{waits} of {written}");
    reader.read_exact(&mut vec![0; written]).unwrap();
    let begin = Instant::now();
    while of(&writer).unwrap() > 0 {
        assert!(begin.elapsed() < Duration::from_secs(10), "all was read");
    }
}

#[test]
fn what_no_peer_took_is_counted_until_it_does() {
    is_counted_until_it_is_taken("127.0.0.1:0");
    match TcpListener::bind("[::1]:0") {
        Ok(_) => is_counted_until_it_is_taken("[::1]:0"),
        Err(error) => println!("SKIPPED: no IPv6 here: {error}"),
    }
}

/// A listener of both families has clients with addresses of IPv4 in the form of IPv6.
#[test]
fn clients_of_the_other_family_are_found() {
    let Ok(listener) = TcpListener::bind("[::]:0") else {
        return println!("SKIPPED: no IPv6 here");
    };
    let port = listener.local_addr().unwrap().port();
    let Ok(_reader) = TcpStream::connect(("127.0.0.1", port)) else {
        return println!("SKIPPED: IPv6 is kept to itself here");
    };
    let writer = listener.accept().unwrap().0;
    assert_eq!(of(&writer).unwrap(), 0);
}

#[test]
fn a_connection_that_is_none_is_an_error() {
    let (writer, _reader) = pair("127.0.0.1:0");
    let nowhere = "127.0.0.1:1".parse().unwrap();
    let error = unacknowledged(writer.local_addr().unwrap(), nowhere).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}
