package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/cmd/internal/audit"
	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
	store "github.com/hamadryad/hamadryad/plugins/dynamicpriority/shell/file"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// paid is the policy that users pay for their slots.
const paid = "dynamic-priority"

// allocInterval is how often they do.
const allocInterval = time.Second

// payer is a user with a key, a budget and a bid.
type payer struct {
	name          string
	budget, spend money.Amount
}

// payers are the users of a history, who submit jobs in turn. The last has no budget.
var payers = []payer{{"ann", 1000 * money.Credit, money.Credit}, {"bob", 1000 * money.Credit, 2*money.Credit + 1}, {"carol", 0, 0}}

func keyOf(user string) string { return "a_key_of_" + user }

// bank is the folder of the budgets, on the manager's disk, which may be full.
func (c *cluster) bank() string { return c.path("manager", "bank") }

// openBank writes budgets and keys.
func (c *cluster) openBank() error {
	if err := os.Mkdir(c.bank(), 0o700); err != nil {
		return err
	}
	acl, budget := "", ""
	var failed error
	write := func(path, text string) { failed = errors.Join(failed, os.WriteFile(path, []byte(text), 0o600)) }
	for _, p := range payers {
		acl += fmt.Sprintf("%s user %s\n", p.name, keyOf(p.name))
		budget += fmt.Sprintf("%s %s %s\n", p.name, p.budget, p.spend)
		write(c.path("key."+p.name), keyOf(p.name)+"\n")
	}
	write(filepath.Join(c.bank(), "acl"), acl)
	write(filepath.Join(c.bank(), "budget"), budget)
	return failed
}

// signs is the environment of the client of a job, which has it sign as one of the users.
func (c *cluster) signs(job int) []string {
	user := payers[job%len(payers)].name
	return []string{storage.UserVariable + "=" + user, "HAMADRYAD_KEY=" + c.path("key."+user), client.CertificateVariable + "=" + c.certificate(auth.User, user)}
}

// paying reports whether users may have had to pay at any time of the history.
func (c *cluster) paying() bool { return c.h.policy == paid || c.had("policy changed") }

// gateWords are the valid reasons for a refused job while a policy with an authenticator starts, or
// fails.
var gateWords = []string{"the policy that admits jobs is down", "the policy did not admit it within", "the policy, which authenticates callers, is down", "the policy's authenticator failed"}

// unproven reports whether a client's output is a valid refusal of an unauthenticated submission.
func (c *cluster) unproven(printed string) bool {
	return c.paying() && slices.ContainsFunc(gateWords, func(w string) bool { return strings.Contains(printed, w) })
}

// charges compares what users paid with the usage in the event log.
func (c *cluster) charges() {
	if !c.paying() || c.had("event log cut") {
		return // without a payer or a known usage
	}
	put := map[string]money.Amount{}
	for _, p := range payers {
		put[p.name] = p.budget
	}
	var books *audit.Books
	var has *account.State
	// The store is read before the log. An entry is in the log before it is applied, so the other
	// order would find one applied that was posted between the two reads.
	look := func() (err error) {
		kept, err := store.Open(filepath.Join(c.bank(), "budget"))
		if err != nil {
			return err
		}
		if has, err = kept.Load(context.Background()); err != nil {
			return err
		}
		books, err = audit.Read(c.path("manager"), allocInterval)
		return err
	}
	if out, err := c.command("policy"); err == nil && strings.HasPrefix(out, paid) && strings.Contains(out, ": running") {
		c.within(restMax, "all that was charged is in the store", func() string {
			if err := look(); err != nil {
				return err.Error()
			}
			if n := books.Last(); has.Applied != n {
				return fmt.Sprintf("%d entries are applied, and %d were posted", has.Applied, n)
			}
			return ""
		})
	}
	if err := look(); err != nil {
		c.complain("the books: %v", err)
		return
	}
	c.note("%v", books)
	for _, wrong := range books.Wrong {
		c.complain("charges: %s", wrong)
	}
	if wrong := books.Holds(put, has); wrong != "" {
		c.complain("charges: %s", wrong)
	}
}
