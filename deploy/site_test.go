package deploy

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hamadryad/hamadryad/internal/network"
)

// site is three hosts that are joined by a switch. Each has a systemd of its own, and the package installed. All have
// the folder shared as /srv/shared, as a site has NFS.
type site struct {
	t      *testing.T
	net    *network.Network
	shared string
	hosts  []*machine
}

// newSite starts three hosts, installs a package on each, and does there what README.Debian says: the first has the
// manager, the other two have launchers.
func newSite(t *testing.T, deb string) *site {
	t.Helper()
	net, err := network.New("node-1", "node-2", "node-3")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(net.Close)
	s := &site{t: t, net: net, shared: t.TempDir()}
	for _, folder := range []string{s.shared, filepath.Dir(s.shared)} { // tasks are another user
		if err := os.Chmod(folder, 0o755); err != nil { //nolint:gosec // of a test
			t.Fatal(err)
		}
	}
	for _, name := range []string{"node-1", "node-2", "node-3"} {
		s.hosts = append(s.hosts, begin(t, name, s.shared, func(cmd *exec.Cmd) error { return net.Inside(name, cmd.Start) }))
	}
	for _, m := range s.hosts {
		m.awaitUp()
	}
	s.give(deb, "hamadryad.deb")
	s.onAll("dpkg --no-triggers --install /srv/shared/hamadryad.deb")
	s.follow()
	return s
}

// give puts a copy of a file into the shared folder.
func (s *site) give(file, name string) {
	s.t.Helper()
	run(s.t, nil, "cp", file, filepath.Join(s.shared, name))
}

// onAll runs a line on all hosts at once.
func (s *site) onAll(line string) {
	s.t.Helper()
	wrong := make([]error, len(s.hosts))
	var all sync.WaitGroup
	for i, m := range s.hosts {
		all.Go(func() {
			if out, err := m.try(line); err != nil {
				wrong[i] = fmt.Errorf("%s: %s: %w\n%s", m.name, line, err, out)
			}
		})
	}
	all.Wait()
	if err := errors.Join(wrong...); err != nil {
		s.t.Fatal(err)
	}
}

// address is the manager's on a host.
func (s *site) address(m *machine) string { return s.net.Address(m.name) + ":7070" }

// launcherToken is a launcher's name and its token, as "ca init" prints them.
var launcherToken = regexp.MustCompile(`launcher (\S+), on its machine.*\n +hamadryad serve launcher --token (\S+)`)

// follow does what README.Debian says, on the machines for which it says it.
func (s *site) follow() {
	s.t.Helper()
	forManager, forLauncher := s.hosts[0].instructions()
	said := strings.NewReplacer("10.0.0.1:", s.net.Address("node-1")+":", "--launcher node-2", "--launcher node-2 --launcher node-3")
	tokens := map[string]string{}
	for _, line := range forManager {
		out := s.hosts[0].must("cd /var/lib/hamadryad 2>/dev/null || true; " + said.Replace(line))
		for _, found := range launcherToken.FindAllStringSubmatch(out, -1) {
			tokens[found[1]] = found[2]
		}
	}
	for _, m := range s.hosts[1:] {
		for _, line := range forLauncher {
			m.must(strings.ReplaceAll(line, "TOKEN-OF-NODE-2", tokens[m.name]))
		}
		m.eventually("systemctl show --property StatusText hamadryad-launcher", "joined the manager at "+s.address(s.hosts[0]))
	}
}

// user installs a user's certificate on all hosts. Tasks run as the launcher's user here, and must
// write into folders that a client makes, so clients run as that user, too.
func (s *site) user(name string) {
	s.t.Helper()
	s.hosts[0].must("install -d -m 0700 /srv/shared/" + name + " && cp /etc/hamadryad/manager/user/" + name + ".* /etc/hamadryad/manager/user/ca.pem /srv/shared/" + name)
	s.hosts[0].must("chown -R hamadryad-launcher /srv/shared")
}

// as is a line for a user's shell on a host, for the manager of another.
func (s *site) as(user string, manager *machine, line string) string {
	return fmt.Sprintf("HAMADRYAD_MANAGER=%s HAMADRYAD_AUTH_CERTIFICATE=/srv/shared/%s/%[2]s.pem runuser -u hamadryad-launcher -- %s", s.address(manager), user, line)
}

// admin runs a line as the first administrator, on the host where the manager is.
func (s *site) admin(manager *machine, line string) string {
	s.t.Helper()
	return manager.must(s.as("ann", manager, line))
}
