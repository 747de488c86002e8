package minihdfs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	// stateEvery is how often a wait polls the NameNode, stateTimeout bounds one poll, answerMax
	// its answer in bytes.
	stateEvery   = 100 * time.Millisecond
	stateTimeout = 30 * time.Second
	answerMax    = 16 << 20
)

// state is the NameNode's report of itself.
type state struct {
	safe string              // why it is in safe mode; "" when it is not
	live map[string]liveNode // by host
	dead map[string]struct{}
}

type liveNode struct {
	Address  string `json:"xferaddr"`
	Capacity int64  `json:"capacity"`
}

// state reads the NameNode's JMX page.
func (c *Cluster) state(ctx context.Context) (state, error) {
	body, err := c.get(ctx, "/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo")
	if err != nil {
		return state{}, err
	}
	var answer struct {
		Beans []struct{ Safemode, LiveNodes, DeadNodes string }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return state{}, err
	}
	if len(answer.Beans) != 1 {
		return state{}, errors.New("the NameNode does not yet tell its state")
	}
	bean := answer.Beans[0]
	var live, dead map[string]liveNode
	if err := errors.Join(json.Unmarshal([]byte(bean.LiveNodes), &live), json.Unmarshal([]byte(bean.DeadNodes), &dead)); err != nil {
		return state{}, err
	}
	s := state{safe: bean.Safemode, live: map[string]liveNode{}, dead: map[string]struct{}{}}
	for name, node := range live { // the names have a port
		s.live[hostOf(name)] = node
	}
	for name := range dead {
		s.dead[hostOf(name)] = struct{}{}
	}
	return s, nil
}

func hostOf(name string) string {
	host, _, _ := strings.Cut(name, ":")
	return host
}

// get sends a GET to the NameNode's web server.
func (c *Cluster) get(ctx context.Context, pathAndQuery string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.WebHDFS()+pathAndQuery, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := c.options.Ask(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", req.URL, resp.Status, body[:min(len(body), tailBytes)])
	}
	return body, err
}

// webClient keeps no connection: the next call may go to another NameNode.
var webClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// ports returns the address of each live DataNode, by host.
func (c *Cluster) ports(ctx context.Context) (map[string]string, error) {
	s, err := c.state(ctx)
	if err != nil {
		return nil, err
	}
	ports := map[string]string{}
	for host, node := range s.live {
		ports[host] = node.Address
	}
	return ports, nil
}

// waitReady waits until the NameNode is out of safe mode and every running DataNode is registered
// under another address than before.
func (c *Cluster) waitReady(ctx context.Context, before []string) error {
	return c.wait(ctx, "HDFS is not ready", func(s state) bool {
		for i, d := range c.data {
			node, live := s.live[Host(i)]
			if d.running() && (!live || node.Capacity == 0 || node.Address == before[i]) {
				return false
			}
		}
		return s.safe == ""
	})
}

// wait waits for a state, or for the end of a daemon that should run.
func (c *Cluster) wait(ctx context.Context, what string, done func(state) bool) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		s, err := c.state(ctx)
		if err == nil && done(s) {
			return c.serving(ctx)
		}
		for _, d := range c.daemons() {
			if d.cmd != nil && !d.running() {
				return fmt.Errorf("%s ended; the end of its log:\n%s", d.name, d.logTail())
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w: %w; the end of the NameNode's log:\n%s", what, ctx.Err(), err, c.name().logTail())
		case <-time.After(stateEvery):
		}
	}
}

// serving checks that clients reach the NameNode.
func (c *Cluster) serving(ctx context.Context) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.rpc(c.active))
	if err != nil {
		return err
	}
	return conn.Close()
}
