package namenode

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"
)

// kerberosMethod is the NameNodes' name of Kerberos.
const kerberosMethod = "KERBEROS"

// Protections that RFC 4752 (3.1) names, as bits of the first byte of an offer or choice.
const (
	proofOnly = 1
	signed    = 2
	encrypted = 4
)

// prove authenticates the user to the NameNode, and the NameNode to the client.
func (c *Conn) prove(host string) error {
	answer, err := c.exchange(&Sasl{State: Sasl_NEGOTIATE.Enum()}, Sasl_NEGOTIATE)
	if err != nil {
		return err
	}
	var kerberos *Mechanism
	for _, m := range answer.GetMechanisms() {
		if m.GetMethod() == kerberosMethod {
			kerberos = m
		}
	}
	if kerberos == nil {
		return fmt.Errorf("%w: it takes no Kerberos, which hadoop.security.authentication asks for", ErrProtocol)
	}
	token, key, err := c.ticket(host)
	if err != nil {
		return err
	}
	answer, err = c.exchange(&Sasl{State: Sasl_INITIATE.Enum(), Token: token, Mechanisms: []*Mechanism{kerberos}}, Sasl_CHALLENGE)
	if err != nil {
		return err
	}
	s := &sealer{key: key}
	offer, err := s.unwrap(answer.GetToken())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	choice, err := s.choose(offer)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	if token, err = sign(choice, key); err != nil {
		return err
	}
	if _, err = c.exchange(&Sasl{State: Sasl_RESPONSE.Enum(), Token: token}, Sasl_SUCCESS); err != nil {
		return err
	}
	if choice[0] != proofOnly {
		c.seal = s
	}
	return nil
}

// exchange sends a message and returns the answer, which must have the state want.
func (c *Conn) exchange(message *Sasl, want Sasl_State) (*Sasl, error) {
	if err := c.send(saslCall, message); err != nil {
		return nil, err
	}
	packet, err := c.receive()
	if err != nil {
		return nil, err
	}
	answer := &Sasl{}
	if err := c.open(packet, "sasl", saslCall, answer); err != nil {
		return nil, err
	}
	if answer.GetState() != want {
		return nil, fmt.Errorf("%w: %v, not %v", ErrProtocol, answer.GetState(), want)
	}
	return answer, nil
}

// ticket returns the token that begins a GSSAPI exchange with the NameNode, and the shared session
// key.
func (c *Conn) ticket(host string) ([]byte, types.EncryptionKey, error) {
	if c.o.Principal == "" {
		return nil, types.EncryptionKey{}, errors.New("dfs.namenode.kerberos.principal is not set: set it in hdfs-site.xml")
	}
	name := strings.Replace(c.o.Principal, "/_HOST", "/"+strings.ToLower(host), 1)
	ticket, key, err := c.o.Login.GetServiceTicket(name)
	if err != nil {
		return nil, key, fmt.Errorf("a ticket for the NameNode %s: %w", name, err)
	}
	token, err := spnego.NewKRB5TokenAPREQ(c.o.Login, ticket, key, []int{gssapi.ContextFlagInteg, gssapi.ContextFlagConf}, nil)
	if err != nil {
		return nil, key, err
	}
	b, err := token.Marshal()
	return b, key, err
}
