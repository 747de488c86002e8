// Package deploy has what is released: units of systemd, a Debian package, archives and a container image. Its tests
// install and run them.
package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// packaged is a Debian package of a folder of programs.
func packaged(t *testing.T, version, programs string) string {
	t.Helper()
	return run(t, []string{"SOURCE_DATE_EPOCH=1", "UNCOMPRESSED=1"}, "debian/build", version, programs, man, t.TempDir())
}

// installed is a machine with the package on it.
func installed(t *testing.T) *machine {
	t.Helper()
	deb := packaged(t, "v1.2.0-rc.1", programs)
	if filepath.Base(deb) != "hamadryad_1.2.0~rc.1_"+run(t, nil, "dpkg", "--print-architecture")+".deb" {
		t.Errorf("the package is %s", deb)
	}
	m := boot(t)
	content, err := os.ReadFile(deb)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(m.path("/root/hamadryad.deb"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	m.must("dpkg --install /root/hamadryad.deb")
	return m
}

// The package does what its README says. A manager and a launcher run as units that restart when
// they are killed or hang. An upgrade keeps work, and a removal keeps data that can't be made
// again.
func TestPackage(t *testing.T) {
	m := installed(t)
	m.must("hamadryad version && man --where hamadryad-serve-manager && test -r /usr/share/bash-completion/completions/hamadryad")
	if out := m.must("systemd-analyze verify /usr/lib/systemd/system/hamadryad-*.service 2>&1"); strings.Contains(out, "hamadryad") {
		t.Errorf("systemd says of the units: %s", out)
	}
	// A manager may do little (of 100, 17 is open); a launcher's tasks are anybody's programs (56).
	m.must("systemd-analyze security --offline=true --threshold=20 /usr/lib/systemd/system/hamadryad-manager.service")
	m.must("systemd-analyze security --offline=true --threshold=60 /usr/lib/systemd/system/hamadryad-launcher.service")
	m.must("systemd-analyze security --offline=true --threshold=60 /usr/lib/systemd/system/hamadryad-schedules@.service")
	if out := m.must("systemctl start hamadryad-manager hamadryad-launcher; systemctl is-active hamadryad-manager || true"); out != "inactive" {
		t.Errorf("a manager without a configuration is %s", out)
	}
	m.follow()
	m.eventually("systemctl show --property StatusText hamadryad-launcher", "joined the manager at 127.0.0.1:7070")
	// Without isolation tasks are the launcher's user, so that is ann here.
	m.must("install -d -o hamadryad-launcher /srv/data && echo some words > /srv/data/in && cp /etc/hamadryad/manager/user/* /srv/data && chown hamadryad-launcher /srv/data/*")
	m.count("before")

	was := m.main("hamadryad-manager")
	m.must("kill -KILL " + was)
	m.anew("hamadryad-manager", was)
	m.count("after-a-kill")
	m.watchdog()
	m.schedules()

	manager, launcher := m.main("hamadryad-manager"), m.main("hamadryad-launcher")
	m.must("dpkg --install /root/hamadryad.deb")
	m.anew("hamadryad-manager", manager)
	if now := m.main("hamadryad-launcher"); now != launcher {
		t.Error("an upgrade ended the launcher's work")
	}
	m.count("after-an-upgrade")
	m.remove()
}

// follow does what README.Debian says to do on the two machines, which are one here.
func (m *machine) follow() {
	m.t.Helper()
	forManager, forLauncher := m.instructions()
	joins := ""
	for _, command := range append(forManager, forLauncher...) {
		command = strings.NewReplacer("10.0.0.1", "127.0.0.1", "TOKEN-OF-NODE-2", joins).Replace(command)
		out := m.must("cd /var/lib/hamadryad 2>/dev/null || true; " + command)
		if found := launcherToken.FindStringSubmatch(out); found != nil {
			joins = found[2]
		}
	}
}

// instructions are the commands of the README.Debian that is installed, for the manager's machine and for a launcher's.
func (m *machine) instructions() (forManager, forLauncher []string) {
	m.t.Helper()
	text := strings.ReplaceAll(m.must("cat /usr/share/doc/hamadryad/README.Debian"), "\\\n", " ")
	first, second, found := strings.Cut(text, "\nOn a launcher's machine")
	if !found {
		m.t.Fatalf("README.Debian does not say what to do on a launcher's machine:\n%s", text)
	}
	return commands(first), commands(second)
}

// commands lists the indented lines of a text, without those about units.
func commands(text string) (all []string) {
	for line := range strings.Lines(text) {
		command, shown := strings.CutPrefix(strings.TrimRight(line, "\n"), "  ")
		if shown && !strings.HasPrefix(command, " ") && !regexp.MustCompile(`^hamadryad-\w+ +reads`).MatchString(command) {
			all = append(all, command)
		}
	}
	return all
}

// main is the id of a unit's first process.
func (m *machine) main(unit string) string {
	m.t.Helper()
	return m.must("systemctl show --property MainPID --value " + unit)
}

// anew waits until a unit has started again after a process of it that ended.
func (m *machine) anew(unit, was string) {
	m.t.Helper()
	m.eventually("systemctl show --property MainPID --property ActiveState "+unit+" | grep --invert-match --line-regexp MainPID="+was+" | sort | tr '\\n' ' '", "ActiveState=active MainPID=")
}

// count runs a job as the first administrator.
func (m *machine) count(name string) {
	m.t.Helper()
	m.must("HAMADRYAD_MANAGER=127.0.0.1:7070 HAMADRYAD_AUTH_CERTIFICATE=/srv/data/ann.pem runuser -u hamadryad-launcher -- " +
		"hamadryad-streaming --quiet -- -input /srv/data/in -output /srv/data/" + name + " -mapper cat && grep --recursive --quiet 'some words' /srv/data/" + name)
}

// watchdog has systemd start a manager again that stands still.
func (m *machine) watchdog() {
	m.t.Helper()
	m.must("mkdir /run/systemd/system/hamadryad-manager.service.d && printf '[Service]\\nWatchdogSec=2s\\n' > /run/systemd/system/hamadryad-manager.service.d/soon.conf && " +
		"systemctl daemon-reload && systemctl restart hamadryad-manager")
	was := m.main("hamadryad-manager")
	m.must("kill -STOP " + was)
	m.eventually("journalctl --no-pager --unit hamadryad-manager", "Watchdog timeout")
	m.anew("hamadryad-manager", was)
}

// schedules has a unit run a schedule's command as its user, who is the launcher's here, and stop.
func (m *machine) schedules() {
	m.t.Helper()
	const unit, as = "hamadryad-schedules@hamadryad-launcher", "set -a; . /etc/default/hamadryad-schedules; runuser -u hamadryad-launcher -- hamadryad schedule "
	m.must("printf 'HAMADRYAD_MANAGER=127.0.0.1:7070\\nHAMADRYAD_AUTH_CERTIFICATE=/srv/data/ann.pem\\n' > /etc/default/hamadryad-schedules && systemctl enable --now " + unit)
	m.must(as + "add nightly --cron '30 2 * * *' --folder /srv/data -- hamadryad-streaming --quiet -- -input /srv/data/in -output /srv/data/scheduled -mapper cat")
	m.must(as + "run nightly")
	m.eventually(as+"show nightly", " succeeded ")
	m.must("grep --recursive --quiet 'some words' /srv/data/scheduled")
}

// remove removes the package, and purges it.
func (m *machine) remove() {
	m.t.Helper()
	m.must("dpkg --remove hamadryad")
	if out, _ := m.try("systemctl is-active hamadryad-manager; systemctl is-active hamadryad-launcher; systemctl is-active hamadryad-schedules@hamadryad-launcher"); strings.Contains(out, "\nactive") || strings.HasPrefix(out, "active") {
		m.t.Errorf("of a package that was removed there runs: %s", out)
	}
	m.must("test ! -e /etc/systemd/system/multi-user.target.wants/hamadryad-schedules@hamadryad-launcher.service")
	m.must("test ! -e /usr/lib/hamadryad && test ! -e /usr/bin/hamadryad && test ! -e /usr/lib/systemd/system/hamadryad-manager.service")
	if out := m.must("dpkg --purge hamadryad 2>&1"); !strings.Contains(out, "/etc/hamadryad/manager is left") || !strings.Contains(out, "/var/lib/hamadryad is left") {
		m.t.Errorf("a purge says %s", out)
	}
	m.must("test -e /etc/hamadryad/manager/ca.key && test -d /var/lib/hamadryad")

	m.must("rm -rf /etc/hamadryad /var/lib/hamadryad /var/lib/hamadryad-launcher && dpkg --install /root/hamadryad.deb && dpkg --purge hamadryad")
	m.must("test ! -e /etc/hamadryad && test ! -e /var/lib/hamadryad && ! getent passwd hamadryad && ! getent passwd hamadryad-launcher")
}
