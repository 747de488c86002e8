package launcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/mem"

	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/isolate"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/datadir"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/suspend"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/layout"
	"github.com/hamadryad/hamadryad/internal/connlimit"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Config is the configuration of a launcher. Only Manager and Data are required.
type Config struct {
	Manager string // host:port of the manager
	Data    string // folder for stored channels, logs and temporary files; one launcher each
	Name    string // "": host name; names are unique within a cluster
	Host    string // the machine's name, as spelled in the locations of input files; "": its host name
	// Names are further names and addresses of the machine in the locations of input files; nil and
	// no Host: the addresses of its network interfaces.
	Names  []string
	Rack   string
	Slots  []scheduler.SlotCount // nil: a default slot for each core
	Memory int64                 // bytes for all attempts; 0: MemoryShare of the machine's
	Swap   int64                 // bytes beyond Memory for suspended attempts alone: a part of the machine's swap
	// Resources are countable resources, such as 4 of "gpu". SuspensionFrees are the kinds of them that
	// suspension of an attempt frees, and scheduler.CoresKind, which it always frees.
	Resources       scheduler.Resources
	SuspensionFrees []scheduler.ResourceKind
	Bind            string // address that all ports listen on; "": 127.0.0.1
	// DataPort and HTTPPort are the ports of the store and of metrics and logs;
	// 0: any free one.
	DataPort, HTTPPort int
	// ChannelPorts are the ports on which workers listen for tcp channels, FIRST-LAST; "": any free
	// ones.
	ChannelPorts string

	Cache      string        // folder for programs and plans, may be shared by launchers of one machine; "": below Data
	CacheBytes int64         // 0: CacheBytesDefault
	LogBytes   int64         // of one attempt's log; 0: LogBytesDefault
	LogTotal   int64         // of all logs; 0: LogTotalDefault
	LogCount   int           // logs at most; 0: logs.CountDefault
	LogKeepFor time.Duration // after an attempt's end; 0: logs.KeepForDefault
	IdleMax    time.Duration // how long an idle worker waits for another group; 0: IdleDefault
	FileCodec  string        // of file channels that choose none: none, lz4 or zstd; "": the engine's default
	TCPCodec   string        // likewise for tcp channels
	SpillMax   int64         // bytes on disk of one shm channel, and of all tcp channels that a group reads; 0: the channels' defaults
	Env        []string      // added to the workers' environment, NAME=value
	Suspend    string        // how attempts are suspended: one of suspend.Auto, Freezer and Signals; "": Auto
	Reaper     []string      // program that calls reaper.Run, with its arguments; none: suspended processes outlive a killed launcher until its next start

	Isolation isolate.Settings // the user that workers run as, and their sandbox
	Step      []string         // program of engine/isolate/sandboxinit, with its first arguments; needed where Isolation is on

	// Keys are the launcher's certificate. The launcher presents it to the manager and to clients
	// of its ports, and demands theirs; nil: no peer is authenticated.
	Keys *certs.Keys `json:"-"`
	// Limits bound the connections of both ports by address and principal; zeros are connlimit's
	// defaults.
	Limits connlimit.Limits
	// Renew keeps the certificate valid until its context ends; nil: the certificate is not
	// renewed.
	Renew func(context.Context) `json:"-"`

	Log *slog.Logger `json:"-"` // nil: slog.Default()
	// Source is the text from which this configuration was made. It is kept for Accepted when the
	// manager has admitted the launcher; nil: nothing is kept.
	Source []byte `json:"-"`
	// Problem says why the current configuration was rejected in favour of the last accepted one;
	// nil: it was not.
	Problem error `json:"-"`
	// Ready, if set, is called once, when the manager has admitted the launcher.
	Ready func() `json:"-"`
	// Watchdog, if set, is called on its own goroutine when the launcher's ports answer. It returns
	// when ctx ends, which is when the launcher stops. lives returns why the launcher has to be
	// restarted; nil: it is healthy. A call of lives takes ten seconds at most.
	Watchdog func(ctx context.Context, lives func(context.Context) error) `json:"-"`
}

// Defaults of Config.
const (
	MemoryShare       = 0.75
	CacheBytesDefault = 8 << 30
	LogBytesDefault   = 4 << 20
	LogTotalDefault   = 1 << 30
	IdleDefault       = 30 * time.Second
)

