package join

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/internal/atomicfile"
)

const (
	// TTLDefault is how long a token is valid, and TTLMax the longest.
	TTLDefault = 15 * time.Minute
	TTLMax     = 7 * 24 * time.Hour
	// secretBytes is the number of random bytes in a token: nobody guesses them.
	secretBytes = 32
	// addressBytesMax bounds an address in a token: a DNS name has at most 253 bytes.
	addressBytesMax = 300
	// Prefix begins a token, so that people and scanners of logs recognise one.
	Prefix = "hamadryad-join-"
	// tokenVersion follows Prefix: the version of a token's form.
	tokenVersion = "2"
)

// Token is what a launcher gets in order to join.
type Token struct {
	Launcher string
	Pin      string // of the CA (certs.Authority.Pin)
	Addresses
	secret string
}

// Addresses are where a launcher reaches its manager, as host:port. Empty ones are configured
// elsewhere.
type Addresses struct {
	Manager string
	Join    string // where it lets launchers join
}

// String is the token as people copy it. None of its parts has the separator in it.
func (t Token) String() string {
	return strings.Join([]string{Prefix + tokenVersion, t.Pin, t.secret, t.Launcher, t.Manager, t.Join}, "/")
}

// ParseToken reads the result of String.
func ParseToken(text string) (Token, error) {
	parts := strings.Split(strings.TrimSpace(text), "/")
	version, is := strings.CutPrefix(parts[0], Prefix)
	if is && version != tokenVersion {
		return Token{}, fmt.Errorf("it is a token of version %.10q, and this program reads version %s: use the version of Hamadryad that the manager has", version, tokenVersion)
	}
	if len(parts) != 6 || !is || !isHex(parts[1], sha256.Size) || !isHex(parts[2], secretBytes) || auth.CheckName(parts[3]) != nil ||
		!isAddress(parts[4]) || !isAddress(parts[5]) {
		return Token{}, errors.New("it is no token of \"hamadryad token create\": copy it again, whole")
	}
	return Token{Launcher: parts[3], Pin: parts[1], secret: parts[2], Addresses: Addresses{Manager: parts[4], Join: parts[5]}}, nil
}

func isAddress(s string) bool {
	host, port, err := net.SplitHostPort(s)
	return s == "" || err == nil && host != "" && port != "" && len(s) <= addressBytesMax
}

func isHex(s string, bytes int) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == bytes && strings.ToLower(s) == s
}

// entry is what the manager keeps of a token.
type entry struct {
	Hash string    `json:"hash"` // of the secret
	Ends time.Time `json:"ends"`
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Create makes a token for a launcher in the manager's folder of tokens. It replaces a token that
// the launcher has not used yet.
func Create(folder string, ca *certs.Authority, launcher string, at Addresses, ttl time.Duration, now time.Time) (Token, error) {
	if err := auth.CheckName(launcher); err != nil {
		return Token{}, fmt.Errorf("the launcher's name: %w", err)
	}
	if ttl <= 0 || ttl > TTLMax {
		return Token{}, fmt.Errorf("a token for %v: it is good for more than 0 and at most %v", ttl, TTLMax)
	}
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // it never fails
	t := Token{Launcher: launcher, Pin: ca.Pin(), Addresses: at, secret: hex.EncodeToString(secret)}
	text, err := json.Marshal(entry{Hash: hashOf(t.secret), Ends: now.Add(ttl).UTC()})
	if err != nil {
		return Token{}, err
	}
	for _, sub := range []string{open, used} {
		if err := os.MkdirAll(filepath.Join(folder, sub), 0o700); err != nil {
			return Token{}, err
		}
	}
	return t, atomicfile.Replace(filepath.Join(folder, open, launcher), text)
}

// Folders of tokens, whose files have launchers' names.
const (
	open = "open"
	used = "used" // the last used token of each launcher
)

// errRefused is matched by every error about a token.
var errRefused = errors.New("the token is refused")

// redeem consumes a token. Of several requests that bring it at once, one succeeds.
func redeem(folder, launcher, secret string, now time.Time) error {
	if err := auth.CheckName(launcher); err != nil {
		return fmt.Errorf("%w: the launcher's name: %w", errRefused, err)
	}
	e, err := read(filepath.Join(folder, open, launcher))
	if err != nil || !e.of(secret) {
		if before, err := read(filepath.Join(folder, used, launcher)); err == nil && before.of(secret) {
			return fmt.Errorf("%w: it was used already: make another with \"hamadryad token create --launcher %s\"", errRefused, launcher)
		}
		return fmt.Errorf("%w: none like it was made for launcher %s: make one with \"hamadryad token create --launcher %[2]s\"", errRefused, launcher)
	}
	if !now.Before(e.Ends) {
		return fmt.Errorf("%w: it ended at %s, and the manager's clock says %s: make another with \"hamadryad token create --launcher %s\"",
			errRefused, e.Ends.Format(time.RFC3339), now.UTC().Format(time.RFC3339), launcher)
	}
	if err := os.Rename(filepath.Join(folder, open, launcher), filepath.Join(folder, used, launcher)); err != nil {
		return fmt.Errorf("%w: it was used already, a moment ago", errRefused)
	}
	return atomicfile.SyncFolder(filepath.Join(folder, open)) // a crash does not make the token valid again
}

func (e entry) of(secret string) bool {
	return subtle.ConstantTimeCompare([]byte(e.Hash), []byte(hashOf(secret))) == 1
}

func read(path string) (e entry, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	return e, err
}
