package proof

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/user"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/credentials"

	"github.com/hamadryad/hamadryad/engine/auth"
)

// WithSocket makes server credentials take connections of Unix sockets as well. The kernel names
// the process at the other end (SO_PEERCRED, unix(7)): its user is the principal, with the system's
// groups. All other connections are proved as before.
func WithSocket(others credentials.TransportCredentials) credentials.TransportCredentials {
	return socketCredentials{others}
}

type socketCredentials struct {
	credentials.TransportCredentials
}

// ServerHandshake implements credentials.TransportCredentials.
func (c socketCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	below := conn
	if above, ok := conn.(interface{ NetConn() net.Conn }); ok { // the listener wraps it to count it
		below = above.NetConn()
	}
	s, ok := below.(*net.UnixConn)
	if !ok {
		return c.TransportCredentials.ServerHandshake(conn)
	}
	who, err := peerOf(s)
	return conn, who, err
}

// ClientHandshake implements credentials.TransportCredentials. It is for servers alone.
func (c socketCredentials) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("credentials of a server dial nobody")
}

// Clone implements credentials.TransportCredentials.
func (c socketCredentials) Clone() credentials.TransportCredentials {
	return socketCredentials{c.TransportCredentials.Clone()}
}

// socketPeer is the user at the other end, as the kernel names it.
type socketPeer struct {
	credentials.CommonAuthInfo
	who auth.Principal
}

// AuthType implements credentials.AuthInfo.
func (socketPeer) AuthType() string { return auth.Socket }

// Principal implements Prover.
func (p socketPeer) Principal() auth.Principal { return p.who }

// peerOf returns the user who was at the other end when it connected, from the kernel. A user id
// without a name is an error.
func peerOf(c *net.UnixConn) (credentials.AuthInfo, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var peer *unix.Ucred
	var asked error
	if err := raw.Control(func(fd uintptr) { peer, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return nil, err
	}
	if asked != nil {
		return nil, asked
	}
	u, err := user.LookupId(strconv.FormatUint(uint64(peer.Uid), 10))
	if err != nil {
		return nil, fmt.Errorf("the user of process %d at manager.socket: %w", peer.Pid, err)
	}
	p := socketPeer{who: auth.Principal{Kind: auth.User, Name: u.Username, Proof: auth.Socket}}
	p.SecurityLevel = credentials.PrivacyAndIntegrity // the kernel carries it
	ids, err := u.GroupIds()
	if err != nil {
		return p, nil // a user without groups
	}
	for _, id := range ids {
		if g, err := user.LookupGroupId(id); err == nil {
			p.who.Groups = append(p.who.Groups, g.Name)
		}
	}
	slices.Sort(p.who.Groups)
	p.who.Groups = slices.Compact(p.who.Groups)
	return p, nil
}