// namesMax bounds the further names of the machine.
const namesMax = 64

// logBytesMin leaves room for a log's beginning, its end, and the line between them.
const logBytesMin = 4 << 10

// Check returns the error with which Run would refuse the configuration.
func (c Config) Check() error {
	_, err := c.withDefaults()
	return err
}

// lowerCase returns copies in lower case.
func lowerCase(names []string) []string {
	names = slices.Clone(names)
	for i, n := range names {
		names[i] = strings.ToLower(n)
	}
	return names
}

// withDefaults fills in defaults and checks the rest.
func (c Config) withDefaults() (Config, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	host, err := os.Hostname()
	if err != nil && (c.Host == "" || c.Name == "") {
		return c, fmt.Errorf("launcher: this machine's name: %w; set launcher.host and launcher.name", err)
	}
	if c.Host == "" && c.Names == nil {
		c.Names = addresses()
	}
	setDefault(&c.Host, host)
	setDefault(&c.Name, host)
	// Host names are case-insensitive (RFC 4343). Locations of input files are in lower case too.
	c.Host = strings.ToLower(c.Host)
	c.Names = lowerCase(c.Names)
	setDefault(&c.Bind, "127.0.0.1")
	setDefault(&c.CacheBytes, CacheBytesDefault)
	setDefault(&c.LogBytes, LogBytesDefault)
	setDefault(&c.LogTotal, LogTotalDefault)
	setDefault(&c.IdleMax, IdleDefault)
	if c.Slots == nil {
		c.Slots = []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: runtime.NumCPU()}}
	}
	if c.Memory == 0 {
		machine, err := mem.VirtualMemory()
		if err != nil {
			return c, fmt.Errorf("launcher: this machine's memory: %w; set launcher.memory", err)
		}
		c.Memory = int64(float64(machine.Total) * MemoryShare)
	}
	if c.Data == "" {
		return c, errors.New("launcher: no data folder: set launcher.data")
	}
	if c.Data, err = filepath.Abs(c.Data); err != nil {
		return c, fmt.Errorf("launcher: data folder: %w", err)
	}
	setDefault(&c.Cache, filepath.Join(c.Data, "cache"))
	if c.Cache, err = filepath.Abs(c.Cache); err != nil {
		return c, fmt.Errorf("launcher: cache folder: %w", err)
	}
	return c, c.check()
}

// addresses returns the addresses of the machine's network interfaces without loopback, at most
// namesMax. Without them, input files whose locations are addresses are not read locally.
func addresses() []string {
	all, _ := net.InterfaceAddrs()
	var found []string
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() && len(found) < namesMax {
			found = append(found, ip.IP.String())
		}
	}
	return found
}

func setDefault[T comparable](at *T, value T) {
	var zero T
	if *at == zero {
		*at = value
	}
}

func (c Config) check() error {
	if _, _, err := net.SplitHostPort(c.Manager); err != nil {
		return fmt.Errorf("launcher: manager address %q: %w; write it like 10.0.0.1:7070", c.Manager, err)
	}
	seen := map[string]bool{}
	total := 0
	for _, s := range c.Slots {
		if s.Kind == "" || s.Count < 0 || seen[s.Kind] {
			return fmt.Errorf("launcher: %d slots of kind %q: each kind has a name, stands once and has 0 or more slots", s.Count, s.Kind)
		}
		seen[s.Kind] = true
		total += s.Count
	}
	if err := c.checkResources(); err != nil {
		return err
	}
	if _, err := layout.ParsePorts(c.ChannelPorts); err != nil {
		return fmt.Errorf("launcher.channelPorts: %w", err)
	}
	if err := errors.Join(suspend.Check(c.Suspend), c.Isolation.Check()); err != nil {
		return err
	}
	switch {
	case len(c.Names) > namesMax:
		return fmt.Errorf("launcher: %d names of the machine: give at most %d", len(c.Names), namesMax)
	case total == 0:
		return errors.New("launcher: no slots at all: give it at least one")
	case c.Memory < 0:
		return fmt.Errorf("launcher: memory of %d bytes: use 0 for a share of the machine's, or more", c.Memory)
	case c.Swap < 0:
		return fmt.Errorf("launcher: swap of %d bytes: use 0 for none, or more", c.Swap)
	case c.LogBytes < logBytesMin || c.LogTotal < c.LogBytes:
		return fmt.Errorf("launcher: logs of %d bytes each and %d in all: use at least %d, and no less in all than for one", c.LogBytes, c.LogTotal, logBytesMin)
	case c.LogCount < 0 || c.LogKeepFor < 0:
		return errors.New("launcher: the number of logs and the time for which they are kept can't be negative")
	case c.CacheBytes < 0 || c.IdleMax < 0:
		return errors.New("launcher: cache size and idle time can't be negative")
	}
	return nil
}

