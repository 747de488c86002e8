package worker

import (
	"fmt"
	"os"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// tickets is the path of the file in which a worker has its job's Kerberos tickets. What it
// runs finds them there by KRB5CCNAME, which is set from the start. "": it has none.
type tickets string

// ticketsOf keeps what the setup brings. They don't stay in it.
func ticketsOf(s *wire.WorkerSetup) (tickets, error) {
	t, cache := tickets(s.TicketsPath), s.Tickets
	s.Tickets = nil
	if t == "" {
		return t, nil
	}
	return t, t.keep(cache)
}

// Unfinished ends the name of a file of tickets that is being written.
const Unfinished = ".new"

// keep has a ticket cache in place of the one before, at once and for this user alone: HDFS
// may be read meanwhile.
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
