//! File of a listening UNIX socket: a stale one is replaced, one in use is refused, and its own is removed at the end.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket, Type};

/// The file, removed when this is dropped.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// Device and inode, since another process may have replaced the file.
    identity: Option<(u64, u64)>,
}

impl SocketFile {
    /// The file of a socket that another process has opened.
    pub fn of(path: &Path) -> SocketFile {
        SocketFile { path: path.to_owned(), identity: identity(path) }
    }

    /// Leaves it to another process.
    pub fn leave(mut self) {
        self.identity = None;
    }

    /// Listens at a path. Who may connect follows from the process's umask and the folder's permissions.
    ///
    /// # Errors
    /// `AddrInUse` if a process listens there; or the path is no socket, or cannot be bound.
    pub fn listen(path: &Path, backlog: i32) -> io::Result<(Socket, SocketFile)> {
        remove_stale(path)?;
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.bind(&SockAddr::unix(path)?)?;
        let file = SocketFile::of(path);
        socket.listen(backlog)?;
        socket.set_nonblocking(true)?;
        Ok((socket, file))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.identity.is_some() && identity(&self.path) == self.identity {
            // Somebody else may just have removed it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Removes the file of a socket on which nobody listens.
fn remove_stale(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::new(ErrorKind::AlreadyExists, "it exists and is no socket; use another path"));
        }
        Ok(_) => {}
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // A full queue would make it wait.
    socket.set_nonblocking(true)?;
    match socket.connect(&SockAddr::unix(path)?) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(error),
        _ => Err(ErrorKind::AddrInUse.into()),
    }
}
