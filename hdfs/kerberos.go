package hdfs

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"

	"github.com/hamadryad/hamadryad/internal/kerberos"
)

// ticketsFor is how long a ticket cache is used before it is read again, even if its file seems
// unchanged: another process (kinit, sssd, the manager) may renew it.
const ticketsFor = time.Minute

// logins are the Kerberos logins of this process, by their source.
var logins = struct {
	sync.Mutex
	made map[string]*loggedIn
}{made: map[string]*loggedIn{}}

type loggedIn struct {
	client  *client.Client
	at      time.Time
	written time.Time // modification time of the ticket cache; zero: none
}

// good reports whether an earlier login may be reused.
func (l *loggedIn) good(written time.Time) bool {
	return l != nil && l.written.Equal(written) && (written.IsZero() || time.Since(l.at) < ticketsFor)
}

// login returns a Kerberos client, from the keytab or from the ticket cache.
func (c *cluster) login() (*client.Client, error) {
	logins.Lock()
	defer logins.Unlock()
	key := c.set.Keytab + " " + c.set.Principal + " " + os.Getenv(kerberos.ConfigVariable) + " " + os.Getenv(kerberos.CacheVariable)
	written := c.written()
	if l := logins.made[key]; l.good(written) {
		return l.client, nil
	}
	made, err := c.newLogin()
	if err != nil {
		// Only the text: a missing keytab must not match fs.ErrNotExist, as a missing HDFS file
		// does.
		return nil, errors.New("this HDFS wants Kerberos: " + err.Error())
	}
	logins.made[key] = &loggedIn{made, time.Now(), written}
	return made, nil
}

// written returns the modification time of the ticket cache for a new login; zero if the login uses
// a keytab, or there is no cache.
func (c *cluster) written() time.Time {
	if c.set.Keytab != "" {
		return time.Time{}
	}
	path, err := kerberos.CachePath()
	if err != nil {
		return time.Time{}
	}
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func (c *cluster) newLogin() (*client.Client, error) {
	conf, err := kerberos.Config()
	if err != nil {
		return nil, err
	}
	if c.set.Keytab != "" {
		return fromKeytab(conf, c.set.Keytab, c.set.Principal)
	}
	return fromTickets(conf)
}

func fromKeytab(conf *config.Config, path, principal string) (*client.Client, error) {
	table, err := keytab.Load(path)
	if err != nil {
		return nil, fmt.Errorf("keytab %s: %w", path, err)
	}
	if principal == "" {
		return nil, errors.New("a keytab needs a principal: set HAMADRYAD_HDFS_PRINCIPAL to one such as alice@EXAMPLE.COM")
	}
	name, realm, ok := strings.Cut(principal, "@")
	if !ok {
		realm = conf.LibDefaults.DefaultRealm
	}
	made := client.NewWithKeytab(name, realm, table, conf, client.DisablePAFXFAST(true))
	if err := made.Login(); err != nil {
		return nil, fmt.Errorf("log in as %s with %s: %w", principal, path, err)
	}
	return made, nil
}

func fromTickets(conf *config.Config) (*client.Client, error) {
	path, err := kerberos.CachePath()
	if err != nil {
		return nil, fmt.Errorf("%w, or set HAMADRYAD_HDFS_KEYTAB", err)
	}
	cache, err := credentials.LoadCCache(path)
	if err != nil {
		return nil, fmt.Errorf("ticket cache %s: %w; use kinit, before a job is submitted that is to carry the ticket (--kerberos on), or set HAMADRYAD_HDFS_KEYTAB and HAMADRYAD_HDFS_PRINCIPAL", path, err)
	}
	made, err := client.NewFromCCache(cache, conf, client.DisablePAFXFAST(true))
	if err != nil {
		return nil, fmt.Errorf("ticket cache %s: %w; use kinit again", path, err)
	}
	return made, nil
}
