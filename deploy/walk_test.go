package deploy

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/internal/proctest"
)

var rounds = flag.Int("rounds", 1, "how often TestWalk kills, switches policies and upgrades, before it restores a backup")

// nextVersion is that of the package to which the walk upgrades: the same source, built with another version.
const nextVersion = "v1.3.0"

// An administrator's walk on three hosts, with TLS and from the package alone: a second user is let in, the policy is
// switched while jobs run, a file with mistakes is refused, manager and launchers are killed, all are upgraded under
// load, and a backup goes on on another host. Each job's output is right, and no job is lost.
func TestWalk(t *testing.T) {
	s := newSite(t, packaged(t, version, programs))
	s.give(packaged(t, nextVersion, stamped(t)), "next.deb")
	s.input()
	s.letIn()
	for round := range *rounds {
		s.switchPolicy(round)
		s.kill(round)
		s.upgrade(round)
	}
	s.restore()
}

// stamped is a folder of the same programs, of which hamadryad says that it is nextVersion.
func stamped(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "programs")
	run(t, nil, "cp", "-a", programs, folder)
	run(t, nil, "go", "build", "-ldflags=-s -w -X github.com/hamadryad/hamadryad/internal/buildinfo.stamp="+nextVersion, "-o", folder+"/", "../cmd/hamadryad")
	return folder
}

const (
	// inputs is how many files each job reads, with a map task for each: more than the slots of two launchers.
	inputs = 8
	// mapper says where it runs, waits until the test lets its job go on, and counts words.
	mapper = `hostname >> /srv/shared/started-$1
until [ -e /srv/shared/go-$1 ]; do sleep 0.05; done
sed 's/.*/LongValueSum:&\t1/'
`
	// loading submits jobs one after the other until the test has enough, and says how many there were.
	loading = `i=0
until [ -e /srv/shared/enough-$1 ]; do
	i=$((i + 1))
	hamadryad-streaming --quiet --name load-$1-$i -- -D mapreduce.input.fileinputformat.split.maxsize=12 -input /srv/shared/in -output /srv/shared/out-load-$1-$i -mapper 'sh /srv/shared/map.sh load' -reducer aggregate
done
echo $i > /srv/shared/count-$1
`
)

// input makes what jobs read, and certificates of two users.
func (s *site) input() {
	s.t.Helper()
	s.write("map.sh", mapper)
	s.write("load.sh", loading)
	s.write("go-load", "")
	for i := range inputs {
		s.write(fmt.Sprintf("in/%d", i), "apple\nbeech\n")
	}
	s.hosts[0].must("hamadryad ca issue user/bob --folder /etc/hamadryad/manager")
	s.user("ann")
	s.user("bob")
}

