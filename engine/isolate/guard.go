package isolate

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/hamadryad/hamadryad/engine/isolate/sandboxinit"
)

// Guard lets a launcher start workers as their submitters. Safe for concurrent use.
type Guard struct {
	settings Settings
	program  []string // sandboxinit, with its first arguments
	groups   []int    // ids of the groups that workers may be in
}

// Who is a user of this machine.
type Who struct {
	Name   string
	UID    int
	GID    int
	Groups []int // supplementary ones that workers may be in
	Home   string
}

// ErrRefused is matched by errors of Find about users who do not exist or may not run here. A retry
// does not help.
var ErrRefused = errors.New("this user runs nothing here")

// Open checks that this launcher can do what the settings say. The program is sandboxinit's, with
// its first arguments. With None the Guard is nil.
func Open(s Settings, program []string) (*Guard, error) {
	if err := s.Check(); err != nil || !s.On() {
		return nil, err
	}
	g := &Guard{settings: s.withDefaults(), program: program}
	if uid := os.Geteuid(); uid != 0 {
		return nil, fmt.Errorf("launcher.isolation.user is %s, and this launcher runs as user %d: only root can start workers as others; start it as root, or set %s", Submitter, uid, None)
	}
	if err := errors.Join(g.findGroups(), g.checkLists()); err != nil {
		return nil, err
	}
	if err := checkProgram(program); err != nil {
		return nil, err
	}
	if err := g.try(); err != nil {
		return nil, fmt.Errorf("launcher.isolation.user is %s, and this machine does not let it: %w; in a container it takes CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID and CAP_CHOWN; or set %s", Submitter, err, None)
	}
	return g, nil
}

// checkLists looks for names of users who do not exist. A misspelt name would let in a user whom
// the administrator meant to exclude, or the other way round.
func (g *Guard) checkLists() error {
	for _, list := range []struct {
		key   string
		names []string
	}{{"allow", g.settings.Allow}, {"deny", g.settings.Deny}} {
		for _, name := range list.names {
			if _, err := user.Lookup(name); err != nil {
				return fmt.Errorf("launcher.isolation.%s: user %q of this machine: %w; mend the name, or take it off the list", list.key, name, err)
			}
		}
	}
	for _, name := range g.settings.Allow {
		if _, err := g.Find(name); err != nil {
			return fmt.Errorf("launcher.isolation.allow: %w", err)
		}
	}
	return nil
}

// findGroups looks up the groups that workers may be in.
func (g *Guard) findGroups() error {
	for _, name := range g.settings.Groups {
		found, err := user.LookupGroup(name)
		var id int
		if err == nil {
			id, err = strconv.Atoi(found.Gid)
		}
		if err != nil {
			return fmt.Errorf("launcher.isolation.groups: group %q of this machine: %w; mend the name, or take it off the list", name, err)
		}
		if id == 0 {
			return fmt.Errorf("launcher.isolation.groups: group %q is root's: no worker may be in it; take it off the list", name)
		}
		g.groups = append(g.groups, id)
	}
	return nil
}

// checkProgram checks that only root can replace sandboxinit's program, which runs as root.
func checkProgram(program []string) error {
	if len(program) == 0 {
		return errors.New("no program for the step before a worker: hamadryad-isolate is to lie beside hamadryad")
	}
	path, err := filepath.EvalSymlinks(program[0])
	if err != nil {
		return fmt.Errorf("the step before a worker: %w; hamadryad-isolate is to lie beside hamadryad", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("the step before a worker: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || st.Uid != 0 || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("the step before a worker, %s, is to be a file of root's that nobody else may write: use chown root and chmod go-w", path)
	}
	return nil
}

// try runs sandboxinit with all its steps but the change of user.
func (g *Guard) try() error {
	folder, err := os.MkdirTemp("", "hamadryad-isolate-")
	if err != nil {
		return err
	}
	defer os.Remove(folder)
	report, theirs, err := sandboxinit.Report()
	if err != nil {
		return err
	}
	defer theirs.Close()
	cmd := sandboxinit.Command(g.program, &sandboxinit.Order{Folder: folder, TemporaryBytes: g.settings.TemporaryBytes, Calls: g.settings.Calls})
	cmd.ExtraFiles = []*os.File{theirs, theirs}
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("namespaces of its own: %w", err), report.Close())
	}
	theirs.Close()
	_, err = sandboxinit.Await(report)
	var ended *exec.ExitError
	if failed := cmd.Wait(); err == nil && errors.As(failed, &ended) {
		err = fmt.Errorf("the step before a worker: %w", failed)
	}
	return err
}

// Find looks up a user, and refuses one who may not run here. It may wait for the network, as the
// machine's user database may.
func (g *Guard) Find(name string) (Who, error) {
	u, err := user.Lookup(name)
	var unknown user.UnknownUserError
	switch {
	case errors.As(err, &unknown):
		return Who{}, fmt.Errorf("%w: there is no user %q on this machine", ErrRefused, name)
	case err != nil:
		return Who{}, fmt.Errorf("look up user %q: %w", name, err)
	}
	who := Who{Name: u.Username, Home: u.HomeDir}
	var ids []string
	if len(g.groups) > 0 { // without such groups the lookup may not need the network
		if ids, err = u.GroupIds(); err != nil {
			return Who{}, fmt.Errorf("look up the groups of user %q: %w", name, err)
		}
	}
	if who.UID, err = strconv.Atoi(u.Uid); err == nil {
		who.GID, err = strconv.Atoi(u.Gid)
	}
	for _, id := range ids {
		n, wrong := strconv.Atoi(id)
		err = errors.Join(err, wrong)
		if slices.Contains(g.groups, n) {
			who.Groups = append(who.Groups, n)
		}
	}
	if err != nil {
		return Who{}, fmt.Errorf("ids of user %q: %w", name, err)
	}
	return who, g.admit(name, who)
}

// admit refuses a user who may not run here.
func (g *Guard) admit(name string, who Who) error {
	s := g.settings
	switch {
	case who.Name != name:
		return fmt.Errorf("%w: the machine calls user %q by another name, %q", ErrRefused, name, who.Name)
	case who.UID == 0:
		return fmt.Errorf("%w: user %q is root", ErrRefused, name)
	case who.UID < s.LeastUID:
		return fmt.Errorf("%w: user %q has the id %d, and launcher.isolation.leastUID is %d", ErrRefused, name, who.UID, s.LeastUID)
	case slices.Contains(s.Deny, name):
		return fmt.Errorf("%w: user %q is in launcher.isolation.deny", ErrRefused, name)
	case len(s.Allow) > 0 && !slices.Contains(s.Allow, name):
		return fmt.Errorf("%w: user %q is not in launcher.isolation.allow", ErrRefused, name)
	}
	return nil
}

// Order is sandboxinit's order for a user. The caller adds folders, files and the program.
func (g *Guard) Order(who Who) *sandboxinit.Order {
	return &sandboxinit.Order{
		UID: who.UID, GID: who.GID, Groups: who.Groups, Calls: g.settings.Calls,
		TemporaryBytes: g.settings.TemporaryBytes, Processes: g.settings.Processes, OpenFiles: g.settings.OpenFiles,
	}
}

// Program is sandboxinit's program, with its first arguments.
func (g *Guard) Program() []string { return g.program }
