//! As much of an HTTP server as a robot has: one request a connection, which it closes without saying so.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    os::fd::AsFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::desk::Desk;
use crate::wake::Waker;

/// Connections that are served at a time; more are closed.
const MOST: usize = 16;
/// How long a client may take for its request.
const REQUEST: Duration = Duration::from_secs(5);
const LONGEST_HEAD: usize = 16 << 10;
const LONGEST_BODY: usize = 256 << 10;
const HEADERS: usize = 64;

/// Answers requests until it is dropped.
pub(super) struct Listener {
    address: SocketAddr,
    ending: Arc<(AtomicBool, Waker)>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Listener {
    pub(super) fn spawn(address: SocketAddr, is_old: bool, desk: Arc<Desk>) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let ending = Arc::new((AtomicBool::new(false), Waker::new()?));
        let end = Arc::clone(&ending);
        let work = move || {
            let alive = Arc::new(());
            while !end.0.load(Ordering::Acquire) {
                // Without poll there is no waiting; do not spin.
                if end.1.wait(Some(listener.as_fd()), None).is_err() {
                    thread::sleep(Duration::from_millis(10));
                }
                while let Ok((stream, _)) = listener.accept() {
                    if Arc::strong_count(&alive) <= MOST {
                        let (desk, alive) = (Arc::clone(&desk), Arc::clone(&alive));
                        let serve = move || {
                            // A client that goes away gets no answer.
                            let _ = serve(&stream, is_old, &desk);
                            drop(alive);
                        };
                        let _ = thread::Builder::new().name("signalling".into()).spawn(serve);
                    }
                }
            }
        };
        let thread = thread::Builder::new().name("signalling".into()).spawn(work)?;
        Ok(Listener { address, ending, thread: Some(thread) })
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.ending.0.store(true, Ordering::Release);
        self.ending.1.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(stream: &TcpStream, is_old: bool, desk: &Desk) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let Some(Request { path, body }) = read(stream)? else { return Ok(()) };
    let Some((status, text)) = desk.reply(is_old, &path, &body) else { return Ok(()) };
    let words = if status == 200 { "OK" } else { "Not Found" };
    let head = format!("HTTP/1.1 {status} {words}\r\nContent-Length: {}\r\n\r\n", text.len());
    let mut stream = stream;
    stream.write_all((head + &text).as_bytes())
}

struct Request {
    path: String,
    body: Vec<u8>,
}

/// A POST; none when it is something else, too long, or takes too long.
fn read(mut stream: &TcpStream) -> io::Result<Option<Request>> {
    let end = Instant::now() + REQUEST;
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Ok(None);
        }
        bytes.extend_from_slice(&buffer[..count]);
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let head = match request.parse(&bytes) {
            Ok(httparse::Status::Complete(head)) => head,
            Ok(httparse::Status::Partial) if bytes.len() < LONGEST_HEAD => continue,
            _ => return Ok(None),
        };
        let length =
            request.headers.iter().find(|it| it.name.eq_ignore_ascii_case("content-length"));
        let length =
            length.map_or(Some(0), |it| str::from_utf8(it.value).ok()?.trim().parse().ok());
        let Some(length) = length.filter(|length| *length <= LONGEST_BODY) else { return Ok(None) };
        if request.method != Some("POST") {
            return Ok(None);
        }
        if let Some(body) = bytes.get(head..head + length) {
            let path = request.path.unwrap_or_default().to_owned();
            return Ok(Some(Request { path, body: body.to_vec() }));
        }
    }
}
