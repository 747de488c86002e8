package launcher_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/auth/certs/certstest"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// secured is a manager whose launchers authenticate themselves and their peers.
type secured struct {
	*manager
	ca   *certstest.CA
	logs map[string]*proctest.Output // by launcher's name
	keys map[string]*certs.Keys
}

func newSecured(t *testing.T) *secured {
	m := newManager(t)
	m.server.Stop()
	s := &secured{manager: m, ca: certstest.New(t), logs: map[string]*proctest.Output{}, keys: map[string]*certs.Keys{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.addr = l.Addr().String()
	m.server = grpc.NewServer(grpc.Creds(credentials.NewTLS(s.ca.Keys(auth.Manager, "m").Server(auth.Launcher))))
	rpc.RegisterLaunchersServer(m.server, m)
	go m.server.Serve(l)
	return s
}

// begin runs a launcher with a certificate of its own, on a machine of its own. It returns the
// certificate's files.
func (s *secured) begin(name string) (*node, certs.Files) {
	s.t.Helper()
	files := s.ca.Files(auth.Launcher, name)
	out := &proctest.Output{}
	log := slog.New(slog.NewTextHandler(out, nil))
	keys, err := certs.Open(files, certs.Options{Log: log})
	if err != nil {
		s.t.Fatal(err)
	}
	s.logs[name], s.keys[name] = out, keys
	n := s.launch(name, func(c *configuration) { c.Keys, c.Cache, c.Log = keys, s.t.TempDir(), log })
	return n, files
}

// The owner of a launcher's certificate serves data as that launcher only. A reader that expected
// another launcher reads nothing and reports that.
func TestDataIsTakenFromTheLauncherThatHasIt(t *testing.T) {
	s := newSecured(t)
	one, _ := s.begin("one")
	two, _ := s.begin("two")
	b := s.job("relay", "file", "1", "1", "1000")
	made := b.attempt(0, 0)
	two.finished(two.start(made))
	for name, good := range map[string]bool{"one": false, "": false, "two": true} {
		read := b.attempt(1, 0)
		from := source(two, made, 0, 0)
		from.LauncherName = name
		read.Sources = []*wire.Source{from}
		one.start(read)
		if good {
			if got := counters(one.finished(read.Attempt)); got["sum"] != sumTo(1000) {
				t.Errorf("%v", got)
			}
			continue
		}
		said := one.report("an input that can't be read", func(r *wire.Report) bool {
			return r.GetInputLost().GetAttempt() == read.Attempt || r.GetEnded().GetAttempt() == read.Attempt
		})
		want := map[string]string{"one": "hamadryad://test/launcher/two, and here one is wanted", "": "did not tell which launcher"}[name]
		if lost := said.GetInputLost(); !strings.Contains(lost.GetReason(), want) || lost.GetDamaged() {
			t.Fatalf("a store of two, where %q was expected: %v", name, said)
		}
		one.stop(read.Attempt, 0)
		one.ended(read.Attempt)
	}
}

// The same is true of tcp channels: a writer does not write to a worker of another launcher.
func TestStreamsGoToTheLauncherThatReadsThem(t *testing.T) {
	s := newSecured(t)
	one, _ := s.begin("one")
	two, _ := s.begin("two")
	b := s.job("relay", "tcp", "1", "1", "1000")
	for name, good := range map[string]bool{"three": false, "two": true} {
		from, to := b.attempt(0, 0), b.attempt(1, 0)
		all := []member{{one, from}, {two, to}}
		peers := startBundle(all...)
		peers[1].LauncherName = name
		meet(peers, all...)
		e := one.ended(from.Attempt)
		switch {
		case good && e.End != wire.End_END_FINISHED:
			t.Errorf("to the worker of two: %v", e)
		case !good && (e.Failure.GetKind() != wire.ErrorKind_ERROR_KIND_LOST || !strings.Contains(e.Failure.Message, "hamadryad://test/worker/two, and here three is wanted")):
			t.Errorf("to a worker of two, where one of three was expected: %v", e)
		}
		two.stop(to.Attempt, 0)
		two.ended(to.Attempt)
	}
}

// A worker that outlives its launcher's certificate continues with the next one. Here the CA
// changes, so the worker's previous credentials are no longer valid anywhere.
func TestAWorkerOutlivesItsCertificate(t *testing.T) {
	s := newSecured(t)
	one, filesOfOne := s.begin("one")
	two, filesOfTwo := s.begin("two")
	b := s.job("relay", "file", "1", "1", "1000")
	made, before := b.attempt(0, 0), b.attempt(0, 0)
	two.finished(two.start(made))
	one.finished(one.start(before)) // its worker stays warm for another group of the job
	next := certstest.New(t)
	putInPlace(t, filesOfOne, next.Files(auth.Launcher, "one"))
	putInPlace(t, filesOfTwo, next.Files(auth.Launcher, "two"))
	waitFor(t, "two trusts the next CA", func() bool { return s.keys["two"].Generation() > 0 })
	waitFor(t, "the worker has new credentials", func() bool { return strings.Contains(s.logs["one"].String(), "a worker has new credentials") })
	read := b.attempt(1, 0)
	read.Sources = []*wire.Source{source(two, made, 0, 0)}
	if got := counters(one.finished(one.start(read))); got["sum"] != sumTo(1000) {
		t.Errorf("%v", got)
	}
	if log := s.logs["two"].String(); strings.Contains(log, "a connection is refused") {
		t.Errorf("the store refused the worker:\n%s", log)
	}
}

// putInPlace replaces the files of a running process by others.
func putInPlace(t *testing.T, old, with certs.Files) {
	t.Helper()
	if err := errors.Join(os.Rename(with.Key, old.Key), os.Rename(with.Certificate, old.Certificate), os.Rename(with.CA, old.CA)); err != nil {
		t.Fatal(err)
	}
}

// An attempt's output, and profiles, are for authorized users, whom only the manager knows. Users
// with a role read metrics; other launchers read nothing.
func TestLogsAreForTheManagerAlone(t *testing.T) {
	s := newSecured(t)
	n, _ := s.begin("one")
	id := n.start(s.job("error").attempt(0, 0))
	n.ended(id)
	log, metrics, profile := fmt.Sprintf("/logs/%d", id), "/metrics", "/debug/pprof/goroutine"
	for _, c := range []struct {
		who  *certs.Keys
		page string
		want int // 0: no answer
	}{
		{s.ca.Keys(auth.Manager, "m"), log, http.StatusOK},
		{s.ca.Keys(auth.User, "tester"), log, http.StatusForbidden}, // although the user submitted the job
		{s.ca.Keys(auth.User, "tester"), metrics, http.StatusOK},
		{s.ca.Keys(auth.User, "nobody"), metrics, http.StatusForbidden},
		{s.ca.Keys(auth.User, "nobody"), "/", http.StatusForbidden},
		{s.ca.Keys(auth.User, "nobody"), "/livez", http.StatusOK},
		{s.ca.Keys(auth.Manager, "m"), profile, http.StatusOK},
		{s.ca.Keys(auth.User, "tester"), profile, http.StatusForbidden},
		{s.ca.Keys(auth.Launcher, "two"), log, 0},
		{s.ca.Keys(auth.Launcher, "one"), metrics, 0},
	} {
		web := &http.Client{Transport: &http.Transport{TLSClientConfig: c.who.Client(auth.Launcher, "one"), DisableKeepAlives: true}}
		answer, err := web.Get("https://" + n.join.HttpAddress + c.page)
		if err != nil {
			if c.want != 0 {
				t.Errorf("%s asks for %s: %v", c.who.Identity(), c.page, err)
			}
			continue
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s asks for %s: %s %s", c.who.Identity(), c.page, answer.Status, text)
		}
		if c.page == metrics && c.want == http.StatusOK && !strings.Contains(string(text), "hamadryad_launcher_certificate_expiry_timestamp_seconds") {
			t.Error("metrics don't tell when the certificate ends")
		}
	}
}

// A launcher with a certificate whose workers run as its user warns once at its start that
// submitters can read its key. A launcher that isolates its workers does not.
func TestKeyIsOpenToWorkers(t *testing.T) {
	const warning = "can read this launcher's key"
	s := newSecured(t)
	n, _ := s.begin("open")
	n.wait("its start", func() bool { return n.join.GetName() != "" })
	if got := strings.Count(s.logs["open"].String(), warning); got != 1 {
		t.Errorf("it warns %d times: %s", got, s.logs["open"])
	}
	out := &proctest.Output{}
	on := isolation(t)
	s.launch("closed", func(c *configuration) {
		on(c)
		c.Keys, c.Cache, c.Log = s.keys["open"], t.TempDir(), slog.New(slog.NewTextHandler(out, nil))
	})
	if strings.Contains(out.String(), warning) || !strings.Contains(out.String(), "workers run as the users who submitted") {
		t.Errorf("with isolation it says %s", out)
	}
}
