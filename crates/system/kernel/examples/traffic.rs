//! Traffic of the tests: servers that respond with a number of bytes, and clients that open a connection for each request.
//!
//! `traffic serve ADDRESS BYTES` prints its address and responds until it is killed. `traffic ask ADDRESS COUNT THREADS` makes
//! requests and prints how many bytes came. `traffic keep ADDRESS` keeps one connection open, and makes a request for each line that it
//! reads.
#![expect(clippy::disallowed_types, reason = "it makes traffic of real TCP")]

use std::env;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::thread;

fn serve(address: &str, bytes: usize) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("{}", listener.local_addr()?);
    for stream in listener.incoming() {
        let mut stream = stream?;
        thread::spawn(move || {
            let response = vec![0; bytes];
            let mut request = [0];
            while stream.read_exact(&mut request).is_ok() && stream.write_all(&response).is_ok() {}
        });
    }
    Ok(())
}

fn request(stream: &mut TcpStream) -> io::Result<u64> {
    stream.write_all(&[0])?;
    // The end of a response is the server's last byte: the client's half of the connection closes first.
    stream.shutdown(std::net::Shutdown::Write)?;
    io::copy(stream, &mut io::sink())
}

fn ask(address: &str, count: usize, threads: usize) -> io::Result<u64> {
    let one =
        || (0..count).try_fold(0, |sum, _| Ok::<u64, io::Error>(sum + request(&mut TcpStream::connect(address)?)?));
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        workers.into_iter().try_fold(0, |sum, worker| Ok(sum + worker.join().expect("a thread of requests ends")?))
    })
}

fn keep(address: &str) -> io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    let (mut line, mut response) = (String::new(), vec![0; 1 << 16]);
    println!("connected");
    while io::stdin().read_line(&mut line)? > 0 {
        stream.write_all(&[0])?;
        let some = stream.read(&mut response)?;
        println!("{}", some > 0);
    }
    Ok(())
}

fn run(arguments: &[String]) -> io::Result<()> {
    let number = |place: usize| arguments[place].parse::<usize>().map_err(io::Error::other);
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", address, _] => serve(address, number(2)?),
        ["ask", address, _, _] => {
            println!("{}", ask(address, number(2)?, number(3)?)?);
            Ok(())
        }
        ["keep", address] => keep(address),
        _ => Err(io::Error::other("usage: traffic serve ADDRESS BYTES | ask ADDRESS COUNT THREADS | keep ADDRESS")),
    }
}

fn main() -> ExitCode {
    match run(&env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("traffic: {error}");
            ExitCode::FAILURE
        }
    }
}
