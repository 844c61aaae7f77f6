//! By an async runtime, as its users write such a thing: a task for each connection and one that writes to each server; a client's
//! task waits for the answer to what it asked.

use std::collections::VecDeque;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

use crate::READ;
use crate::relay::{answer, server_of};

type Waiting = oneshot::Sender<Vec<u8>>;

pub fn run(listener: TcpListener, servers: Vec<TcpStream>) -> std::io::Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_io().build()?.block_on(async {
        let mut ask = Vec::new();
        for stream in servers {
            stream.set_nonblocking(true)?;
            let (mut read, mut write) = tokio::net::TcpStream::from_std(stream)?.into_split();
            let (sender, mut receiver) = mpsc::unbounded_channel::<(Vec<u8>, Waiting)>();
            ask.push(sender);
            let waiting = Arc::new(Mutex::new(VecDeque::new()));
            let asked = waiting.clone();
            tokio::spawn(async move {
                let (mut batch, mut out) = (Vec::new(), Vec::new());
                while receiver.recv_many(&mut batch, 1024).await > 0 {
                    for (line, waits) in batch.drain(..) {
                        out.extend_from_slice(&line);
                        asked.lock().expect("one thread").push_back(waits);
                    }
                    if write.write_all(&out).await.is_err() {
                        return;
                    }
                    out.clear();
                }
            });
            tokio::spawn(async move {
                let mut bytes = Vec::with_capacity(READ);
                while read.read_buf(&mut bytes).await.is_ok_and(|count| count > 0) {
                    let mut at = 0;
                    while let Some(size) = answer(&bytes[at..]) {
                        let waits: Waiting = waiting.lock().expect("one thread").pop_front().expect("somebody asked");
                        let _ = waits.send(bytes[at..at + size].to_vec());
                        at += size;
                    }
                    bytes.drain(..at);
                }
            });
        }
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            let (mut stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let ask = ask.clone();
            tokio::spawn(async move {
                let mut bytes = Vec::with_capacity(4096);
                while stream.read_buf(&mut bytes).await.is_ok_and(|count| count > 0) {
                    while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
                        let line: Vec<u8> = bytes.drain(..=end).collect();
                        let (sender, receiver) = oneshot::channel();
                        let _ = ask[server_of(&line, ask.len())].send((line, sender));
                        let Ok(answer) = receiver.await else { return };
                        if stream.write_all(&answer).await.is_err() {
                            return;
                        }
                    }
                }
            });
        }
    })
}
