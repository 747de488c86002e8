package site

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth/join"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/launcher"
)

// CreateToken makes a token for a launcher of the configuration's manager. The token has the
// manager's address.
func CreateToken(c *config.Config, launcher string, ttl time.Duration, now time.Time) (join.Token, error) {
	ca, err := authority(c)
	if err != nil {
		return join.Token{}, err
	}
	at := join.Addresses{Manager: asReached(c.Manager.Listen), Join: asReached(c.Auth.Join)}
	return join.Create(tokenFolder(c), ca, launcher, at, ttl, now)
}

// asReached is the address of a listener for other machines; if it listens on all interfaces, with
// the host's name. "": its port is not known before it listens.
func asReached(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "0" {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		if host, err = os.Hostname(); err != nil {
			return ""
		}
	}
	return net.JoinHostPort(host, port)
}

// readToken reads a token, or a file with one.
func readToken(text string) (join.Token, error) {
	if strings.HasPrefix(text, join.Prefix) {
		return join.ParseToken(text)
	}
	content, err := os.ReadFile(text)
	if err != nil {
		return join.Token{}, err
	}
	token, err := join.ParseToken(string(content))
	if err != nil {
		err = fmt.Errorf("%s: %w", text, err)
	}
	return token, err
}

// joined is the part of a token that a launcher keeps in its data folder, without the secret. A
// launcher that has joined needs no token any more, but it needs its manager's address.
type joined struct {
	Launcher    string `json:"launcher"`
	Manager     string `json:"manager"`               // host:port
	Join        string `json:"join"`                  // host:port
	Certificate string `json:"certificate,omitempty"` // file; "": the one in the data folder
}

// joinedOf is the content of a launcher's token, or of the token that its data folder remembers;
// nil: neither.
func joinedOf(c *config.Config) *joined {
	token, err := readToken(c.Auth.Token)
	if err != nil || token.Manager == "" || token.Join == "" {
		return remembered(c.Launcher.Data)
	}
	j := &joined{Launcher: token.Launcher, Manager: token.Manager, Join: token.Join}
	if c.Auth.Certificate != config.JoinedCertificate(c.Launcher.Data) {
		j.Certificate = c.Auth.Certificate
	}
	return j
}

// remembered is the content of the token that a launcher joined with, from its data folder; nil:
// none.
func remembered(data string) *joined {
	kept, err := launcher.Accepted(data)
	var a accepted
	if kept == nil || err != nil || json.Unmarshal(kept, &a) != nil {
		return nil
	}
	return a.Joined
}

// tokenOrMemory returns a launcher's settings from its token, or, without a readable one, from the
// token that it joined with before.
func tokenOrMemory(data string) func(string) (map[string]string, error) {
	return func(text string) (map[string]string, error) {
		told, err := tokenSays(text)
		if text != "" && err == nil {
			return told, nil
		}
		if j := remembered(data); j != nil {
			told, lost := j.says()
			if lost != nil {
				return nil, lost
			}
			told["auth.certificate"] = cmp.Or(j.Certificate, config.JoinedCertificate(data))
			return told, nil
		}
		if text == "" {
			return nil, nil //nolint:nilnil // nothing is told
		}
		return nil, err
	}
}

// tokenSays is the settings in a launcher's token.
func tokenSays(text string) (map[string]string, error) {
	token, err := readToken(text)
	if err != nil || token.Manager == "" || token.Join == "" {
		return nil, err
	}
	return (&joined{Launcher: token.Launcher, Manager: token.Manager, Join: token.Join}).says()
}

// says are the token's keys and values. The launcher's ports listen on the local address of its
// route to the manager.
func (j *joined) says() (map[string]string, error) {
	way, err := net.Dial("udp", j.Manager) // sends nothing
	if err != nil {
		return nil, fmt.Errorf("no way leads to the manager of the token: %w", err)
	}
	defer way.Close()
	own, _, err := net.SplitHostPort(way.LocalAddr().String())
	return map[string]string{
		"auth.mode": config.AuthTLS, "auth.join": j.Join, "launcher.manager": j.Manager, "launcher.name": j.Launcher, "launcher.bind": own,
	}, err
}
