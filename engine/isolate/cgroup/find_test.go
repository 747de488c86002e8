package cgroup

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// The places for a launcher's groups are found on machines of all kinds.
func TestPlaces(t *testing.T) {
	const (
		unified = "25 1 0:22 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
		hybrid  = "33 31 0:30 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n41 31 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	)
	for name, c := range map[string]struct {
		mountinfo, cgroup string
		want              []string
		says              string // of an error
	}{
		"one hierarchy":                 {unified, "0::/system.slice/launcher.service\n", []string{"/sys/fs/cgroup/system.slice/launcher.service"}, ""},
		"the root group":                {unified, "0::/\n", []string{"/sys/fs/cgroup"}, ""},
		"beside cgroup1":                {hybrid, "9:name=systemd:/\n6:freezer:/one\n0::/two\n", []string{"/sys/fs/cgroup/unified/two"}, ""},
		"a container's part":            {"5 1 0:22 /docker/a1 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", "0::/docker/a1/b\n", []string{"/sys/fs/cgroup/b"}, ""},
		"mounted twice":                 {unified + "9 1 0:22 / /mnt/x rw - cgroup2 none rw\n", "0::/y\n", []string{"/sys/fs/cgroup/y", "/mnt/x/y"}, ""},
		"a folder with a space":         {`5 1 0:22 / /my\040groups\134x rw - cgroup2 cgroup2 rw` + "\n", "0::/y\n", []string{`/my groups\x/y`}, ""},
		"a folder with a lone slash":    {`5 1 0:22 / /a\b rw - cgroup2 cgroup2 rw` + "\n", "0::/y\n", []string{`/a\b/y`}, ""},
		"cgroup1 alone":                 {"33 31 0:30 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n", "6:freezer:/\n", nil, errNone.Error()},
		"a mount and no group":          {unified, "6:freezer:/\n", nil, errNone.Error()},
		"nothing":                       {"", "", nil, errNone.Error()},
		"lines cut short":               {"25 1 0:22 /\n - cgroup2\n25 1 0:22 / /x rw -\n", "0::/\n", nil, errNone.Error()},
		"a group that is not shown":     {"5 1 0:22 /docker/a1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/docker/a2\n", nil, "own group /docker/a2 is not below what is mounted at /sys/fs/cgroup"},
		"a name that begins with it":    {"5 1 0:22 /a /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/ab\n", nil, "not below"},
		"a name that begins with dots":  {"5 1 0:22 /a /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/a/..b\n", []string{"/sys/fs/cgroup/..b"}, ""},
		"only the second mount will do": {"5 1 0:22 /a /x rw - cgroup2 cgroup2 rw\n" + unified, "0::/b\n", []string{"/sys/fs/cgroup/b"}, ""},
	} {
		got, err := places(c.mountinfo, c.cgroup)
		if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) || c.says == "" && err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v, want %q and %q", name, got, err, c.want, c.says)
		}
	}
	if _, err := places("", ""); !errors.Is(err, errNone) {
		t.Error(err)
	}
}

// A group holds only what its processes alone can give back.
func TestHeldOf(t *testing.T) {
	for stat, want := range map[string]int64{
		"anon 4096\nfile 1000000\nkernel 7\nshmem 8192\nfile_mapped 5\n": 12288, "anon 0\nshmem 0\n": 0, "anon 1\n": 1,
	} {
		if held, known := heldOf(stat); !known || held != want {
			t.Errorf("of %q it holds %d (%t), want %d", stat, held, known, want)
		}
	}
	for _, stat := range []string{"", "file 7\n", "anon x\n", "anon\n", "anon -\nshmem 3\n"} {
		if held, known := heldOf(stat); known {
			t.Errorf("of %q it is known to hold %d", stat, held)
		}
	}
}
