package kerberos

import (
	"encoding/base64"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/spnego"

	"github.com/hamadryad/hamadryad/internal/kerberos"
)

// Login proves this process's user to one service, with the ticket cache that KRB5CCNAME names.
// Safe for concurrent use.
type Login struct {
	service string // hamadryad/HOST

	mu      sync.Mutex
	client  *client.Client
	path    string    // of the ticket cache in use
	written time.Time // that file
}

// NewLogin makes a login for a service. It reads and requests nothing before Credential.
func NewLogin(service string) *Login { return &Login{service: service} }

// Credential returns a credential that proves the user once. It reads the ticket cache if that has
// changed, and waits for the KDC if there is no ticket for the service yet.
func (l *Login) Credential() (string, error) {
	c, err := l.login()
	if err != nil {
		return "", fmt.Errorf("prove who asks by Kerberos: %w", err)
	}
	ticket, key, err := c.GetServiceTicket(l.service)
	if err != nil {
		return "", fmt.Errorf("prove who asks by Kerberos: a ticket for the service %s: %w; see that the KDC has that service, and use kinit again if yours is over", l.service, err)
	}
	token, err := spnego.NewKRB5TokenAPREQ(c, ticket, key, nil, nil)
	if err != nil {
		return "", fmt.Errorf("prove who asks by Kerberos: %w", err)
	}
	b, err := token.Marshal()
	if err != nil {
		return "", fmt.Errorf("prove who asks by Kerberos: %w", err)
	}
	return base64.StdEncoding.EncodeToString(b), nil
}

// login is a client of the KDC, with the current ticket cache.
func (l *Login) login() (*client.Client, error) {
	path, err := kerberos.CachePath()
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("ticket cache: %w; use kinit, or set %s", err, kerberos.CacheVariable)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client != nil && l.path == path && l.written.Equal(info.ModTime()) {
		return l.client, nil
	}
	conf, err := kerberos.Config()
	if err != nil {
		return nil, err
	}
	t, err := kerberos.Load(path)
	if err != nil {
		return nil, fmt.Errorf("ticket cache %s: %w", path, err)
	}
	if !t.End.After(time.Now()) {
		return nil, fmt.Errorf("ticket cache %s: the ticket of %v was good until %s: use kinit again", path, t.Client, t.End.Local().Format(time.DateTime))
	}
	made, err := t.Login(conf)
	if err != nil {
		return nil, err
	}
	l.client, l.path, l.written = made, path, info.ModTime()
	return made, nil
}
