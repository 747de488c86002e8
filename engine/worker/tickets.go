package worker

import (
	"fmt"
	"os"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// tickets is the path of the file with the job's Kerberos tickets. The worker's programs find it by
// KRB5CCNAME, which is set from the start. "": there is none.
type tickets string

// ticketsOf writes the setup's tickets to the file, and removes them from the setup.
func ticketsOf(s *wire.WorkerSetup) (tickets, error) {
	t, cache := tickets(s.TicketsPath), s.Tickets
	s.Tickets = nil
	if t == "" {
		return t, nil
	}
	return t, t.keep(cache)
}

// Unfinished is the suffix of a file of tickets that is being written.
const Unfinished = ".new"

// keep replaces the ticket cache atomically, readable by this user alone: HDFS may be read
// meanwhile.
func (t tickets) keep(cache []byte) error {
	path := string(t)
	err := os.WriteFile(path+Unfinished, cache, 0o600)
	if err == nil {
		err = os.Rename(path+Unfinished, path)
	}
	if err != nil {
		return fmt.Errorf("keep the job's Kerberos tickets: %w", err)
	}
	return nil
}
