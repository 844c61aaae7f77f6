//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package limit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// folder is the folder of a shared budget. Whoever can open a file of it can hold its lock, and whoever can write to it can put a link there.
// So it belongs to the process's user or to root, and nobody else can open it, except members of the group that the settings name. The Rust
// crate's folder.rs has the same rules.
type folder struct {
	path string
	// file is the open folder: path is the same one at each use.
	file        *os.File
	owner, user uint32
	group       uint32
	hasGroup    bool
}

// attributes are what a process sees of a folder or file.
type attributes struct {
	user, group, mode uint32
	isPlain           bool
}

func attributesOf(info fs.FileInfo) attributes {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return attributes{user: ^uint32(0)}
	}
	return attributes{stat.Uid, stat.Gid, uint32(stat.Mode) & 0o7777, info.Mode().IsRegular() && stat.Nlink == 1}
}

// openFolder opens a folder that the process trusts, or makes it.
func openFolder(path string, settings Settings) (*folder, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	err := os.Mkdir(path, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	made := err == nil
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR) {
		return nil, fmt.Errorf("%s: it is a link or no folder; use a folder", path)
	}
	if err != nil {
		return nil, err
	}
	if made && settings.HasGroup {
		if err := errors.Join(file.Chown(-1, int(settings.Group)), file.Chmod(0o770|fs.ModeSetgid)); err != nil {
			file.Close()
			return nil, err
		}
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	found, user := attributesOf(info), uint32(os.Geteuid())
	if why := distrustOfFolder(found, user, settings.Group, settings.HasGroup); why != "" {
		file.Close()
		return nil, fmt.Errorf("%s: %s", path, why)
	}
	return &folder{path, file, found.user, user, settings.Group, settings.HasGroup}, nil
}

// distrustOfFolder says why a user does not trust a folder, and what to do; nothing if they do.
func distrustOfFolder(found attributes, user, group uint32, hasGroup bool) string {
	switch {
	case found.user != user && found.user != 0:
		return fmt.Sprintf("it belongs to user %d, but this process is of user %d; use an own folder, or one of root", found.user, user)
	case !hasGroup && found.mode&0o077 != 0:
		return "other users may open it; run `chmod 700` on it, or name its group in the setting `group`"
	case hasGroup && found.group != group:
		return fmt.Sprintf("its group is %d, but the setting `group` is %d; run `chgrp %d` on it", found.group, group, group)
	case hasGroup && found.mode&0o007 != 0:
		return "users outside of its group may open it; run `chmod o=` on it"
	}
	return ""
}

// alone does something while no other process creates or replaces a file.
func (f *folder) alone(does func() error) error {
	if err := syscall.Flock(int(f.file.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	err := does()
	return errors.Join(err, syscall.Flock(int(f.file.Fd()), syscall.LOCK_UN))
}

// replaceDistrusted replaces files of these names that the process does not trust, by empty ones: those of a time when others could write to
// the folder.
func (f *folder) replaceDistrusted(names []string) error {
	return f.alone(func() error {
		for _, name := range names {
			info, err := os.Lstat(filepath.Join(f.path, name))
			if errors.Is(err, fs.ErrNotExist) || err == nil && f.trusts(attributesOf(info)) {
				continue
			}
			if err != nil {
				return err
			}
			if err := syscall.Unlink(filepath.Join(f.path, name)); err != nil {
				return fmt.Errorf("%s: %s is no file of this user (%w); delete it", f.path, name, err)
			}
			file, err := f.openFile(name, os.O_CREATE)
			if err != nil {
				return err
			}
			file.Close()
		}
		return nil
	})
}

// open opens a file for reading and writing; it returns nil if there is none.
func (f *folder) open(name string) (*os.File, error) {
	file, err := f.openFile(name, 0)
	if errors.Is(err, fs.ErrPermission) && f.hasGroup {
		// Another user's process may be about to permit it.
		err = f.alone(func() (err error) {
			file, err = f.openFile(name, 0)
			return err
		})
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return file, err
}

// create opens a file likewise, and creates it if there is none.
func (f *folder) create(name string) (*os.File, error) {
	file, err := f.open(name)
	if file != nil || err != nil {
		return file, err
	}
	err = f.alone(func() (err error) {
		file, err = f.openFile(name, os.O_CREATE)
		return err
	})
	return file, err
}

func (f *folder) openFile(name string, more int) (*os.File, error) {
	wrong := fmt.Errorf("%s: %s is no file of this user; delete it", f.path, name)
	file, err := os.OpenFile(filepath.Join(f.path, name), os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|more, 0o600)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EISDIR) {
		return nil, wrong
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !f.trusts(attributesOf(info)) {
		err = wrong
	}
	if err == nil && attributesOf(info).user == f.user {
		err = f.permit(file, attributesOf(info))
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// permit lets only the group open an own file, if the settings name one.
func (f *folder) permit(file *os.File, found attributes) error {
	mode := uint32(0o600)
	if f.hasGroup {
		mode = 0o660
		if found.group != f.group {
			if err := file.Chown(-1, int(f.group)); err != nil {
				return err
			}
		}
	}
	if found.mode&0o777 != mode {
		return file.Chmod(fs.FileMode(mode))
	}
	return nil
}

// trusts says whether a file is a plain one of this user, of the folder's owner, or of the group.
func (f *folder) trusts(found attributes) bool {
	isKnown := slices.Contains([]uint32{f.user, f.owner}, found.user) || f.hasGroup && found.group == f.group
	return found.isPlain && isKnown
}

// check says whether the path is still that of the folder.
func (f *folder) check() error {
	now, err := os.Lstat(f.path)
	if err != nil {
		return err
	}
	then, err := f.file.Stat()
	if err == nil && !os.SameFile(now, then) {
		err = fmt.Errorf("%s: it is another folder than before", f.path)
	}
	return err
}
