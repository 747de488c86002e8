package kerberos

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/hamadryad/hamadryad/internal/secretfile"
)

const (
	// lookEvery is the shortest time between two looks at the keytab.
	lookEvery = 10 * time.Second
	// keytabBytesMax bounds the keytab's file.
	keytabBytesMax = 1 << 20
)

// keys are the keys of a keytab, whose file may change.
type keys struct {
	path string
	now  func() time.Time
	log  *slog.Logger

	mu      sync.Mutex
	table   *keytab.Keytab
	names   []string  // of the services in it
	written time.Time // the file
	looked  time.Time
}

func openKeys(path string, now func() time.Time, log *slog.Logger) (*keys, error) {
	k := &keys{path: path, now: now, log: log, looked: now()}
	if err := k.read(); err != nil {
		return nil, err
	}
	return k, nil
}

// read reads the keytab. The error names the file, and leaves the keys as they were.
func (k *keys) read() error {
	info, err := os.Stat(k.path)
	if err != nil {
		return fmt.Errorf("keytab: %w", err)
	}
	text, err := secretfile.ReadFile(k.path, secretfile.Options{BytesMax: keytabBytesMax, Owner: secretfile.SelfOrRoot})
	if err != nil {
		return fmt.Errorf("keytab %s: %w; who has its keys is whoever he says, so have the KDC make other keys if somebody may have read it", k.path, err)
	}
	table, err := parseKeytab(text)
	if err != nil {
		return fmt.Errorf("keytab %s: %w", k.path, err)
	}
	var names []string
	for _, e := range table.Entries {
		if c := e.Principal.Components; len(c) > 0 && c[0] == ours {
			names = append(names, strings.Join(c, "/")+"@"+e.Principal.Realm)
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("keytab %s: it has no key of a service hamadryad/HOST: have the KDC add one (kadmin: addprinc -randkey hamadryad/HOST, ktadd -k FILE hamadryad/HOST)", k.path)
	}
	slices.Sort(names)
	k.table, k.names, k.written = table, slices.Compact(names), info.ModTime()
	return nil
}

var errKeytab = errors.New("it is no keytab, or damaged: have the KDC write it again (kadmin: ktadd -k FILE hamadryad/HOST)")

// parseKeytab reads a keytab that may be damaged. It does not repeat the library's errors: they
// quote parts of the file, maybe of its keys.
func parseKeytab(b []byte) (table *keytab.Keytab, err error) {
	defer func() {
		if recover() != nil { // the library reads beyond the end of a file that is cut off
			err = errKeytab
		}
	}()
	table = keytab.New()
	if table.Unmarshal(b) != nil {
		return nil, errKeytab
	}
	return table, nil
}

// of is the key with which a ticket for a service was encrypted.
func (k *keys) of(service types.PrincipalName, t messages.Ticket) (types.EncryptionKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reloadKeytab()
	key, _, err := k.table.GetEncryptionKey(service, t.Realm, t.EncPart.KVNO, t.EncPart.EType)
	if err != nil {
		return key, fmt.Errorf("it is for a service, or with a key, that the manager's keytab does not have, which has %s: see that HAMADRYAD_AUTH_SERVICE names one of these, and that the keytab is the KDC's newest", serviceNames(k.names))
	}
	return key, nil
}

// reloadKeytab reads the file again when it has changed. The caller holds mu.
func (k *keys) reloadKeytab() {
	now := k.now()
	if now.Sub(k.looked) < lookEvery {
		return
	}
	k.looked = now
	info, err := os.Stat(k.path)
	if err == nil && info.ModTime().Equal(k.written) {
		return
	}
	if err := k.read(); err != nil {
		k.log.Warn("the keytab can't be read again: the keys that it had count", "error", err)
	}
}
