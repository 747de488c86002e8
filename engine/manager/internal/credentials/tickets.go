package credentials

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	auth "github.com/hamadryad/hamadryad/engine/auth/kerberos"
	"github.com/hamadryad/hamadryad/internal/kerberos"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// bytesMax bounds the bytes of all tickets together. One has about a KiB.
	bytesMax = 256 << 20
	// exchangesMax is how many submissions use the KDC at the same time; more wait.
	exchangesMax = 16
)

// ErrForeign is matched by the refusal of a ticket of another user than the submitter.
var ErrForeign = errors.New("a job carries the ticket of its own user alone")

// TicketOptions are a store's. Folder is needed.
type TicketOptions struct {
	Folder string // made if it is missing, for its owner alone
	// Realms are the realms whose principals are users; none: no ticket is accepted.
	Realms auth.Realms
	// Renew requests another ticket from the KDC; nil: by the process's own configuration.
	Renew func(kerberos.TGT) (kerberos.TGT, error)
	Log   *slog.Logger
}

// TicketStore keeps tickets. Safe for concurrent use.
type TicketStore struct {
	folder string
	realms auth.Realms
	renew  func(kerberos.TGT) (kerberos.TGT, error)
	log    *slog.Logger
	asking chan struct{} // has an entry for each submission that uses the KDC
	wake   chan struct{} // has an entry when there is work for Run

	disk  sync.Mutex                            // held while files change; taken before mu
	mu    sync.Mutex                            // never held during disk access
	jobs  map[scheduler.JobID]map[string]*entry // by user; mostly one, never empty
	bytes int64                                 // of all tickets
}

// entry is one ticket.
type entry struct {
	job    scheduler.JobID
	user   string
	ticket kerberos.TGT
	cache  []byte // the same, as a ticket cache

	version uint64    // the core confirmed that the job is this user's
	settled bool      // the core said that the job is this user's
	asked   bool      // the core is to be asked about the job
	pins    int       // submissions in progress
	due     time.Time // of the next renewal; zero: there is none
	trouble string    // why the last renewal failed; "": it did not
}

// Realms returns the realms whose tickets are accepted.
func (s *TicketStore) Realms() []string { return s.realms }

// TakeTicket keeps the ticket of a job that its user submits. The ticket is on disk when TakeTicket
// returns. The caller calls settle when the core has answered, with whether it took the job. The
// error matches ErrForeign if the ticket belongs to another user. It asks the KDC.
func (s *TicketStore) TakeTicket(ctx context.Context, job scheduler.JobID, user string, cache []byte) (settle func(took bool), err error) {
	old, err := s.check(user, cache)
	if err != nil {
		return nil, err
	}
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	fresh, err := s.renew(old)
	if err != nil {
		return nil, fmt.Errorf("the Kerberos ticket that the job is to carry: %w; use kinit again, or submit with --kerberos off", err)
	}
	e := &entry{job: job, user: user, ticket: fresh, cache: fresh.Bytes(), due: nextOf(fresh), version: 1, pins: 1}
	if err := s.writeTicket(e); err != nil {
		return nil, err
	}
	return func(took bool) { s.unpin(job, user, took) }, nil
}

// check validates an untrusted ticket: its claimed user, and whether it may be good.
func (s *TicketStore) check(user string, cache []byte) (kerberos.TGT, error) {
	if len(s.realms) == 0 {
		return kerberos.TGT{}, errors.New("this manager takes no Kerberos tickets: submit with --kerberos off, or have its configuration name the realm in auth.kerberos.realms")
	}
	if len(cache) > kerberos.BytesMax {
		return kerberos.TGT{}, fmt.Errorf("a Kerberos ticket has at most %d bytes, and not %d", kerberos.BytesMax, len(cache))
	}
	t, err := kerberos.Parse(cache)
	if err != nil {
		return t, fmt.Errorf("the Kerberos ticket that the job is to carry: %w", err)
	}
	name, err := auth.User(s.realms, t.Client.Realm, t.Client.Parts)
	if err != nil {
		return t, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	if name != user {
		return t, fmt.Errorf("%w: this one is of %v, and the job of %q: use kinit as that user, or submit with --kerberos off", ErrForeign, t.Client, user)
	}
	if now := time.Now(); !t.End.After(now) {
		return t, fmt.Errorf("the Kerberos ticket of %v was good until %s, and the manager's clock says %s: use kinit again, or set the clock right", t.Client, said(t.End), said(now))
	}
	return t, nil
}

// writeTicket writes a ticket, in place of the same user's for that job.
func (s *TicketStore) writeTicket(e *entry) error {
	s.disk.Lock()
	defer s.disk.Unlock()
	if !s.room(e) {
		return fmt.Errorf("the tickets of all jobs have at most %d bytes: submit it again when other jobs have ended", bytesMax)
	}
	if err := s.write(e); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.jobs[e.job][e.user]; old != nil {
		s.bytes -= int64(len(old.cache))
		e.version, e.settled, e.asked = old.version+1, old.settled, old.asked
		e.pins += old.pins
	}
	s.add(e)
	s.nudge()
	return nil
}

// room reports whether there is room for another ticket.
func (s *TicketStore) room(e *entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes+int64(len(e.cache)) <= bytesMax
}

// add adds an entry to the store. The caller holds mu.
func (s *TicketStore) add(e *entry) {
	if s.jobs[e.job] == nil {
		s.jobs[e.job] = map[string]*entry{}
	}
	s.jobs[e.job][e.user] = e
	s.bytes += int64(len(e.cache))
}

// unpin ends a submission. If it is unknown whether the core took the job, the core is asked later.
func (s *TicketStore) unpin(job scheduler.JobID, user string, took bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.jobs[job][user]
	if e == nil {
		return
	}
	e.pins--
	e.settled = e.settled || took
	e.asked = e.asked || !e.settled
	if e.asked {
		s.nudge()
	}
}

// Of is the ticket cache of a job of that user, and a number that grows with each renewal; 0
// without a ticket. The caller must not change the bytes.
func (s *TicketStore) Of(job scheduler.JobID, user string) (cache []byte, version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.jobs[job][user]; e != nil {
		return e.cache, e.version
	}
	return nil, 0
}

// OfJob is the same for the job's owner, by the core's state.
func (s *TicketStore) OfJob(job scheduler.JobID) (cache []byte, version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.jobs[job] { // at most one is settled
		if e.settled {
			return e.cache, e.version
		}
	}
	return nil, 0
}

// Note is a message for people about a job's ticket; "": none.
func (s *TicketStore) Note(job scheduler.JobID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.jobs[job] {
		if e.settled {
			return e.note(time.Now())
		}
	}
	return ""
}

// Ended notes that jobs may be over. It does not block.
func (s *TicketStore) Ended(jobs []scheduler.JobID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.jobs) == 0 {
		return
	}
	for _, id := range jobs {
		for _, e := range s.jobs[id] {
			e.asked = true
			s.nudge()
		}
	}
}

func (s *TicketStore) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// said formats a time for people.
func said(t time.Time) string { return t.Local().Format(time.DateTime) }
