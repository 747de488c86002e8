package cgroup

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Values of the setting for the launcher's groups with limits; any other value is the folder of a
// group in cgroup2. The empty string is Auto.
const (
	Auto = "auto" // below the launcher's own group where that is possible, else nowhere
	None = "none" // nowhere
)

// Check reports a place that makes no sense on any machine.
func Check(where string) error {
	if where == "" || where == Auto || where == None || filepath.IsAbs(where) {
		return nil
	}
	return fmt.Errorf("launcher.isolation.cgroup: %q: use %s, %s, or the whole path of a folder such as /sys/fs/cgroup/hamadryad", where, Auto, None)
}

// Choose opens the launcher's groups with limits, and logs in one line whether there are any and
// why. The identity is that of the launcher's data folder. Processes left by an earlier start are
// killed. With None, and with Auto where limits are impossible, the Parent is nil.
func Choose(where, identity string, log *slog.Logger) (*Parent, error) {
	if err := Check(where); err != nil {
		return nil, err
	}
	if where == None {
		log.Info("workers have no limits by cgroup2", "why", "launcher.isolation.cgroup says so")
		return nil, nil
	}
	p, err := openLimited(where, identity)
	switch {
	case err == nil:
		log.Info("workers have limits by cgroup2: memory, processes, and processors by slots", "folder", p.Folder(), "processorsBy", p.processorsBy())
		return p, nil
	case where == Auto || where == "":
		log.Info("workers have no limits by cgroup2: their memory is looked at now and then, and processors are shared as they come", "why", err)
		return nil, nil
	}
	return nil, fmt.Errorf("launcher.isolation.cgroup: %s can't be used: %w; or set %s or %s", where, err, Auto, None)
}

// openLimited makes the launcher's group where the configuration says.
func openLimited(where, identity string) (*Parent, error) {
	if where == Auto || where == "" {
		in, err := ownPlaces()
		if err != nil {
			return nil, err
		}
		return openFirst(in, func(parent string) (*Parent, error) {
			if err := enableOwn(parent); err != nil {
				return nil, err
			}
			return openIn(parent, identity, true)
		})
	}
	return openAt(filepath.Clean(where), identity)
}

// openAt makes the launcher's group in a folder, which it makes if it does not exist.
func openAt(where, identity string) (*Parent, error) {
	made := os.Mkdir(where, 0o755)
	if made != nil && !errors.Is(made, os.ErrExist) {
		return nil, made
	}
	_ = enable(filepath.Dir(where)) // if it fails, the next enable reports what is missing
	err := enable(where)
	if errors.Is(err, unix.EBUSY) {
		err = fmt.Errorf("there are processes in it (%s), and a group with limits below it has none itself", list(members(where)))
	}
	if err == nil {
		var p *Parent
		if p, err = openIn(where, identity, true); err == nil {
			return p, nil
		}
	}
	if made == nil {
		_ = os.Remove(where) // as it was
	}
	return nil, err
}

// controllers are the kernel's controllers that limits need.
var controllers = []string{"cpu", "memory", "pids"}

// enabling gives a group's children these controllers.
var enabling = "+" + strings.Join(controllers, " +")

// cpuset is the controller that binds a group to processors. Limits do not depend on it.
const cpuset = "cpuset"

// processorsBy names the controllers that divide processors.
func (p *Parent) processorsBy() string {
	if p.divides {
		return "cpu.weight, and cpuset between users"
	}
	return "cpu.weight alone, as the group above does not pass on cpuset"
}

// enable gives a group's children all controllers, and cpuset where possible.
func enable(folder string) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return &os.PathError{Op: "statfs", Path: folder, Err: err}
	}
	if disk.Type != unix.CGROUP2_SUPER_MAGIC {
		return fmt.Errorf("%s is no group of cgroup2", folder)
	}
	text, err := os.ReadFile(filepath.Join(folder, controllersFile))
	if err != nil {
		return err
	}
	for _, c := range controllers {
		if !slices.Contains(strings.Fields(string(text)), c) {
			return fmt.Errorf("group %s does not have the controller %s: the group above it is to pass cpu, memory and pids on (its %s; systemd: Delegate=yes), and cgroup1 is not to hold them", folder, c, subtreeFile)
		}
	}
	if err := writeControl(folder, subtreeFile, enabling); err != nil {
		return err
	}
	_ = writeControl(folder, subtreeFile, "+"+cpuset) // if the group does not have it, nor do those below
	return nil
}

// aside is the group, beside the launchers' groups, into which launchers move themselves. A group
// whose children have limits may not have processes itself, except the machine's root group.
const aside = "launchers"

// enableOwn is enable for this process's own group. If the process is alone there and has to leave
// the group, it does.
func enableOwn(folder string) error {
	err := enable(folder)
	if !errors.Is(err, unix.EBUSY) {
		return err
	}
	own := os.Getpid()
	if others := slices.DeleteFunc(members(folder), func(pid int) bool { return pid == own }); len(others) > 0 {
		return fmt.Errorf("other processes (%s) are in the launcher's group %s, so that no group below it can have limits: have the launcher be a unit of systemd with Delegate=yes, or set launcher.isolation.cgroup to a folder", list(others), folder)
	}
	leaf := filepath.Join(folder, aside)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := writeControl(leaf, procsFile, strconv.Itoa(own)); err != nil {
		return fmt.Errorf("move the launcher to a group of its own: %w", err)
	}
	if err = enable(folder); err != nil {
		return errors.Join(err, writeControl(folder, procsFile, strconv.Itoa(own)), unix.Rmdir(leaf))
	}
	return nil
}

// listed bounds how many processes a message names.
const listed = 5

// list names processes in a message.
func list(pids []int) string {
	var words []string
	for _, pid := range pids[:min(len(pids), listed)] {
		words = append(words, strconv.Itoa(pid))
	}
	if len(pids) > listed {
		words = append(words, "...")
	}
	return strings.Join(words, ", ")
}
