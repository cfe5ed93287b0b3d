//! A client that has the controls and turns the robot. Tests use it too.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// Sends a velocity again and again until it is dropped.
pub(crate) struct Driver {
    socket: Arc<Mutex<TcpStream>>,
    /// Ends a writer that waits for room.
    end: TcpStream,
    silent: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Driver {
    /// Turns the robot by so many commands a second; in place, where no wall is met.
    pub(crate) fn start(lines: SocketAddr, token: Option<&str>, hz: u32) -> io::Result<Self> {
        let socket = TcpStream::connect(lines)?;
        socket.set_nodelay(true)?;
        let (mut answers, end) = (socket.try_clone()?, socket.try_clone()?);
        let socket = Arc::new(Mutex::new(socket));
        let mut driver = Driver { socket, end, silent: Arc::default(), threads: Vec::new() };
        if let Some(token) = token {
            driver.send(&json!({ "type": "Auth", "token": token }))?;
        }
        driver.enable()?;
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while answers.read(&mut buffer).is_ok_and(|count| count > 0) {}
        });
        let (socket, silent) = (Arc::clone(&driver.socket), Arc::clone(&driver.silent));
        let writer = thread::spawn(move || keep_sending(&socket, &silent, hz));
        driver.threads = vec![reader, writer];
        Ok(driver)
    }

    pub(crate) fn enable(&self) -> io::Result<()> {
        let action = json!({ "type": "Enable" });
        self.send(&json!({ "type": "ComponentControl", "id": "drive", "action": action }))
    }

    fn send(&self, message: &Value) -> io::Result<()> {
        send(&self.socket, format!("{message}\n").as_bytes())
    }

    /// Sends no more; the connection stays.
    pub(crate) fn fall_silent(&self) {
        self.silent.store(true, Ordering::Release);
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.fall_silent();
        let _ = self.end.shutdown(Shutdown::Both);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn keep_sending(socket: &Mutex<TcpStream>, silent: &AtomicBool, hz: u32) {
    let config = json!({ "linear": { "F32": 0.0 }, "angular": { "F32": 0.5 } });
    let action = json!({ "type": "Configure", "config": config });
    let line =
        format!("{}\n", json!({ "type": "ComponentControl", "id": "drive", "action": action }));
    let begin = Instant::now();
    let mut sent = 0;
    while !silent.load(Ordering::Acquire) {
        let due = (begin.elapsed().as_secs_f64() * f64::from(hz)) as u64;
        for _ in sent..due {
            if send(socket, line.as_bytes()).is_err() {
                return;
            }
        }
        sent = due;
        thread::sleep(Duration::from_millis(1));
    }
}

fn send(socket: &Mutex<TcpStream>, bytes: &[u8]) -> io::Result<()> {
    socket.lock().unwrap_or_else(PoisonError::into_inner).write_all(bytes)
}
