//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package limit

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// folderVectors are the cases of all languages.
type folderVectors struct {
	Permissions []struct {
		Owner, Of, User uint32
		Group           *uint32
		Mode            string
		Refused         string
	}
	Folders []folderCase
}

type folderCase struct {
	Kind, Mode, Refused string
	Files               map[string]string
}

func readFolderVectors(t *testing.T) folderVectors {
	t.Helper()
	var file folderVectors
	vectors(t, "limit_folder.json", &file)
	if len(file.Permissions) < 10 || len(file.Folders) < 8 {
		t.Fatal("there are too few cases")
	}
	return file
}

func TestFoldersOfOthersAreRefused(t *testing.T) {
	for _, c := range readFolderVectors(t).Permissions {
		mode, err := strconv.ParseUint(c.Mode, 8, 32)
		if err != nil {
			t.Fatal(err)
		}
		found, group := attributes{user: c.Owner, group: c.Of, mode: uint32(mode)}, uint32(0)
		if c.Group != nil {
			group = *c.Group
		}
		if why := distrustOfFolder(found, c.User, group, c.Group != nil); why != c.Refused {
			t.Errorf("%+v: %q", c, why)
		}
	}
}

// make makes the folder of a case, and a file to which its links lead; it returns both.
func (c folderCase) make(t *testing.T) (folder, outside string) {
	t.Helper()
	above := t.TempDir()
	folder, outside = filepath.Join(above, "budget"), filepath.Join(above, "outside")
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(outside, []byte("unchanged"), 0o600))
	switch c.Kind {
	case "folder":
		mode, err := strconv.ParseUint(c.Mode, 8, 32)
		must(err)
		must(os.Mkdir(folder, 0o700))
		must(os.Chmod(folder, os.FileMode(mode)))
	case "link":
		must(os.Mkdir(folder+"-of-other", 0o700))
		must(os.Symlink(folder+"-of-other", folder))
	case "file":
		must(os.WriteFile(folder, nil, 0o600))
	}
	for name, kind := range c.Files {
		path := filepath.Join(folder, name)
		switch kind {
		case "link":
			must(os.Symlink(outside, path))
		case "second name":
			must(os.Link(outside, path))
		case "folder":
			must(os.Mkdir(path, 0o700))
		default:
			t.Fatal(kind)
		}
	}
	return folder, outside
}

func TestFolderIsTrustedOrRefused(t *testing.T) {
	settings := Default()
	settings.Law, settings.Budget, settings.Expected = "one-all", budgetOfAll, sizeOfOne
	for _, c := range readFolderVectors(t).Folders {
		folder, outside := c.make(t)
		limit, err := NewShared(settings, folder)
		if c.Refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.Refused) || !strings.Contains(err.Error(), folder) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		// Every slot is of use.
		grants(t, limit, 64)
		limit.Close()
		if text, err := os.ReadFile(outside); string(text) != "unchanged" {
			t.Errorf("%+v: %q, %v", c, text, err)
		}
		for _, name := range []string{"", "process-00", "slot-63"} {
			info, err := os.Lstat(filepath.Join(folder, name))
			if err != nil || info.Mode().Perm()&0o077 != 0 || info.Mode()&os.ModeSymlink != 0 {
				t.Errorf("%+v: %s: %v, %v", c, name, info, err)
			}
		}
	}
}
