package namenode

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/types"
)

// accepted is a token as the NameNode makes it: encrypted with filling and then rotated,
// or signed.
func accepted(t *testing.T, key types.EncryptionKey, plain []byte, encrypt bool, filling, rotation uint16) []byte {
	t.Helper()
	if !encrypt {
		et, err := crypto.GetEtype(key.KeyType)
		if err != nil {
			t.Fatal(err)
		}
		token := gssapi.WrapToken{Flags: 1, EC: uint16(et.GetHMACBitLength() / 8), Payload: plain}
		if err := token.SetCheckSum(key, keyusage.GSSAPI_ACCEPTOR_SEAL); err != nil {
			t.Fatal(err)
		}
		b, err := token.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return rotated(b, rotation)
	}
	header := make([]byte, gssapi.HdrLen)
	copy(header, []byte{5, 4, 1 | sealed, 0xff})
	binary.BigEndian.PutUint16(header[4:], filling)
	box, err := crypto.GetEncryptedData(bytes.Join([][]byte{plain, make([]byte, filling), header}, nil), key, keyusage.GSSAPI_ACCEPTOR_SEAL, 0)
	if err != nil {
		t.Fatal(err)
	}
	return rotated(append(header, box.Cipher...), rotation)
}

func rotated(b []byte, count uint16) []byte {
	binary.BigEndian.PutUint16(b[6:], count)
	body := b[gssapi.HdrLen:]
	n := len(body) - int(count)%len(body)
	return bytes.Join([][]byte{b[:gssapi.HdrLen], body[n:], body[:n]}, nil)
}

// Tokens of all encryption types that RFC 4121 is for are opened, and are refused when a
// bit of them was changed or when they have less protection than was agreed.
func TestProtection(t *testing.T) {
	for kind, size := range map[int32]int{
		etypeID.AES128_CTS_HMAC_SHA1_96: 16, etypeID.AES256_CTS_HMAC_SHA1_96: 32, etypeID.AES128_CTS_HMAC_SHA256_128: 16, etypeID.AES256_CTS_HMAC_SHA384_192: 32,
	} {
		key := types.EncryptionKey{KeyType: kind, KeyValue: bytes.Repeat([]byte{7}, size)}
		plain := []byte("where the blocks of a file lie, and more")
		for _, encrypt := range []bool{false, true} {
			s := &sealer{key: key, encrypt: encrypt}
			for _, rotation := range []uint16{0, 1, 28, 60000} {
				token := accepted(t, key, plain, encrypt, 5*rotation%17, rotation)
				if got, err := s.unwrap(token); err != nil || !bytes.Equal(got, plain) {
					t.Errorf("type %d, encrypted: %t, rotated by %d: %q, %v", kind, encrypt, rotation, got, err)
				}
				for _, at := range []int{0, 2, 5, gssapi.HdrLen, len(token) - 1} {
					bad := bytes.Clone(token)
					bad[at] ^= 2
					if got, err := s.unwrap(bad); err == nil {
						t.Errorf("type %d, encrypted: %t, byte %d changed: %q", kind, encrypt, at, got)
					}
				}
			}
			if _, err := s.unwrap(accepted(t, key, plain, !encrypt, 0, 0)); err == nil {
				t.Errorf("encrypted: %t is taken where %t was agreed", !encrypt, encrypt)
			}
			for _, short := range [][]byte{nil, {5, 4}, make([]byte, 16), accepted(t, key, plain, encrypt, 0, 0)[:20]} {
				if _, err := s.unwrap(short); err == nil {
					t.Errorf("a token of %d bytes is taken", len(short))
				}
			}
		}
	}
}

func TestOffers(t *testing.T) {
	for offer, want := range map[byte]byte{1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 7: 4, 8: 0, 0: 0} {
		s := &sealer{}
		got, err := s.choose([]byte{offer, 1, 0, 0})
		if want == 0 {
			if err == nil {
				t.Errorf("offer %d is taken", offer)
			}
			continue
		}
		if err != nil || got[0] != want || s.encrypt != (want == encrypted) {
			t.Errorf("offer %d: %v, %v", offer, got, err)
		}
	}
	if _, err := (&sealer{}).choose([]byte{7}); err == nil {
		t.Error("a short offer is taken")
	}
}
