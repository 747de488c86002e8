package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/shell/file"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/shell/postgres"
)

// Store keeps the state of queues. It is for one goroutine.
type Store interface {
	// Load returns the state of all queues. The caller may keep it.
	Load(ctx context.Context) (*account.State, error)
	// Apply applies entries in order, each once. Afterwards all of them are durable, or none. It
	// returns the number of the last entry ever applied.
	Apply(ctx context.Context, entries []account.Entry) (applied uint64, err error)
	// Shared reports whether other programs may change the store, so that it must be polled.
	Shared() bool
	// Close releases the store.
	Close()
}

const (
	// budgetName and databaseName are the files in the store's folder that hold or locate the
	// queues.
	budgetName   = "budget"
	databaseName = "database"
)

// open opens the store of a folder.
func open(ctx context.Context, folder string) (Store, error) {
	budget, database := filepath.Join(folder, budgetName), filepath.Join(folder, databaseName)
	address, err := os.ReadFile(database)
	if errors.Is(err, os.ErrNotExist) {
		s, err := file.Open(budget)
		if err == nil {
			err = s.Begin()
		}
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the address of the database: %w", err)
	}
	if _, err := os.Stat(budget); err == nil {
		return nil, fmt.Errorf("both %s and %s are there: remove the one that has not the budgets", budget, database)
	}
	s, err := postgres.Open(ctx, strings.TrimSpace(string(address)))
	if err != nil {
		return nil, fmt.Errorf("the database that %s names: %w", database, err)
	}
	return s, nil
}
