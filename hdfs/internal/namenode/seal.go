package namenode

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/types"
)

// sealed is the flag of an encrypted wrap token (RFC 4121, 4.2.2).
const sealed = 2

// offerSize is the size of an offer or choice of protections, in bytes: flags, and the largest
// message that the other end accepts.
const offerSize = 4

// sealer protects messages by wrap tokens (RFC 4121, 4.2.6.2). gokrb5 makes and verifies signed
// tokens; encrypted tokens are made here.
type sealer struct {
	key     types.EncryptionKey
	encrypt bool // else it signs
}

// choose takes the strongest protection of an offer and returns the choice to send.
func (s *sealer) choose(offer []byte) ([]byte, error) {
	if len(offer) != offerSize {
		return nil, fmt.Errorf("an offer of %d bytes", len(offer))
	}
	for _, protection := range []byte{encrypted, signed} {
		if offer[0]&protection != 0 {
			s.encrypt = protection == encrypted
			return []byte{protection, 0xff, 0xff, 0xff}, nil
		}
	}
	if offer[0]&proofOnly == 0 {
		return nil, fmt.Errorf("an offer of no protection that is known (%d)", offer[0])
	}
	return []byte{proofOnly, 0, 0, 0}, nil
}

func (s *sealer) wrap(plain []byte) ([]byte, error) {
	if !s.encrypt {
		return sign(plain, s.key)
	}
	header := make([]byte, gssapi.HdrLen)
	copy(header, []byte{5, 4, sealed, gssapi.FillerByte})
	box, err := crypto.GetEncryptedData(bytes.Join([][]byte{plain, header}, nil), s.key, keyusage.GSSAPI_INITIATOR_SEAL, 0)
	return append(header, box.Cipher...), err
}

// sign makes a signed, unencrypted token.
func sign(plain []byte, key types.EncryptionKey) ([]byte, error) {
	token, err := gssapi.NewInitiatorWrapToken(plain, key)
	if err != nil {
		return nil, err
	}
	return token.Marshal()
}

// unwrap returns the content of a NameNode's token, which must have the agreed protection.
func (s *sealer) unwrap(b []byte) ([]byte, error) {
	var token gssapi.WrapToken
	if err := token.Unmarshal(b, true); err != nil {
		return nil, err
	}
	b = unrotate(b, int(token.RRC))
	if s.encrypt {
		return s.decrypt(b, token)
	}
	if err := token.Unmarshal(b, true); err != nil {
		return nil, err
	}
	if token.Flags&sealed != 0 {
		return nil, errors.New("a token that is encrypted, though that was not agreed")
	}
	if _, err := token.Verify(s.key, keyusage.GSSAPI_ACCEPTOR_SEAL); err != nil {
		return nil, err
	}
	return token.Payload, nil
}

// unrotate undoes the rotation of the bytes after a token's header (RFC 4121, 4.2.5).
func unrotate(b []byte, count int) []byte {
	body := b[gssapi.HdrLen:]
	if len(body) == 0 || count%len(body) == 0 {
		return b
	}
	count %= len(body)
	return bytes.Join([][]byte{b[:gssapi.HdrLen], body[count:], body[:count]}, nil)
}

// decrypt opens an unrotated token. The plain text ends with the padding that the header counts,
// and with a copy of the header, whose rotation count is 0.
func (s *sealer) decrypt(b []byte, token gssapi.WrapToken) ([]byte, error) {
	if token.Flags&sealed == 0 {
		return nil, errors.New("a token that is not encrypted, though that was agreed")
	}
	kind, err := crypto.GetEtype(s.key.KeyType)
	if err != nil {
		return nil, err
	}
	if least := kind.GetConfounderByteSize() + gssapi.HdrLen + kind.GetHMACBitLength()/8; len(b)-gssapi.HdrLen < least {
		return nil, errors.New("a token that is too short") // the library would panic
	}
	plain, err := crypto.DecryptMessage(b[gssapi.HdrLen:], s.key, keyusage.GSSAPI_ACCEPTOR_SEAL)
	if err != nil {
		return nil, err
	}
	end := len(plain) - gssapi.HdrLen - int(token.EC)
	header := bytes.Clone(b[:gssapi.HdrLen])
	header[6], header[7] = 0, 0
	if end < 0 || !bytes.Equal(plain[len(plain)-gssapi.HdrLen:], header) {
		return nil, errors.New("a token whose header was changed")
	}
	return plain[:end], nil
}
