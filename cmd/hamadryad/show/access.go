package show

import (
	"fmt"
	"strings"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// Access shows a user's rights.
func (c *Printer) Access(r *wire.AccessReply) error {
	if c.structured() {
		return c.message(r)
	}
	if r.Off {
		_, err := fmt.Fprintln(c.Out, "access control is off (auth.mode): everybody may do everything, under any name")
		return err
	}
	p := r.GetPrincipal()
	who := c.table("USER", "GROUPS", "ROLES", "ACTS FOR", "JOBS WITHOUT A POOL GO TO")
	who.row(printable(p.GetName()), orDash(printable(strings.Join(p.GetGroups(), ", "))), orDash(strings.Join(r.Roles, ", ")),
		orDash(printable(strings.Join(r.ActsFor, "; "))), whereTo(r.DefaultPool))
	if err := who.end(); err != nil {
		return err
	}
	if len(r.Pools) > 0 {
		fmt.Fprintln(c.Out)
		t := c.table("POOL AND THOSE BELOW", "SUBMIT", "ADMINISTER")
		for _, p := range r.Pools {
			t.row(printable(p.Pool), yes(p.Submit), yes(p.Administer))
		}
		if err := t.end(); err != nil {
			return err
		}
	}
	for _, a := range r.Advice {
		fmt.Fprintf(c.Out, "\n%s\n", printable(a))
	}
	return nil
}

// whereTo describes the pool of a job that names none.
func whereTo(pool string) string {
	if pool == "" {
		return "no pool, as the lists of / let them"
	}
	return printable(pool)
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "-"
}
