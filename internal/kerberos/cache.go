package kerberos

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Bounds of what is read.
const (
	// BytesMax bounds a cache with one ticket. A ticket that names a user's groups in an
	// Active Directory has some tens of KiB at most.
	BytesMax = 64 << 10
	// fileBytesMax bounds a user's ticket cache, with tickets for services.
	fileBytesMax = 4 << 20
	// partsMax bounds the parts of a principal's name.
	partsMax = 16
)

// The file format of ticket caches, version 4, as MIT's manual describes it
// (https://web.mit.edu/kerberos/krb5-latest/doc/formats/ccache_file_format.html).
const (
	cacheMagic   = 5
	cacheVersion = 4
)

// keyBytes are the lengths of keys by encryption (RFC 3961, 3962, 4757, 8009).
var keyBytes = map[int32]int{
	etypeID.DES3_CBC_SHA1_KD: 24, etypeID.AES128_CTS_HMAC_SHA1_96: 16, etypeID.AES256_CTS_HMAC_SHA1_96: 32,
	etypeID.AES128_CTS_HMAC_SHA256_128: 16, etypeID.AES256_CTS_HMAC_SHA384_192: 32, etypeID.RC4_HMAC: 16,
}

var errCache = errors.New("it is no ticket cache of version 4, or is damaged")

// Load reads the ticket-granting ticket from a cache that kinit or another program wrote.
// The error matches fs.ErrNotExist where there is no file.
func Load(path string) (TGT, error) {
	f, err := os.Open(path)
	if err != nil {
		return TGT{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, fileBytesMax+1))
	if err != nil {
		return TGT{}, err
	}
	if len(b) > fileBytesMax {
		return TGT{}, fmt.Errorf("it has more than %d bytes", fileBytesMax)
	}
	return Parse(b)
}

// Parse reads the content of a ticket cache and returns its client's ticket-granting ticket: of
// several, the one that expires last. It returns nothing else from the cache.
func Parse(b []byte) (TGT, error) {
	r := &reader{rest: b}
	if r.u8() != cacheMagic || r.u8() != cacheVersion {
		return TGT{}, errCache
	}
	r.takeBytes(int(r.u16())) // an offset of the KDC's clock
	client := r.principal()
	var best TGT
	for !r.bad && len(r.rest) > 0 {
		if t, ok := r.credential(); ok && t.Client.equal(client) && (best.ticket == nil || t.End.After(best.End)) {
			best = t
		}
	}
	if r.bad {
		return TGT{}, errCache
	}
	if best.ticket == nil {
		return TGT{}, fmt.Errorf("it has no ticket-granting ticket of %s", client)
	}
	if n := keyBytes[best.key.KeyType]; n == 0 || n != len(best.key.KeyValue) {
		return TGT{}, fmt.Errorf("the ticket of %s has a session key of %d bytes for the encryption %d, which is not known", client, len(best.key.KeyValue), best.key.KeyType)
	}
	if n := len(best.Bytes()); n > BytesMax {
		return TGT{}, fmt.Errorf("the ticket of %s has %d bytes, and at most %d are taken", client, n, BytesMax)
	}
	return best, nil
}

// Bytes is a cache with this ticket alone.
func (t TGT) Bytes() []byte {
	b := []byte{cacheMagic, cacheVersion, 0, 0} // no header
	b = putPrincipal(b, t.Client)
	b = putPrincipal(b, t.Client)
	b = putPrincipal(b, Principal{Realm: t.Client.Realm, Parts: []string{"krbtgt", t.Client.Realm}, kind: 2})
	b = binary.BigEndian.AppendUint16(b, uint16(t.key.KeyType)) //nolint:gosec // it was read from as many bits
	b = putData(b, t.key.KeyValue)
	for _, at := range []time.Time{t.auth, t.Start, t.End, t.RenewTill} {
		b = binary.BigEndian.AppendUint32(b, seconds(at))
	}
	b = append(b, 0) // not encrypted in a session key
	b = binary.BigEndian.AppendUint32(b, t.flags)
	b = binary.BigEndian.AppendUint64(b, 0) // no addresses, no authorization data
	b = putData(b, t.ticket)
	return putData(b, "") // no second ticket
}

func putData[T ~[]byte | ~string](b []byte, data T) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(data))) //nolint:gosec // it is bounded
	return append(b, data...)
}

func putPrincipal(b []byte, p Principal) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(p.kind))       //nolint:gosec // the same bits
	b = binary.BigEndian.AppendUint32(b, uint32(len(p.Parts))) //nolint:gosec // at most partsMax
	b = putData(b, p.Realm)
	for _, part := range p.Parts {
		b = putData(b, part)
	}
	return b
}

// seconds is a time in the format's seconds, which end in the year 2106.
func seconds(at time.Time) uint32 {
	if at.IsZero() {
		return 0
	}
	return uint32(at.Unix()) //nolint:gosec // as said
}

// reader parses a cache. After the first error it returns nothing.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) takeBytes(n int) []byte {
	if r.bad || n < 0 || n > len(r.rest) {
		r.bad = true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) number(bytes int) (n uint32) {
	for _, b := range r.takeBytes(bytes) {
		n = n<<8 | uint32(b)
	}
	return n
}

func (r *reader) u8() uint32  { return r.number(1) }
func (r *reader) u16() uint32 { return r.number(2) }
func (r *reader) u32() uint32 { return r.number(4) }

// data is a length and as many bytes.
func (r *reader) data() []byte { return r.takeBytes(int(r.u32())) }

func (r *reader) time() time.Time {
	s := r.u32()
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(int64(s), 0)
}

func (r *reader) principal() (p Principal) {
	p.kind = int32(r.u32()) //nolint:gosec // the same bits
	n := r.u32()
	if n > partsMax {
		r.bad = true
		return p
	}
	p.Realm = string(r.data())
	for range n {
		p.Parts = append(p.Parts, string(r.data()))
	}
	return p
}

// credential reads the next credential. It returns false unless it is a ticket-granting ticket of
// the client's own realm.
func (r *reader) credential() (t TGT, ok bool) {
	t.Client = r.principal()
	server := r.principal()
	t.key = types.EncryptionKey{KeyType: int32(int16(r.u16()))} //nolint:gosec // the same bits
	t.key.KeyValue = slices.Clone(r.data())
	t.auth, t.Start, t.End, t.RenewTill = r.time(), r.time(), r.time(), r.time()
	inKey := r.u8()
	t.flags = r.u32()
	for range 2 { // addresses, authorization data
		for n := r.u32(); n > 0 && !r.bad; n-- {
			r.u16()
			r.data()
		}
	}
	t.ticket = slices.Clone(r.data())
	r.data() // a second ticket
	if t.Start.IsZero() {
		t.Start = t.auth
	}
	realm := t.Client.Realm
	return t, !r.bad && inKey == 0 && len(t.ticket) > 0 && server.Realm == realm && slices.Equal(server.Parts, []string{"krbtgt", realm})
}
