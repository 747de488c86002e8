package manager

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/manager/recovery"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
)

// askServingMax bounds the wait for answers of other managers. It is well below the shortest useful lease.
const askServingMax = 2 * time.Second

// ErrServesElsewhere is matched by the error of Run if another manager serves from the data of
// which this data is a copy. A restart does not help until that manager has ended.
var ErrServesElsewhere = errors.New("another manager serves from the same data")

// refuseSecond returns an error if a manager with the same data answers at an address where this
// data was served last. The folder's lock excludes a second manager on one machine. This check is
// for copies of the folder, such as a backup that is restored while the original manager still
// runs. If no manager answers, or the network is cut, there is no error.
func (m *manager) refuseSecond(ctx context.Context) error {
	last, err := recovery.ReadServing(m.cfg.Data)
	if err != nil {
		m.log.Warn("whether another manager serves from a copy of this data can't be asked", "error", err)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askServingMax)
	defer cancel()
	replies := make([]*wire.ServingReply, len(last.Addresses))
	var all sync.WaitGroup
	for i, address := range last.Addresses {
		all.Go(func() { replies[i] = m.askServing(ctx, address) })
	}
	all.Wait()
	for i, r := range replies {
		if r.GetData() != "" && r.GetData() == last.Data {
			return fmt.Errorf("%w: %s is a copy of the data of the manager at %s, which serves in term %d: end that one for good, and start this one then",
				ErrServesElsewhere, m.cfg.Data, last.Addresses[i], r.GetTerm())
		}
	}
	return nil
}

// askServing asks the manager at an address for its data's identity; nil: no answer.
func (m *manager) askServing(ctx context.Context, address string) *wire.ServingReply {
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(m.managerCredentials()))
	if err != nil {
		m.log.Warn("the address at which this data was served last can't be asked", "address", address, "error", err)
		return nil
	}
	defer conn.Close()
	r, err := rpc.NewManagersClient(conn).Serving(ctx, &wire.Empty{})
	if status.Code(err) == codes.DeadlineExceeded {
		m.log.Warn("the address at which this data was served last does not answer: see to it that no manager of the same data comes back there", "address", address)
	}
	if err != nil {
		return nil
	}
	return r
}

// managerCredentials are the credentials shown to another manager, and required of it.
func (m *manager) managerCredentials() credentials.TransportCredentials {
	if m.cfg.Keys == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(m.cfg.Keys.Client(auth.Manager, ""))
}

// noteServing writes where this manager serves.
func (m *manager) noteServing(at net.Addr) error {
	return recovery.Serving{Data: m.life.Identity, Addresses: reachedAt(at)}.Write(m.cfg.Data)
}

// reachedAt are the addresses of a listener; if it listens on all addresses, those of the machine.
func reachedAt(at net.Addr) []string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return []string{at.String()}
	}
	var all []string
	own, _ := net.InterfaceAddrs() // without them, there is no address to ask
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() && len(all) < recovery.ServingAddressesMax {
			all = append(all, (&net.TCPAddr{IP: n.IP, Port: tcp.Port}).String())
		}
	}
	return all
}

// servingServer answers other managers.
type servingServer struct {
	rpc.UnimplementedManagersServer
	reply *wire.ServingReply
}

func (s *servingServer) Serving(context.Context, *wire.Empty) (*wire.ServingReply, error) {
	return s.reply, nil
}
