package site

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth/join"
	"github.com/hamadryad/hamadryad/engine/config"
)

// CreateToken makes a token for a launcher of the manager that the configuration is of. It
// tells the launcher where that is.
func CreateToken(c *config.Config, launcher string, ttl time.Duration, now time.Time) (join.Token, error) {
	ca, err := authority(c)
	if err != nil {
		return join.Token{}, err
	}
	at := join.Addresses{Manager: asReached(c.Manager.Listen), Join: asReached(c.Auth.Join)}
	return join.Create(tokenFolder(c), ca, launcher, at, ttl, now)
}

// asReached is the address of a listener as other machines know it: one that listens on all
// interfaces by the host's name. "": its port is not known before it listens.
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

// tokenSays is what a launcher that has a token need not be told otherwise. Its ports listen
// where the way to the manager begins.
func tokenSays(text string) (map[string]string, error) {
	token, err := readToken(text)
	if err != nil || token.Manager == "" || token.Join == "" {
		return nil, err
	}
	way, err := net.Dial("udp", token.Manager) // sends nothing
	if err != nil {
		return nil, fmt.Errorf("no way leads to the manager of the token: %w", err)
	}
	defer way.Close()
	own, _, err := net.SplitHostPort(way.LocalAddr().String())
	return map[string]string{
		"auth.mode": config.AuthTLS, "auth.join": token.Join, "launcher.manager": token.Manager, "launcher.name": token.Launcher, "launcher.bind": own,
	}, err
}