// write puts a file into the shared folder.
func (s *site) write(name, text string) {
	s.t.Helper()
	file := filepath.Join(s.shared, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil { //nolint:gosec // other users read it
		s.t.Fatal(err)
	}
}

// submitted is a job whose client is running.
type submitted struct {
	s     *site
	name  string
	ended chan error
}

// submit has a user submit a job on a host. Its map tasks wait until it may go on.
func (s *site) submit(user string, from *machine, name string) *submitted {
	s.t.Helper()
	line := s.as(user, s.hosts[0], fmt.Sprintf("hamadryad-streaming --quiet --name %s -- -D mapreduce.input.fileinputformat.split.maxsize=12 -input /srv/shared/in -output /srv/shared/out-%[1]s -mapper 'sh /srv/shared/map.sh %[1]s' -reducer aggregate", name))
	return s.background(from, name, line)
}

// background has a line run on a host until it ends by itself.
func (s *site) background(on *machine, name, line string) *submitted {
	j := &submitted{s, name, make(chan error, 1)}
	go func() {
		out, err := on.try(line)
		if err != nil {
			err = fmt.Errorf("%s on %s: %w\n%s", name, on.name, err, out)
		}
		j.ended <- err
	}()
	return j
}

// runs waits until map tasks of a job have started on both launchers.
func (j *submitted) runs() {
	j.s.t.Helper()
	proctest.Until(j.s.t, waitMax, j.name+" runs on both launchers", func() bool {
		text, _ := os.ReadFile(filepath.Join(j.s.shared, "started-"+j.name))
		return strings.Contains(string(text), "node-2") && strings.Contains(string(text), "node-3")
	})
}

// goOn lets the tasks of a job go on.
func (j *submitted) goOn() { j.s.write("go-"+j.name, "") }

// succeeds waits until the client has ended well.
func (j *submitted) succeeds() {
	j.s.t.Helper()
	select {
	case err := <-j.ended:
		if err != nil {
			j.s.t.Fatal(err)
		}
	case <-time.After(waitMax):
		j.s.t.Fatalf("%s has not ended after %v", j.name, waitMax)
	}
}

// finishes lets a job continue, and checks its output.
func (j *submitted) finishes() {
	j.s.t.Helper()
	j.goOn()
	j.succeeds()
	j.s.right(j.name)
}

// right checks a job's output.
func (s *site) right(name string) {
	s.t.Helper()
	out := s.hosts[1].must("cat /srv/shared/out-" + name + "/part-*")
	if want := fmt.Sprintf("apple\t%d\nbeech\t%[1]d", inputs); out != want {
		s.t.Errorf("%s counted\n%s\nand not\n%s", name, out, want)
	}
}

// letIn lets a second user in. Before that he may do nothing.
func (s *site) letIn() {
	s.t.Helper()
	manager := s.hosts[0]
	if out, err := s.hosts[1].try(s.as("bob", manager, "hamadryad jobs")); err == nil || !strings.Contains(out, "bob may not") {
		s.t.Fatalf("a user without a role: %v\n%s", err, out)
	}
	s.apply(s.configuration() + "\n    user: {users: [ann, bob]}\n  pools:\n    /: {submit: {users: [ann, bob]}}\n")
	anns, bobs := s.submit("ann", manager, "of-ann"), s.submit("bob", s.hosts[1], "of-bob")
	anns.goOn() // bob's may have all slots
	bobs.finishes()
	anns.finishes()
	if out := s.admin(manager, "hamadryad jobs --all --user bob -o name"); strings.Count(out, "job-") != 1 {
		s.t.Errorf("of bob there are the jobs %q", out)
	}
}

// configuration is the text of the manager's file.
func (s *site) configuration() string {
	s.t.Helper()
	return s.hosts[0].must("cat /etc/hamadryad/manager/manager.yaml")
}

// apply has the first administrator apply a configuration.
func (s *site) apply(text string) {
	s.t.Helper()
	s.write("new.yaml", text)
	s.admin(s.hosts[0], "hamadryad config apply /srv/shared/new.yaml")
}

// switchPolicy switches the policy while a job runs. A file with a mistake then changes nothing.
func (s *site) switchPolicy(round int) {
	s.t.Helper()
	manager, job := s.hosts[0], s.submit("ann", s.hosts[0], fmt.Sprint("switched-", round))
	job.runs()
	before, _, _ := strings.Cut(s.configuration(), "\npolicy:")
	policy := []string{"fair", "hfsp"}[round%2]
	s.apply(before + "\npolicy:\n  name: " + policy + "\n")
	in := s.admin(manager, "hamadryad policy -o json")
	if !strings.Contains(in, "hamadryad-policy-"+policy) {
		s.t.Errorf("the policy after it was switched to %s: %s", policy, in)
	}
	file := s.configuration()
	s.write("broken.yaml", before+"\npolicy:\n  name: fifo\n  settings:\n    nonsense: 1\n")
	out, err := manager.try(s.as("ann", manager, "hamadryad config apply /srv/shared/broken.yaml"))
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 5 || !strings.Contains(out, "broken.yaml") || !strings.Contains(out, "nonsense") {
		s.t.Errorf("a configuration with a mistake: %v\n%s", err, out)
	}
	if now := s.configuration(); now != file {
		s.t.Errorf("a configuration with a mistake changed the file to\n%s", now)
	}
	if now := s.admin(manager, "hamadryad policy -o json"); !strings.Contains(now, "hamadryad-policy-"+policy) {
		s.t.Errorf("the policy after a configuration with a mistake: %s", now)
	}
	job.finishes()
}

// kill ends the manager and a launcher by SIGKILL while a job runs.
func (s *site) kill(round int) {
	s.t.Helper()
	job := s.submit("bob", s.hosts[2], fmt.Sprint("killed-", round))
	job.runs()
	for _, killed := range []struct {
		on   *machine
		unit string
	}{{s.hosts[0], "hamadryad-manager"}, {s.hosts[1], "hamadryad-launcher"}} {
		was := killed.on.main(killed.unit)
		killed.on.must("kill -KILL " + was)
		killed.on.anew(killed.unit, was)
	}
	job.finishes()
}

// upgrade installs another version, on the manager first and then on one launcher after the other, while jobs come.
func (s *site) upgrade(round int) {
	s.t.Helper()
	deb := "/srv/shared/" + []string{"next.deb", "hamadryad.deb"}[round%2]
	load := s.background(s.hosts[1], fmt.Sprint("load-", round), s.as("bob", s.hosts[0], fmt.Sprintf("bash -e /srv/shared/load.sh %d", round)))
	job := s.submit("ann", s.hosts[0], fmt.Sprint("upgraded-", round))
	job.runs()
	was := s.hosts[0].main("hamadryad-manager")
	s.hosts[0].must("dpkg --no-triggers --install " + deb)
	s.hosts[0].anew("hamadryad-manager", was)
	job.goOn()
	for _, m := range s.hosts[1:] {
		s.admin(s.hosts[0], "hamadryad drain --wait "+m.name)
		m.must("dpkg --no-triggers --install " + deb + " && systemctl restart hamadryad-launcher")
		s.admin(s.hosts[0], "hamadryad undrain "+m.name)
	}
	job.finishes()
	s.write(fmt.Sprint("enough-", round), "")
	load.succeeds()
	s.loaded(round)
	if out := s.admin(s.hosts[0], "hamadryad launchers -o json"); round%2 == 0 && strings.Count(out, nextVersion) != 2 {
		s.t.Errorf("after an upgrade to %s there are the launchers %s", nextVersion, out)
	}
}

// loaded checks the outputs of the jobs of a load.
func (s *site) loaded(round int) {
	s.t.Helper()
	var count int
	if _, err := fmt.Sscan(s.hosts[1].must(fmt.Sprint("cat /srv/shared/count-", round)), &count); err != nil || count == 0 {
		s.t.Fatalf("%d jobs came during the upgrade: %v", count, err)
	}
	for i := range count {
		s.right(fmt.Sprintf("load-%d-%d", round, i+1))
	}
	s.t.Logf("upgraded under a load of %d jobs", count)
}

// restore brings a backup of the manager to another host, where it goes on with a job that ran. The first host is gone.
func (s *site) restore() {
	s.t.Helper()
	old, now := s.hosts[0], s.hosts[2]
	before := strings.Fields(s.admin(old, "hamadryad jobs --all -o name"))
	job := s.submit("ann", old, "carried")
	job.runs()
	id := s.admin(old, "hamadryad jobs --name carried -o name")
	old.must("systemctl stop hamadryad-manager && mkdir -p /srv/shared/backup && cp -a /var/lib/hamadryad /srv/shared/backup/data && " +
		"cp -a /etc/hamadryad/manager /srv/shared/backup/manager && systemctl start hamadryad-manager")
	now.must("rmdir /etc/hamadryad/manager && cp -a /srv/shared/backup/manager /etc/hamadryad/manager && mkdir -p /var/lib/hamadryad && cp -a /srv/shared/backup/data/. /var/lib/hamadryad/ && " +
		"sed -i s/" + s.net.Address(old.name) + ":/" + s.net.Address(now.name) + ":/ /etc/hamadryad/manager/manager.yaml")
	s.refused(old, now)
	old.must("systemctl stop hamadryad-manager")
	if err := s.net.Cut(old.name); err != nil {
		s.t.Fatal(err)
	}
	now.must("systemctl start hamadryad-manager")
	for _, m := range s.hosts[1:] {
		m.must(fmt.Sprintf("sed -i -e 's/^launcher:/&\\n  manager: %s:7070/' -e 's/^auth:/&\\n  join: %[1]s:7072/' /etc/hamadryad/launcher/launcher.yaml && systemctl restart hamadryad-launcher", s.net.Address(now.name)))
		m.eventually("systemctl show --property StatusText hamadryad-launcher", "joined the manager at "+s.address(now))
	}
	job.goOn()
	s.admin(now, "hamadryad wait "+id)
	s.right("carried")
	after := strings.Fields(s.admin(now, "hamadryad jobs --all --state succeeded -o name"))
	for _, name := range append(before, id) {
		if !slices.Contains(after, name) {
			s.t.Errorf("the backup lost %s: of jobs that succeeded it has %v", name, after)
		}
	}
}

// refused starts the manager on a backup while the manager that it was made of serves.
func (s *site) refused(old, now *machine) {
	s.t.Helper()
	if out, err := now.try("systemctl start hamadryad-manager"); err == nil {
		s.t.Errorf("a backup is served while its manager serves: %s", out)
	}
	now.eventually("journalctl --no-pager --unit hamadryad-manager", "is a copy of the data of the manager at "+s.address(old))
	if out := now.must("systemctl show --property ExecMainStatus --property ActiveState hamadryad-manager | sort | tr '\\n' ' '"); out != "ActiveState=failed ExecMainStatus=5" {
		s.t.Errorf("a manager that was refused is %s", out)
	}
}
