package manager

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Public data, the cluster's identity and the attempts' numbers included, is not enough to make a
// token of data connections. Neither the tokens nor their key are in what the manager stores
// outside the key's file, or prints.
func TestWhatIsPublicMakesNoToken(t *testing.T) {
	b := newTestbed(t)
	b.start()
	l := b.launcher("a", 1, true)
	b.submit(2)
	tokens := map[uint64][]byte{}
	for range 2 {
		a := l.next()
		token, _ := l.tokens.Load(a)
		tokens[a] = token.([]byte)
	}
	l.cancel()
	b.stop() // with a checkpoint
	text, err := os.ReadFile(filepath.Join(b.cfg.Data, "key"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(b.cfg.Data, "key"), filepath.Join(t.TempDir(), "key")); err != nil {
		t.Fatal(err)
	}
	hidden := map[string]string{"the key": string(key), "the key's digits": hex.EncodeToString(key)}
	public := l.welcome.Manager
	var before []byte
	for a, token := range tokens {
		if len(token) != 16 || bytes.Equal(token, before) {
			t.Errorf("attempt %d has the token %x, another %x", a, token, before)
		}
		before = token
		number := binary.LittleEndian.AppendUint64(nil, a)
		plain := sha256.Sum256(append([]byte(public), number...))
		mac := hmac.New(sha256.New, []byte(public))
		mac.Write(number)
		for _, guess := range [][]byte{plain[:16], mac.Sum(nil)[:16]} {
			if bytes.Equal(token, guess) {
				t.Errorf("attempt %d's token is made of what is public", a)
			}
		}
		hidden["a token"] = string(token)
	}
	for what, secret := range hidden {
		if holds(t, b.cfg.Data, secret) || strings.Contains(b.log.String(), secret) {
			t.Errorf("the manager's data or its log have %s", what)
		}
	}
}
