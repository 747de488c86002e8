package credentials

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/internal/atomicfile"
	"github.com/hamadryad/hamadryad/internal/kerberos"
	"github.com/hamadryad/hamadryad/internal/secretfile"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// OpenTickets opens a store with the tickets of an earlier life. The error names the folder if
// others can access it. An unusable file is logged and left out: its job continues without a
// ticket.
func OpenTickets(o TicketOptions) (*TicketStore, error) {
	if o.Renew == nil {
		o.Renew = byConfiguration
	}
	s := &TicketStore{
		folder: o.Folder, realms: o.Realms, renew: o.Renew, log: o.Log,
		asking: make(chan struct{}, exchangesMax), wake: make(chan struct{}, 1), jobs: map[scheduler.JobID]map[string]*entry{},
	}
	if err := os.Mkdir(o.Folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("folder of jobs' tickets: %w", err)
	}
	info, err := os.Lstat(o.Folder)
	if err == nil && !info.IsDir() {
		err = errors.New("it is no folder, or a link to one: put the folder itself there")
	}
	if err == nil {
		err = secretfile.Check(info, secretfile.Self)
	}
	if err != nil {
		return nil, fmt.Errorf("folder of jobs' tickets %s: %w", o.Folder, err)
	}
	files, err := os.ReadDir(o.Folder)
	if err != nil {
		return nil, fmt.Errorf("folder of jobs' tickets: %w", err)
	}
	for _, f := range files {
		if atomicfile.IsTemporary(f.Name()) { // it was being written when the manager was killed
			_ = os.Remove(filepath.Join(o.Folder, f.Name()))
			continue
		}
		e, err := s.read(f.Name())
		if err != nil {
			s.log.Error("a job's ticket can't be used, so the job goes on without: remove the file", "file", filepath.Join(o.Folder, f.Name()), "error", err)
			continue
		}
		s.add(e)
	}
	return s, nil
}

// byConfiguration renews by KRB5_CONFIG, which is read again each time: a correction takes no
// restart.
func byConfiguration(t kerberos.TGT) (kerberos.TGT, error) {
	conf, err := kerberos.Config()
	if err != nil {
		return kerberos.TGT{}, fmt.Errorf("the manager's Kerberos: %w", err)
	}
	return t.Renew(conf)
}

// path is the file of a ticket. A user's name has no slash, and no dot in front.
func (s *TicketStore) path(job scheduler.JobID, user string) string {
	return filepath.Join(s.folder, job.String()+"."+user)
}

func (s *TicketStore) write(e *entry) error {
	if err := atomicfile.Replace(s.path(e.job, e.user), e.cache); err != nil {
		return fmt.Errorf("keep the job's ticket: %w", err)
	}
	return nil
}

// jobPrefix begins a job's name.
const jobPrefix = "job-"

// read reads a ticket's file.
func (s *TicketStore) read(name string) (*entry, error) {
	id, user, ok := strings.Cut(name, ".")
	number, err := strconv.ParseUint(strings.TrimPrefix(id, jobPrefix), 10, 64)
	job := scheduler.JobID(number)
	if !ok || err != nil || job.String() != id || auth.CheckName(user) != nil {
		return nil, errors.New("its name is not that of a job and a user, such as job-7.ann")
	}
	cache, err := secretfile.ReadFile(s.path(job, user), secretfile.Options{BytesMax: kerberos.BytesMax, Owner: secretfile.Self, NoLinks: true})
	if err != nil {
		return nil, err
	}
	t, err := kerberos.Parse(cache)
	if err != nil {
		return nil, err
	}
	return &entry{job: job, user: user, ticket: t, cache: t.Bytes(), version: 1, asked: true, due: dueOf(t)}, nil
}

// remove drops a ticket, but not its file. The caller holds mu.
func (s *TicketStore) remove(e *entry) {
	s.bytes -= int64(len(e.cache))
	delete(s.jobs[e.job], e.user)
	if len(s.jobs[e.job]) == 0 {
		delete(s.jobs, e.job)
	}
}

// erase removes the files of tickets. The caller holds disk, and not mu.
func (s *TicketStore) erase(gone []*entry) {
	for _, e := range gone {
		if err := os.Remove(s.path(e.job, e.user)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("the ticket of a job that is over can't be removed: remove it", "error", err)
		}
	}
}