func (c Config) checkResources() error {
	if err := scheduler.CheckResources(c.Resources.Counts()); err != nil {
		return fmt.Errorf("launcher.resources: %w", err)
	}
	for _, kind := range c.SuspensionFrees {
		if c.Resources.Of(kind) == 0 {
			return fmt.Errorf("launcher.suspensionFrees names %q, which is not in launcher.resources: declare it there, or leave it out", kind)
		}
	}
	return nil
}

// lookForSwap warns when the machine has less swap than the configuration gives to attempts:
// suspended attempts would then take memory that is promised to others.
func (c Config) lookForSwap() {
	if c.Swap == 0 {
		return
	}
	there := uint64(0)
	if machine, err := mem.SwapMemory(); err == nil {
		there = machine.Total
	}
	if uint64(c.Swap) > there {
		c.Log.Warn("this machine has less swap than launcher.swap: its memory may run out when work is suspended; give the machine more, or set less",
			"swap", c.Swap, "machine", there)
	}
}

// sayAsWhom logs which user the workers run as.
func (c Config) sayAsWhom() {
	switch {
	case c.Isolation.On():
		c.Log.Info("workers run as the users who submitted", "user", isolate.Submitter)
	case os.Geteuid() == 0:
		c.Log.Warn("workers of all users run as root: each job may do anything on this machine; set launcher.isolation.user to submitter, or start the launcher as another user", "user", isolate.None)
	default:
		c.Log.Info("workers of all users run as this launcher's user, and can read and end each other", "user", isolate.None, "uid", os.Geteuid())
	}
	if c.Keys != nil && !c.Isolation.On() {
		c.Log.Warn("whoever submits a job can read this launcher's key, and be taken for it: workers run as its user; start it as root with launcher.isolation.user: submitter, or let nobody submit whom you would not give the key",
			"user", isolate.None)
	}
}

func (c Config) slotsTotal() int {
	total := 0
	for _, s := range c.Slots {
		total += s.Count
	}
	return total
}

func (c Config) wireSlots() []*wire.Slots {
	var slots []*wire.Slots
	for _, s := range c.Slots {
		slots = append(slots, &wire.Slots{Kind: s.Kind, Count: uint32(s.Count)})
	}
	return slots
}

func (c Config) wireResources() []*wire.ResourceCount {
	list := wire.ResourceCounts(c.Resources)
	for _, r := range list {
		r.FreedBySuspension = r.Kind == scheduler.CoresKind || slices.Contains(c.SuspensionFrees, r.Kind)
	}
	return list
}

// workerSettings are the properties for WorkerSetup.
func (c Config) workerSettings() []*wire.Property {
	var list []*wire.Property
	if c.FileCodec != "" {
		list = append(list, &wire.Property{Name: "file-codec", Value: c.FileCodec})
	}
	if c.TCPCodec != "" {
		list = append(list, &wire.Property{Name: "tcp-codec", Value: c.TCPCodec})
	}
	if c.ChannelPorts != "" {
		list = append(list, &wire.Property{Name: "tcp-ports", Value: c.ChannelPorts})
	}
	if c.SpillMax > 0 {
		list = append(list, &wire.Property{Name: "spill-max", Value: strconv.FormatInt(c.SpillMax, 10)})
	}
	return list
}

// Accepted returns the configuration with which a launcher with this data folder last joined: the
// bytes of Config.Source, or nil. The program that starts a launcher uses it when the
// current configuration is invalid, because the machine would be missing otherwise.
func Accepted(data string) ([]byte, error) { return datadir.Accepted(data) }
