//! Speech between a real-time thread and the others, without a lock that one of them could hold
//! while another, more urgent one has its core.

use std::{io, sync::Arc, thread};

use rtrb::{Consumer, Producer, PushError, RingBuffer};

use crate::wake::Waker;

/// What a real-time thread says, which a thread of ordinary priority passes on.
#[derive(Debug)]
pub(crate) struct Relay<T> {
    ring: Option<Producer<T>>,
    waker: Arc<Waker>,
    thread: Option<thread::JoinHandle<()>>,
}

impl<T: Send + 'static> Relay<T> {
    /// Starts the thread that passes on.
    pub(crate) fn spawn(
        name: &str,
        capacity: usize,
        pass_on: impl FnMut(T) + Send + 'static,
    ) -> io::Result<Self> {
        let (producer, consumer) = RingBuffer::new(capacity);
        let waker = Arc::new(Waker::new()?);
        let woken = Arc::clone(&waker);
        let thread = thread::Builder::new()
            .name(name.into())
            .spawn(move || listen(consumer, &woken, pass_on))?;
        Ok(Relay { ring: Some(producer), waker, thread: Some(thread) })
    }

    /// Says something; what there is no room for comes back.
    pub(crate) fn say(&mut self, what: T) -> Result<(), T> {
        let said = match &mut self.ring {
            Some(ring) => ring.push(what),
            None => Err(PushError::Full(what)),
        };
        self.waker.wake();
        said.map_err(|PushError::Full(what)| what)
    }
}

/// Everything that was said is passed on before this ends.
impl<T> Drop for Relay<T> {
    fn drop(&mut self) {
        self.ring = None;
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn listen<T>(mut ring: Consumer<T>, waker: &Waker, mut pass_on: impl FnMut(T)) {
    loop {
        let over = ring.is_abandoned();
        while let Ok(said) = ring.pop() {
            pass_on(said);
        }
        if over {
            return;
        }
        if waker.wait(None, None).is_err() {
            // Without poll there is no waiting; do not spin.
            thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}
