package manager

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/kerberos"
)

// kdc is a KDC whose tickets are valid for some seconds, unless it is down.
type kdc struct {
	life time.Duration
	down atomic.Bool
}

func (k *kdc) renew(old kerberos.TGT) (kerberos.TGT, error) {
	if k.down.Load() {
		return old, errors.New("no KDC answers")
	}
	old.Start = time.Now()
	old.End, old.RenewTill = old.Start.Add(k.life), old.Start.Add(time.Hour)
	return old, nil
}

// carrying submits a job of ann's, or of another user, with ann's ticket.
func (b *testbed) carrying(user string) (uint64, error) {
	b.t.Helper()
	ticket, err := kerberos.Load("../../internal/kerberos/testdata/cache")
	if err != nil {
		b.t.Fatal(err)
	}
	ticket.End = time.Now().Add(time.Hour)
	prepared, err := b.api.Prepare(b.ctx(), &wire.PrepareRequest{})
	if err != nil {
		b.t.Fatal(err)
	}
	spec := &wire.JobSpec{
		Name: "job", Principal: &wire.Principal{Name: user}, Program: b.upload("program"), Plan: b.upload("plan"),
		Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "work", Nodes: 1, Slots: 1, Memory: 1}}}, Fingerprint: []byte("f"),
	}
	_, err = b.api.Submit(b.ctx(), &wire.SubmitRequest{Job: prepared.Job, Spec: spec, Tickets: ticket.Bytes()})
	return prepared.Job, err
}

// given is the ticket that a launcher has of a job.
func (l *fakeLauncher) given(job uint64) string {
	cache, _ := l.tickets.Load(job)
	text, _ := cache.(string)
	return text
}

// A job's ticket is sent ahead of its work, only to launchers that run the job, and again after a
// renewal or a launcher's absence. It outlives a restart. Only its file has it, and that is removed
// with the job.
func TestAJobCarriesItsTicket(t *testing.T) {
	b, k := newTestbed(t), &kdc{life: 2 * time.Second}
	b.cfg.KerberosRealms, b.cfg.renewTicket = []string{"HAMADRYAD.TEST"}, k.renew
	b.start()
	l := b.launcher("a", 1, true)
	job, err := b.carrying("ann")
	if err != nil {
		t.Fatal(err)
	}
	attempt := l.next()
	first := l.given(job)
	if first == "" {
		t.Fatal("an attempt is started without its job's ticket")
	}
	eventually(t, "a renewed ticket", func() bool { return l.given(job) != first })
	other := b.launcher("b", 1, true)
	if without := b.submit(3); other.next() == 0 || other.given(without) != "" || other.given(job) != "" {
		t.Error("a launcher has a ticket that it needs not")
	}

	l.cancel()
	b.stop()
	second := l.given(job)
	b.start()
	again, err := b.tryJoin("a", 1, true, func(j *wire.Join) {
		j.Attempts = []*wire.AttemptInventory{{Attempt: attempt, State: wire.AttemptInventory_STATE_RUNNING}}
		j.Jobs = []uint64{job}
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the ticket after the restart", func() bool { return again.given(job) != "" })
	third := again.given(job)
	eventually(t, "a ticket that is renewed after the restart", func() bool { return again.given(job) != third })

	k.down.Store(true)
	eventually(t, "a note of the job that no KDC answers", func() bool {
		s, err := b.api.Status(b.ctx(), &wire.StatusRequest{Job: job})
		return err == nil && strings.Contains(strings.Join(s.Notes, "\n"), "no KDC answers")
	})
	file := filepath.Join(b.cfg.Data, "credentials", "job-")
	files, err := filepath.Glob(file + "*")
	if err != nil || len(files) != 1 || !strings.HasSuffix(files[0], ".ann") {
		t.Fatalf("tickets are in %v, %v", files, err)
	}
	last, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := again.finish(attempt); err != nil {
		t.Fatal(err)
	}
	if s := b.follow(job); !succeeded(s) {
		t.Fatal(s)
	}
	eventually(t, "end of the ticket's file", func() bool {
		_, err := os.Stat(files[0])
		return errors.Is(err, os.ErrNotExist)
	})
	again.cancel()
	b.stop() // with a checkpoint
	for _, cache := range []string{first, second, third, string(last)} {
		// The ticket itself is its end, the key lies before.
		for _, secret := range []string{cache[len(cache)-40:], cache[130:162]} {
			if holds(t, b.cfg.Data, secret) || strings.Contains(b.log.String(), secret) {
				t.Error("the manager's data or its log have the ticket")
			}
		}
	}
}

func TestATicketOfAnotherIsRefused(t *testing.T) {
	b, k := newTestbed(t), &kdc{life: time.Hour}
	b.cfg.KerberosRealms, b.cfg.renewTicket = []string{"HAMADRYAD.TEST"}, k.renew
	b.start()
	_, err := b.carrying("mallory")
	if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "ann@HAMADRYAD.TEST") || !strings.Contains(err.Error(), "mallory") {
		t.Errorf("with another's ticket: %v", err)
	}
	k.down.Store(true)
	if _, err = b.carrying("ann"); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "no KDC answers") {
		t.Errorf("with one that is not proved: %v", err)
	}
	b.stop()
	b.cfg.KerberosRealms = nil
	k.down.Store(false)
	b.start()
	if _, err = b.carrying("ann"); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "auth.kerberos.realms") {
		t.Errorf("where none are taken: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(b.cfg.Data, "credentials")); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
