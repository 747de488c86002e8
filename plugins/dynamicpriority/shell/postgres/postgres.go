// Package postgres keeps the budgets of the policy dynamic-priority in a PostgreSQL database, in
// two tables that it makes:
//
//	hamadryad_queue   name, budget and spending of each queue, in millionths of a credit, and
//	                  charged, the end of the interval that was charged last, in nanoseconds since 1970
//	hamadryad_ledger  applied, the number of the last change that is in them, and store, a name that
//	                  the policy gives to a database that is new to it
//
// Both belong together. Where the queues are restored without the ledger, it gets another name.
// Their amounts then count as they stand, and no earlier change is applied to them.
//
// Other programs may change budgets and spending rates meanwhile, and add or remove queues, each
// with one statement. The policy only adds and subtracts, so that no change of either is lost.
//
//	UPDATE hamadryad_queue SET budget = budget + 50000000 WHERE name = 'ann'
package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
)

const (
	// callMax is the timeout of one read or change, including the connection.
	callMax = 10 * time.Second
	// lock is the number of the advisory lock of the working shell.
	lock = 0x68616d6164727961
)

const schema = `
CREATE TABLE IF NOT EXISTS hamadryad_queue (
	name text PRIMARY KEY, budget bigint NOT NULL DEFAULT 0, spending bigint NOT NULL DEFAULT 0, charged bigint NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS hamadryad_ledger (one boolean PRIMARY KEY DEFAULT true CHECK (one), applied bigint NOT NULL);
ALTER TABLE hamadryad_ledger ADD COLUMN IF NOT EXISTS store text NOT NULL DEFAULT '';
INSERT INTO hamadryad_ledger (applied) VALUES (0) ON CONFLICT DO NOTHING;
`

// Store is a database of budgets. It is for one goroutine.
type Store struct {
	config *pgx.ConnConfig
	conn   *pgx.Conn // nil: not connected
}

// Open connects to a database by its address, such as postgres://user:password@host/name. No error
// repeats the address.
func Open(ctx context.Context, address string) (*Store, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, errors.New("the address can't be read: write it like postgres://user:password@host/name")
	}
	s := &Store{config: config}
	ctx, cancel := context.WithTimeout(ctx, callMax)
	defer cancel()
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// connect connects, makes missing tables, and takes the lock, which ends with the connection.
func (s *Store) connect(ctx context.Context) error {
	if s.conn != nil && !s.conn.IsClosed() {
		return nil
	}
	conn, err := pgx.ConnectConfig(ctx, s.config)
	if err != nil {
		return shown("connect", err)
	}
	s.conn = conn
	var locked bool
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", int64(lock)).Scan(&locked); err != nil {
		return s.failed("take the lock", err)
	}
	if !locked {
		s.Close()
		return errors.New("another plug-in works on the budgets: it ends soon if it was replaced, else there are two managers for one database")
	}
	if _, err := conn.Exec(ctx, schema); err != nil {
		return s.failed("make the tables", err)
	}
	if _, err := conn.Exec(ctx, "UPDATE hamadryad_ledger SET store = $1 WHERE store = ''", rand.Text()); err != nil {
		return s.failed("name the store", err)
	}
	return nil
}

// failed closes the connection after an error, since its state is unknown.
func (s *Store) failed(what string, err error) error {
	s.Close()
	return shown(what, err)
}

// shown removes the address from an error: others need not know it.
func shown(what string, err error) error {
	var pg *pgconn.PgError
	var number syscall.Errno
	switch {
	case errors.As(err, &pg):
		return fmt.Errorf("%s: the server answers SQLSTATE %s", what, pg.Code)
	case errors.As(err, &number):
		return fmt.Errorf("%s: %w", what, number)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: no answer within %v", what, callMax)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", what, context.Canceled)
	}
	return fmt.Errorf("%s: the server can't be reached, or broke the connection", what)
}

// Load returns the state of all queues.
func (s *Store) Load(ctx context.Context) (*account.State, error) {
	ctx, cancel := context.WithTimeout(ctx, callMax)
	defer cancel()
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	var state *account.State
	err := pgx.BeginTxFunc(ctx, s.conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) (err error) {
		state, err = load(ctx, tx)
		return err
	})
	var wrong *rowError
	switch {
	case errors.As(err, &wrong):
		return nil, wrong
	case err != nil:
		return nil, s.failed("read", err)
	}
	return state, nil
}

