//! What stands between clients and the SDK's server.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{sleep, timeout},
};

use super::{Options, Shared, lock};

/// Clients at a time.
const MOST: usize = 16;
/// Connections at a time that have not said who they are.
const STRANGERS: usize = 32;
/// How long one has to say so, and how much it may say.
const PATIENCE: Duration = Duration::from_secs(5);
const LONGEST: usize = 8 << 10;
const HEADERS: usize = 64;
/// How long a wrong token is thought about.
const THOUGHT: Duration = Duration::from_secs(1);
/// Pages that may look, beside those of this machine's own names: Foxglove's.
const PAGES: [&str; 2] = ["https://app.foxglove.dev", "https://studio.foxglove.dev"];

/// Lets clients in.
pub(super) struct Gate {
    options: Options,
    inner: SocketAddr,
    shared: Arc<Shared>,
    strangers: Arc<Semaphore>,
    clients: Arc<Semaphore>,
}

/// Why a client is not let in.
#[derive(Debug, PartialEq, Eq)]
enum No {
    /// It is no request.
    Request,
    /// A page of another place, or a name that is not this machine's.
    Page,
    Token,
    Full,
}

impl No {
    fn status(&self) -> &'static str {
        match self {
            No::Request => "400 Bad Request",
            No::Page => "403 Forbidden",
            No::Token => "401 Unauthorized",
            No::Full => "503 Service Unavailable",
        }
    }
}

impl Gate {
    pub(super) fn new(options: Options, inner: SocketAddr, shared: Arc<Shared>) -> Self {
        let strangers = Arc::new(Semaphore::new(STRANGERS));
        let clients = Arc::new(Semaphore::new(MOST));
        Gate { options, inner, shared, strangers, clients }
    }

    pub(super) async fn run(self, listener: std::net::TcpListener) {
        let Ok(listener) = TcpListener::from_std(listener) else { return };
        let gate = Arc::new(self);
        loop {
            let Ok(seat) = Arc::clone(&gate.strangers).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, peer)) => {
                    let gate = Arc::clone(&gate);
                    tokio::spawn(async move {
                        let known = timeout(PATIENCE, gate.meet(stream, peer)).await;
                        drop(seat);
                        if let Ok(Ok(Some((client, head)))) = known {
                            gate.serve(client, &head).await;
                        }
                    });
                }
                // No descriptor is left: others are needed more.
                Err(_) => sleep(THOUGHT).await,
            }
        }
    }

    /// Hears what a connection wants; gives what the server is to hear of it if it may come in.
    async fn meet(
        &self,
        mut stream: TcpStream,
        peer: SocketAddr,
    ) -> io::Result<Option<(TcpStream, Vec<u8>)>> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") && head.len() < LONGEST {
            // A client says no more before it was answered: what comes is the request.
            if stream.read_buf(&mut head).await? == 0 {
                return Ok(None);
            }
        }
        match self.check(&head) {
            Ok(head) => Ok(Some((stream, head))),
            Err(no) => {
                if no == No::Token {
                    tracing::warn!("Foxglove client {peer}: no token that is known");
                    sleep(THOUGHT).await;
                }
                refuse(&mut stream, &no).await?;
                Ok(None)
            }
        }
    }

    /// The request as the server may hear it: without secrets.
    fn check(&self, head: &[u8]) -> Result<Vec<u8>, No> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(head) {
            Ok(httparse::Status::Complete(_)) if request.method == Some("GET") => {}
            _ => return Err(No::Request),
        }
        let header = |name: &str| {
            let found =
                request.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
            found.map(|header| String::from_utf8_lossy(header.value).into_owned())
        };
        let host = header("host").map(|host| name_of(&host)).ok_or(No::Request)?;
        let origin = header("origin");
        let is_ours = origin.is_none_or(|origin| {
            PAGES.contains(&origin.as_str())
                || origin.split_once("://").is_some_and(|(_, place)| name_of(place) == host)
        });
        if !self.is_known(&host) || !is_ours {
            return Err(No::Page);
        }
        let shown = header("authorization");
        let shown = shown.as_deref().and_then(|shown| shown.strip_prefix("Bearer "));
        let query = request.path.and_then(|path| path.split_once('?')).map(|(_, query)| query);
        let given = query.into_iter().flat_map(|query| query.split('&'));
        let given = given.filter_map(|pair| pair.strip_prefix("token=")).next();
        if !(self.options.admits)(shown.or(given)) {
            return Err(No::Token);
        }
        let mut out = b"GET / HTTP/1.1\r\n".to_vec();
        for header in request.headers.iter() {
            if !header.name.eq_ignore_ascii_case("authorization") {
                out.extend_from_slice(header.name.as_bytes());
                out.extend_from_slice(b": ");
                out.extend_from_slice(header.value);
                out.extend_from_slice(b"\r\n");
            }
        }
        out.extend_from_slice(b"\r\n");
        Ok(out)
    }

    /// Whether this machine may be called so: a page can make its own name lead here.
    fn is_known(&self, host: &str) -> bool {
        host == "localhost"
            || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
            || self.options.hosts.iter().any(|name| name.eq_ignore_ascii_case(host))
    }

    async fn serve(&self, mut client: TcpStream, head: &[u8]) {
        let Ok(_seat) = self.clients.try_acquire() else {
            let _ = refuse(&mut client, &No::Full).await;
            return;
        };
        let Ok(mut server) = TcpStream::connect(self.inner).await else { return };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        if server.write_all(head).await.is_err() {
            return;
        }
        let _present = Present::new(&self.shared);
        // However it ends, it is over.
        let _ = copy_bidirectional(&mut client, &mut server).await;
    }
}

