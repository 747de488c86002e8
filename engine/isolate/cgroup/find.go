package cgroup

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// hierarchy is one mount of cgroup2: the group root appears at folder.
type hierarchy struct{ folder, root string }

// hierarchies lists the mounts of cgroup2 in a text such as /proc/self/mountinfo.
func hierarchies(mountinfo string) []hierarchy {
	var found []hierarchy
	for line := range strings.Lines(mountinfo) {
		// The part before " - " ends with optional fields, so its length differs.
		place, kind, _ := strings.Cut(line, " - ")
		fields, types := strings.Fields(place), strings.Fields(kind)
		if len(fields) >= 5 && len(types) >= 1 && types[0] == "cgroup2" {
			found = append(found, hierarchy{unescape(fields[4]), unescape(fields[3])})
		}
	}
	return found
}

// unescape gives back the characters that mountinfo writes as a backslash and three
// octal digits, such as a space.
func unescape(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, `\`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if c, err := strconv.ParseUint(after[:min(3, len(after))], 8, 8); err == nil && len(after) >= 3 {
			b.WriteByte(byte(c))
			s = after[3:]
			continue
		}
		b.WriteByte('\\')
		s = after
	}
}

// ownGroup reads a process's cgroup2 group from a text such as /proc/self/cgroup.
func ownGroup(cgroup string) (string, bool) {
	for line := range strings.Lines(cgroup) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			return path, true
		}
	}
	return "", false
}

// errNone says that the machine has no cgroup2.
var errNone = errors.New("no cgroup2 is mounted")

// places are the folders in which a process may make groups below its own: one for each mount of
// cgroup2 that shows its group.
func places(mountinfo, cgroup string) ([]string, error) {
	mounts := hierarchies(mountinfo)
	own, ok := ownGroup(cgroup)
	if len(mounts) == 0 || !ok {
		return nil, errNone
	}
	var found []string
	for _, m := range mounts {
		below, err := filepath.Rel(m.root, own)
		if err != nil || below == ".." || strings.HasPrefix(below, "../") {
			continue
		}
		found = append(found, filepath.Join(m.folder, below))
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("the launcher's own group %s is not below what is mounted at %s", own, mounts[0].folder)
	}
	return found, nil
}