// rowError is the error for a row that is no valid queue.
type rowError struct{ why string }

func (e *rowError) Error() string { return e.why }

func load(ctx context.Context, tx pgx.Tx) (*account.State, error) {
	state := &account.State{}
	var applied int64
	if err := tx.QueryRow(ctx, "SELECT applied, store FROM hamadryad_ledger").Scan(&applied, &state.Store); err != nil {
		return nil, err
	}
	if len(state.Store) > account.NameBytesMax || strings.ContainsFunc(state.Store, unicode.IsSpace) {
		return nil, &rowError{fmt.Sprintf("hamadryad_ledger: %.80q is no name of a store: leave that to the policy", state.Store)}
	}
	if applied < 0 {
		return nil, &rowError{fmt.Sprintf("hamadryad_ledger: applied is %d", applied)}
	}
	state.Applied = uint64(applied)
	rows, err := tx.Query(ctx, "SELECT name, budget, spending, charged FROM hamadryad_queue")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var q account.Queue
		if err := rows.Scan(&q.Name, &q.Budget, &q.Spending, &q.Charged); err != nil {
			return nil, err
		}
		err := errors.Join(account.CheckName(q.Name), account.CheckSpending(q.Spending))
		switch {
		case err != nil:
			return nil, &rowError{fmt.Sprintf("hamadryad_queue: %v", err)}
		case q.Budget != q.Budget.Clip():
			return nil, &rowError{fmt.Sprintf("hamadryad_queue: queue %s: a budget of %d is more than there can be", q.Name, q.Budget)}
		case len(state.Queues()) >= account.QueuesMax:
			return nil, &rowError{fmt.Sprintf("hamadryad_queue: more than %d queues", account.QueuesMax)}
		}
		state.Put(q)
	}
	return state, rows.Err()
}

// statements maps kinds of entries to SQL: $1 is the queue, $2 the amount, $3 the end of the
// interval, $4 the largest amount.
var statements = map[account.Kind]string{
	account.Charge:      "UPDATE hamadryad_queue SET budget = GREATEST(budget - $2, -$4::bigint), charged = $3 WHERE name = $1 AND charged < $3",
	account.AddBudget:   "UPDATE hamadryad_queue SET budget = LEAST(GREATEST(budget + $2, -$4::bigint), $4) WHERE name = $1 AND $3::bigint IS NOT NULL",
	account.SetSpending: "UPDATE hamadryad_queue SET spending = $2 WHERE name = $1 AND $3::bigint + $4::bigint IS NOT NULL",
	account.AddQueue:    "INSERT INTO hamadryad_queue (name) SELECT $1 WHERE $2::bigint + $3::bigint + $4::bigint IS NOT NULL ON CONFLICT DO NOTHING",
	account.RemoveQueue: "DELETE FROM hamadryad_queue WHERE name = $1 AND $2::bigint + $3::bigint + $4::bigint IS NOT NULL",
}

// Apply applies entries in order, each once, in one transaction.
func (s *Store) Apply(ctx context.Context, entries []account.Entry) (applied uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, callMax)
	defer cancel()
	if err := s.connect(ctx); err != nil {
		return 0, err
	}
	err = pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
		var last int64
		if err := tx.QueryRow(ctx, "SELECT applied FROM hamadryad_ledger FOR UPDATE").Scan(&last); err != nil {
			return err
		}
		applied = uint64(max(last, 0))
		batch := &pgx.Batch{}
		for _, e := range entries {
			if e.Number > applied {
				batch.Queue(statements[e.Kind], e.Queue, int64(e.Amount), e.Interval, int64(money.Max))
				applied = e.Number
			}
		}
		batch.Queue("UPDATE hamadryad_ledger SET applied = $1", int64(applied)) //nolint:gosec // entries are counted
		return tx.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		return 0, s.failed("write", err)
	}
	return applied, nil
}

// Shared returns true: other programs may change the database.
func (s *Store) Shared() bool { return true }

// Close closes the connection.
func (s *Store) Close() {
	if s.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.conn.Close(ctx)
	s.conn = nil
}
