package hdfs

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"
)

// ticketsFor is how long a ticket cache is used before it is read again: someone
// else (kinit, sssd) renews it.
const ticketsFor = time.Minute

// logins are the Kerberos logins of this process, by what they are made from.
var logins = struct {
	sync.Mutex
	made map[string]*loggedIn
}{made: map[string]*loggedIn{}}

type loggedIn struct {
	client *client.Client
	at     time.Time
}

// login returns a Kerberos client: of the keytab, or of the ticket cache.
func (c *cluster) login() (*client.Client, error) {
	logins.Lock()
	defer logins.Unlock()
	key := c.set.Keytab + " " + c.set.Principal + " " + os.Getenv("KRB5_CONFIG") + " " + os.Getenv("KRB5CCNAME")
	if l := logins.made[key]; l != nil && (c.set.Keytab != "" || time.Since(l.at) < ticketsFor) {
		return l.client, nil
	}
	made, err := c.newLogin()
	if err != nil {
		// As text: a keytab that does not exist is no file of HDFS that does not.
		return nil, errors.New("this HDFS wants Kerberos: " + err.Error())
	}
	logins.made[key] = &loggedIn{made, time.Now()}
	return made, nil
}

func (c *cluster) newLogin() (*client.Client, error) {
	path := os.Getenv("KRB5_CONFIG")
	if path == "" {
		path = "/etc/krb5.conf"
	}
	conf, err := config.Load(path)
	if err != nil {
		return nil, fmt.Errorf("its configuration %s: %w; set KRB5_CONFIG", path, err)
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
	path := os.Getenv("KRB5CCNAME")
	if path == "" {
		path = "/tmp/krb5cc_" + strconv.Itoa(os.Getuid())
	}
	kind, rest, ok := strings.Cut(path, ":")
	if ok && kind != "FILE" {
		return nil, fmt.Errorf("the ticket cache %s is no file: set KRB5CCNAME to FILE:PATH and use kinit again, or set HAMADRYAD_HDFS_KEYTAB", path)
	} else if ok {
		path = rest
	}
	cache, err := credentials.LoadCCache(path)
	if err != nil {
		return nil, fmt.Errorf("ticket cache %s: %w; use kinit, or set HAMADRYAD_HDFS_KEYTAB and HAMADRYAD_HDFS_PRINCIPAL", path, err)
	}
	made, err := client.NewFromCCache(cache, conf, client.DisablePAFXFAST(true))
	if err != nil {
		return nil, fmt.Errorf("ticket cache %s: %w; use kinit again", path, err)
	}
	return made, nil
}