async fn refuse(stream: &mut TcpStream, no: &No) -> io::Result<()> {
    let status = no.status();
    let answer = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

/// A host without its port, in small letters.
fn name_of(authority: &str) -> String {
    let authority = authority.to_ascii_lowercase();
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host.into(),
        _ => authority,
    }
}

/// A client that is there.
struct Present<'a>(&'a Shared);

impl<'a> Present<'a> {
    fn new(shared: &'a Shared) -> Self {
        lock(shared).count += 1;
        shared.changed.notify_all();
        Present(shared)
    }
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        lock(self.0).count -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(token: Option<&'static str>) -> Gate {
        let options = Options {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            admits: Arc::new(move |shown| token.is_none() || shown == token),
            hosts: vec!["robot.lan".into()],
            on_thread: || (),
            topics: Vec::new(),
        };
        Gate::new(options, SocketAddr::from(([127, 0, 0, 1], 1)), Arc::default())
    }

    fn check(gate: &Gate, path: &str, headers: &str) -> Result<String, No> {
        let head = format!("GET {path} HTTP/1.1\r\n{headers}\r\n");
        gate.check(head.as_bytes()).map(|head| String::from_utf8(head).expect("is text"))
    }

    #[test]
    fn pages_of_other_places_and_names_that_are_not_ours_stay_out() {
        let gate = gate(None);
        for (headers, wanted) in [
            ("Host: 127.0.0.1:8765\r\n", true),
            ("Host: [::1]:8765\r\n", true),
            ("Host: robot.lan\r\n", true),
            ("Host: localhost:8765\r\nOrigin: https://app.foxglove.dev\r\n", true),
            ("Host: localhost:8765\r\nOrigin: http://localhost:8080\r\n", true),
            ("Host: localhost:8765\r\nOrigin: https://evil.example\r\n", false),
            ("Host: localhost:8765\r\nOrigin: https://app.foxglove.dev.evil.example\r\n", false),
            ("Host: evil.example:8765\r\nOrigin: http://evil.example:8765\r\n", false),
            ("Host: localhost\r\nOrigin: null\r\n", false),
        ] {
            let expected = if wanted { Ok(()) } else { Err(No::Page) };
            assert_eq!(check(&gate, "/", headers).map(drop), expected, "{headers}");
        }
        assert_eq!(check(&gate, "/", "").map(drop), Err(No::Request));
        assert_eq!(gate.check(b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n"), Err(No::Request));
        assert_eq!(gate.check(&[0xff; 100]), Err(No::Request));
    }

    #[test]
    fn a_token_is_asked_for_and_not_handed_on() {
        let gate = gate(Some("secret-of-16-chars"));
        let host = "Host: localhost\r\n";
        assert_eq!(check(&gate, "/", host), Err(No::Token));
        assert_eq!(check(&gate, "/?token=wrong", host), Err(No::Token));
        let shown = format!("{host}Authorization: Bearer secret-of-16-chars\r\n");
        for head in
            [check(&gate, "/?a=1&token=secret-of-16-chars", host), check(&gate, "/", &shown)]
        {
            let head = head.expect("is let in");
            assert!(head.starts_with("GET / HTTP/1.1\r\nHost: localhost\r\n"), "{head}");
            assert!(!head.contains("secret"), "{head}");
        }
    }
}
