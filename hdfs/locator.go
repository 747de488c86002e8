package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/hdfs/internal/namenode"
)

// locateAgain is how long no NameNode is queried for locations after all of them failed.
const locateAgain = 30 * time.Second

// locator queries NameNodes for block locations, through connections of its own. Safe for
// concurrent use.
type locator struct {
	c    *cluster
	idle pool[*nameCaller]

	mu     sync.Mutex
	why    error     // why no NameNode answered
	until  time.Time // no queries before this time
	warned bool
}

// nameCaller is a connection to the NameNode at an address.
type nameCaller struct {
	*namenode.Conn
	address string
}

func (n *nameCaller) close() {
	_ = n.Close() // no caller waits for a pending call
}

// blocks returns the blocks that overlap a range of a file. It waits for a NameNode as other calls
// do. After a wait without success it does not wait again for locateAgain.
func (l *locator) blocks(ctx context.Context, p place, offset, length int64) (found []namenode.Block, err error) {
	if err := l.paused(); err != nil {
		return nil, err
	}
	err = l.c.retry(ctx, "find the blocks of", p, func(ctx context.Context) (err error) {
		found, err = l.once(ctx, p.path, offset, length)
		return err
	})
	if err != nil && ctx.Err() == nil && !aboutFile(err) {
		l.pause(err)
	}
	return found, err
}

// aboutFile reports whether an error concerns the file, not the NameNode.
func aboutFile(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// paused returns why queries are paused; nil if they are not.
func (l *locator) paused() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.until) {
		return l.why
	}
	return nil
}

func (l *locator) pause(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.why, l.until = why, time.Now().Add(locateAgain)
}

// once queries each NameNode at most once, the one that answered last first.
func (l *locator) once(ctx context.Context, path string, offset, length int64) ([]namenode.Block, error) {
	select {
	case l.c.calls <- struct{}{}:
		defer func() { <-l.c.calls }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if n, ok := l.idle.take(); ok {
		found, err := l.ask(ctx, n, path, offset, length)
		if activeAnswered(err) {
			return found, err
		}
		l.idle.drop() // the NameNode may be gone: its other connections are useless too
	}
	var errs []error
	for _, address := range l.c.addresses() {
		n, err := l.dial(ctx, address)
		if err == nil {
			var found []namenode.Block
			if found, err = l.ask(ctx, n, path, offset, length); activeAnswered(err) {
				l.c.serves(address)
				return found, err
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		errs = append(errs, fmt.Errorf("the NameNode %s: %w", address, err))
	}
	return nil, errors.Join(errs...)
}

// activeAnswered reports whether the active NameNode answered, be it with an exception.
func activeAnswered(err error) bool {
	return err == nil || exception(err) != standby && inStep(err)
}

// dial connects to a NameNode.
func (l *locator) dial(ctx context.Context, address string) (*nameCaller, error) {
	o := namenode.Options{User: l.c.set.User, Principal: l.c.base.KerberosServicePrincipleName}
	if l.c.base.KerberosClient != nil {
		var err error
		if o.Login, err = l.c.login(); err != nil {
			return nil, &finalError{err}
		}
	}
	conn, err := (&net.Dialer{Timeout: l.c.set.Dial}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // aborts the handshake
	n, err := namenode.Handshake(&nameConn{timedConn: timedConn{Conn: conn, each: l.c.set.Call}}, hostOf(address), o)
	if !stop() || err != nil {
		_ = conn.Close() // the handshake's error says more
		return nil, final(errors.Join(ctx.Err(), err))
	}
	return &nameCaller{n, address}, nil
}

// ask makes the call and keeps the connection for the next call if possible.
func (l *locator) ask(ctx context.Context, n *nameCaller, path string, offset, length int64) ([]namenode.Block, error) {
	stop := context.AfterFunc(ctx, n.close)
	found, err := n.BlockLocations(path, offset, length)
	if stop() && activeAnswered(err) && !n.Broken() {
		l.idle.put(n)
	} else {
		n.close()
	}
	return found, final(err)
}

// final marks errors that a retry can't mend as final.
func final(err error) error {
	if errors.Is(err, namenode.ErrProtocol) {
		return &finalError{err}
	}
	return err
}

// warn logs once that locations are unknown.
func (l *locator) warn(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.warned {
		l.warned = true
		l.c.set.Log.Warn("where HDFS blocks lie is not known, so work runs anywhere", "cluster", l.c.name.Name, "cause", err,
			"remedy", "let clients reach the NameNode (dfs.namenode.rpc-address), with the protection that it wants (hadoop.rpc.protection)")
	}
}
