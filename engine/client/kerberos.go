package client

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth/kerberos"
	tickets "github.com/hamadryad/hamadryad/internal/kerberos"
)

// Kerberos says whether jobs carry their user's Kerberos ticket. With it they access HDFS as that
// user while the manager renews it.
type Kerberos string

// The values of Kerberos.
const (
	// KerberosAuto: jobs carry a ticket if the manager takes tickets of the realm, the ticket cache
	// has a valid one of the user, and the connection is confidential.
	KerberosAuto Kerberos = "auto"
	// KerberosOn: jobs carry a ticket; a missing one is an error.
	KerberosOn Kerberos = "on"
	// KerberosOff: they don't.
	KerberosOff Kerberos = "off"
)

// KerberosVariable is the environment variable with the same setting for all programs.
const KerberosVariable = "HAMADRYAD_KERBEROS"

func (k Kerberos) filled() (Kerberos, error) {
	k = cmp.Or(k, Kerberos(os.Getenv(KerberosVariable)), KerberosAuto)
	if k != KerberosAuto && k != KerberosOn && k != KerberosOff {
		return k, fmt.Errorf("--kerberos or $%s is %q, and may be auto, on or off", KerberosVariable, string(k))
	}
	return k, nil
}

// confidential reports whether only the manager can read what is sent to an address.
func confidential(address string, encrypted bool) bool {
	if strings.HasPrefix(address, socketPrefix) || encrypted {
		return true
	}
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// tickets are the Kerberos tickets that a user's job is to carry, of the realms that the manager
// takes; nil: none.
func (c *Client) tickets(realms []string, user string) ([]byte, error) {
	if c.options.Kerberos == KerberosOff || c.options.Kerberos == KerberosAuto && len(realms) == 0 {
		return nil, nil
	}
	t, err := c.ticket(realms, user)
	switch {
	case err == nil:
		return t.Bytes(), nil
	case c.options.Kerberos == KerberosAuto:
		return nil, nil
	}
	return nil, fmt.Errorf("the job is to carry a Kerberos ticket (--kerberos on): %w", err)
}

// ticket is the user's, if it can be sent and the manager would take it.
func (c *Client) ticket(realms []string, user string) (t tickets.TGT, err error) {
	if len(realms) == 0 {
		return t, errors.New("the manager takes none: its configuration has to name the realm in auth.kerberos.realms")
	}
	if !c.private {
		return t, fmt.Errorf("the connection to %s is in clear, and whoever overhears a ticket has it: use TLS, by $%s, or the manager's socket", c.address, CertificateVariable)
	}
	path, err := tickets.CachePath()
	if err != nil {
		return t, err
	}
	t, err = tickets.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, fmt.Errorf("there is no ticket cache %s: use kinit, or set %s", path, tickets.CacheVariable)
	}
	if err != nil {
		return t, fmt.Errorf("ticket cache %s: %w", path, err)
	}
	name, err := kerberos.User(realms, t.Client.Realm, t.Client.Parts)
	if err != nil {
		return t, fmt.Errorf("ticket cache %s: %w", path, err)
	}
	switch {
	case name != user: // the manager's name for the user, which may differ from the local one
		return t, fmt.Errorf("ticket cache %s: it is of %v, and the job of %s: use kinit as that user", path, t.Client, user)
	case !t.End.After(time.Now()):
		return t, fmt.Errorf("ticket cache %s: the ticket of %v was good until %s: use kinit again", path, t.Client, t.End.Local().Format(time.DateTime))
	}
	return t, nil
}
