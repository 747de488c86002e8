package credentials

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"sync"

	"github.com/hamadryad/hamadryad/internal/atomicfile"
	"github.com/hamadryad/hamadryad/internal/secretfile"
)

// TokenKey is the cluster's key.
type TokenKey struct {
	secret [keyBytes]byte
	hashes *sync.Pool // of hash.Hash, with this key
}

const (
	keyBytes = 32
	// fileBytesMax bounds the read of a file that is no key.
	fileBytesMax = 1 << 10
	tokenBytes   = 16 // 128 bits can't be guessed
)

// OpenTokenKey reads the key from a file, or makes it if there is none; it is on disk when
// OpenTokenKey returns. The error names the file if it is damaged, has another owner, or others may
// read it.
func OpenTokenKey(file string) (TokenKey, error) {
	k, err := read(file)
	if errors.Is(err, fs.ErrNotExist) {
		k, err = createKey(file)
	}
	k.hashes = &sync.Pool{New: func() any { return hmac.New(sha256.New, k.secret[:]) }}
	return k, err
}

func read(file string) (k TokenKey, err error) {
	text, err := secretfile.ReadFile(file, secretfile.Options{BytesMax: fileBytesMax, Owner: secretfile.Self, NoLinks: true})
	if err != nil {
		return k, fmt.Errorf("the cluster's key %s: %w; if somebody may have read it, remove it, and the manager makes another", file, err)
	}
	b, err := hex.DecodeString(string(bytes.TrimSuffix(text, []byte("\n"))))
	if err != nil || len(b) != keyBytes {
		return k, fmt.Errorf("the cluster's key %s is damaged: it has to be %d digits in hexadecimal; bring it back from a copy, or remove it, and the manager makes another: what launchers have stored by then is made again", file, 2*keyBytes)
	}
	copy(k.secret[:], b)
	return k, nil
}

// createKey makes a key.
func createKey(file string) (k TokenKey, err error) {
	_, _ = rand.Read(k.secret[:]) // it never fails
	if err := atomicfile.Replace(file, []byte(hex.EncodeToString(k.secret[:])+"\n")); err != nil {
		return TokenKey{}, fmt.Errorf("write the cluster's key: %w", err)
	}
	return k, nil
}

// Token is the token that the data connections of a bundle attempt show each other. Safe for
// concurrent use.
func (k *TokenKey) Token(run uint64) []byte {
	h := k.hashes.Get().(hash.Hash)
	defer k.hashes.Put(h)
	h.Reset()
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], run)
	h.Write([]byte("data connections of a bundle attempt "))
	h.Write(b[:])
	return h.Sum(nil)[:tokenBytes:tokenBytes]
}

// Format never prints the key, whatever the verb.
func (TokenKey) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "the cluster's key") }
