package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/hamadryad/hamadryad/engine/local"
)

// watchdogParts is the number of keep-alives to systemd within WatchdogSec. A check that waits for
// its own bound may fail once in between.
const watchdogParts = 3

// stopMax is how long the process may take to stop before systemd's watchdog ends it: its checks
// need parts that are gone by then.
const stopMax = 3 * time.Minute

// notifyMax is how long systemd may take to receive a message, and messages before it.
const notifyMax = 5 * time.Second

// unit notifies systemd of a manager's or launcher's state, where systemd runs it as a unit of
// Type=notify. Elsewhere it does nothing. Safe for concurrent use.
type unit struct {
	log      *slog.Logger
	silent   bool          // this process is no unit
	watchdog time.Duration // WatchdogSec of the unit; 0: it has none
	sending  chan struct{} // holds one element while a message is sent
}

func newUnit(log *slog.Logger) *unit { return &unit{log: log, sending: make(chan struct{}, 1)} }

// openUnit finds out whether this process is a unit. A part of a local cluster is none: its systemd
// variables are those of the process that started the cluster.
func openUnit(part *local.Part, log *slog.Logger) (*unit, error) {
	if part.ReadyFD > 0 {
		u := newUnit(log)
		u.silent = true
		return u, nil
	}
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return nil, fmt.Errorf("WATCHDOG_USEC and WATCHDOG_PID, which systemd sets: %w; unset them where systemd did not start this process", err)
	}
	u := newUnit(log)
	u.watchdog = every
	return u, nil
}

// notify sends lines of sd_notify(3). A receiver that is missing is no reason to end, and one that
// reads nothing holds up nothing: the system's queue of messages to it fills up after a few.
func (u *unit) notify(lines string) {
	if u.silent {
		return
	}
	if err := u.send(lines); err != nil {
		u.log.Warn("systemd can't be told how this process is", "error", err)
	}
}

// errNotRead is the error of messages that nobody reads.
var errNotRead = fmt.Errorf("nobody has read its messages for %v", notifyMax)

// send waits until the message and those before it are in the receiver's queue, at most notifyMax.
func (u *unit) send(lines string) error {
	late := time.NewTimer(notifyMax)
	defer late.Stop()
	select {
	case u.sending <- struct{}{}:
	case <-late.C:
		return errNotRead
	}
	sent := make(chan error, 1)
	go func() {
		_, err := daemon.SdNotify(false, lines)
		<-u.sending
		sent <- err
	}()
	select {
	case err := <-sent:
		return err
	case <-late.C:
		return errNotRead
	}
}

// status sets the line that "systemctl status" shows.
func (u *unit) status(text string) { u.notify("STATUS=" + text) }

// serve notifies systemd that the process is ready, and then periodically that it is alive. It
// returns when ctx ends, and notifies systemd that the process stops. lives returns the problem;
// nil: there is none. During a problem it sends no keep-alive, and systemd restarts the process
// after WatchdogSec.
func (u *unit) serve(ctx context.Context, lives func(context.Context) error) {
	u.notify(daemon.SdNotifyReady)
	if u.watchdog == 0 {
		<-ctx.Done()
		u.notify(daemon.SdNotifyStopping)
		return
	}
	tick := time.NewTicker(u.watchdog / watchdogParts)
	defer tick.Stop()
	for {
		if err := lives(ctx); err == nil {
			u.notify(daemon.SdNotifyWatchdog)
		} else if ctx.Err() == nil {
			u.log.Error("systemd is not told that this process lives, and starts it again if that lasts", "error", err, "watchdog", u.watchdog)
		}
		select {
		case <-ctx.Done():
			u.notify(fmt.Sprintf("%s\nWATCHDOG_USEC=%d", daemon.SdNotifyStopping, stopMax.Microseconds()))
			return
		case <-tick.C:
		}
	}
}
