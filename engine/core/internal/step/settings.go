package step

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Settings are the core's bounds and switches. Durations are nanoseconds in
// JSON. The defaults are those of DefaultSettings.
type Settings struct {
	// AttemptsMax is how often a bundle may fail before its job fails; default
	// 4. A job may ask for another number.
	AttemptsMax int `json:"attemptsMax"`
	// LostMax is how often a bundle may be lost (with its launcher or worker, for
	// want of a launcher's resource, or because its output went) before its job
	// fails; default 20. These are not failures of the program.
	LostMax int `json:"lostMax"`
	// MemoryDefault is the memory of a node without a request of its own, in bytes; default 256
	// MiB.
	MemoryDefault int64 `json:"memoryDefault"`
	// Kinds are the slot kinds the site declares. With any, a job that needs
	// another is refused at once; with none (the default) it waits for a launcher
	// that has it.
	Kinds []string `json:"kinds,omitempty"`
	// Graph bounds a job's graph.
	Graph graph.Limits `json:"graph"`
	// Identity is unique to the cluster; the manager chooses it at its first start. It is not
	// secret.
	Identity string `json:"identity"`
	// TokenSeed is of logs of earlier managers, which made the tokens of data connections
	// of it, and had no other identity; "" since the shell makes them (Core.TokensFrom).
	TokenSeed string `json:"tokenSeed,omitempty"`

	// CommandBytes bounds the list in one command to a launcher, bytes: the places of an
	// attempt's input and the files to publish; default 128 KiB. What is left follows when
	// the worker has taken that in.
	CommandBytes int `json:"commandBytes"`
	// StepWork bounds how much long work one step does, in units of about a
	// microsecond: the start and the end of jobs with very many bundles, snapshots of them, answers with
	// very many decisions, very many timers. The next step goes on; default 4096.
	StepWork int `json:"stepWork"`
	// RoundEvents is how many events wait for a policy that thinks before a job that starts
	// stops offering more bundles; they follow when the next round has left; default 65536.
	RoundEvents int `json:"roundEvents"`
	// RoundGap is the least time between the starts of two rounds; default 0.5 ms.
	RoundGap time.Duration `json:"roundGap"`
	// LaunchedGap is the least time between the start of a round and that of one that carries only
	// launches that were accepted, and offers; default 2 ms. A policy counts on its launches, and decides
	// nothing anew for them.
	LaunchedGap time.Duration `json:"launchedGap"`
	// RefusedGapMax bounds the gap between rounds that carry only refusals: it doubles with each
	// such round; default 1 s.
	RefusedGapMax time.Duration `json:"refusedGapMax"`
	// WakeMin is the least time between two rounds that a policy asks for by WakeAt; default 10 ms.
	WakeMin time.Duration `json:"wakeMin"`
	// Heartbeat is the period of launchers' heartbeats, which policies learn; default 1 s.
	Heartbeat time.Duration `json:"heartbeat"`
	// Seed is for policies that use random numbers; default 1.
	Seed uint64 `json:"seed"`
	// Simulated informs policies that nothing real may be charged; default false.
	Simulated bool `json:"simulated,omitempty"`
	// PolicyLimits bound a policy's answers.
	PolicyLimits scheduler.Limits `json:"policyLimits"`

	// CommandTimeout is after what time a command that was not confirmed is sent
	// again; default 10 s. It doubles with each time, up to CommandTimeoutMax,
	// default 1 minute. After CommandTries, default 6, its attempt counts as lost.
	CommandTimeout    time.Duration `json:"commandTimeout"`
	CommandTimeoutMax time.Duration `json:"commandTimeoutMax"`
	CommandTries      int           `json:"commandTries"`

	// Speculation offers speculative attempts for stragglers; default true.
	Speculation bool `json:"speculation"`
	// SpeculationMin is the least time an attempt ran before it may be called a
	// straggler; default 15 s. It must also have run SpeculationPercent of the
	// median of its stage's finished ones, default 150, when at least
	// SpeculationAfterPercent of the stage, default 50, has finished.
	SpeculationMin          time.Duration `json:"speculationMin"`
	SpeculationPercent      int           `json:"speculationPercent"`
	SpeculationAfterPercent int           `json:"speculationAfterPercent"`
	// SpeculationSharePercent bounds a job's speculative attempts, offered and running, as a
	// share of its running attempts; default 10, but always at least one.
	SpeculationSharePercent int `json:"speculationSharePercent"`
	// SpeculationSuspended is how long an attempt must be suspended before a speculative one is
	// offered; default 0: never.
	SpeculationSuspended time.Duration `json:"speculationSuspended"`
	// SpeculationEvery is the interval between checks for stragglers; default 1 s.
	SpeculationEvery time.Duration `json:"speculationEvery"`

	// ReservationsMax is how many reservations without a preemption (Reserve) a policy may have
	// at one time; default 64.
	ReservationsMax int `json:"reservationsMax"`
	// PastStagesMax is of how many stages the running times in past jobs are kept, for jobs of the
	// same program and name (Stage.Expected); default 1000.
	PastStagesMax int `json:"pastStagesMax"`
	// ReserveMax is how long freed slots are kept for a beneficiary; default 1 minute.
	ReserveMax time.Duration `json:"reserveMax"`
	// ProtectFor is how long a preempted bundle is protected from preemption, from its next
	// start; default 30 s.
	ProtectFor time.Duration `json:"protectFor"`
	// SuspendMax is how long a bundle may be suspended under a policy that does
	// not resume itself; then it is killed and queued again; default 10 minutes.
	SuspendMax time.Duration `json:"suspendMax"`
	// SuspendedMax bounds the attempts that are suspended on one launcher, default 8, and
	// SuspendedPercent the memory that they hold together, as a part of the launcher's
	// memory and swap, default 50. A preemption that would suspend more is refused.
	SuspendedMax     int `json:"suspendedMax"`
	SuspendedPercent int `json:"suspendedPercent"`
	// ReclaimAfter is how long work that early readers of its job wait for may
	// find no slot before readers are stopped for it; default 5 s.
	ReclaimAfter time.Duration `json:"reclaimAfter"`

	// AheadBelow is the median running time of a stage's attempts below which a launcher holds one
	// ahead for each slot; default 50 ms. Until two have ended, the expected time counts (Stage.Expected).
	// Below a tenth of it, a launcher holds AheadMax for each slot; default 4. With AheadMax 0 it holds
	// none. One held for AheadFor is withdrawn; default 250 ms.
	AheadMax   int           `json:"aheadMax"`
	AheadBelow time.Duration `json:"aheadBelow"`
	AheadFor   time.Duration `json:"aheadFor"`

	// AdmissionMax is the timeout for a policy's decision on a submission; default 10 s.
	AdmissionMax time.Duration `json:"admissionMax"`
	// AdmitWithoutPolicy admits submissions while a policy that must admit jobs is down; default
	// false: they are refused.
	AdmitWithoutPolicy bool `json:"admitWithoutPolicy,omitempty"`
	// UnplaceableAfter is how long a job waits whose bundle no set of the known
	// launchers could ever hold, before it fails; default 1 minute.
	UnplaceableAfter time.Duration `json:"unplaceableAfter"`

	// ExcludeAfter is after how many failures of one job on a launcher the job
	// avoids it; default 3. ExcludeJobs such jobs, default 3, make the whole site
	// avoid it for ExcludeFor, default 10 minutes, while no more than
	// ExcludeSharePercent of the launchers, default 50, are excluded. Jobs of one user that
	// run one program count once, but for those that succeeded elsewhere.
	ExcludeAfter        int           `json:"excludeAfter"`
	ExcludeJobs         int           `json:"excludeJobs"`
	ExcludeFor          time.Duration `json:"excludeFor"`
	ExcludeSharePercent int           `json:"excludeSharePercent"`
	// AvoidMax bounds the launchers that one bundle excludes because it failed there; default 8.
	// The oldest is dropped.
	AvoidMax int `json:"avoidMax"`

	// PublishTries and CleanTries bound how often a job's last group is tried;
	// defaults 100 and 3. Tries of publishing are PublishRetryAfter apart,
	// doubling up to PublishRetryMax; defaults 1 s and 1 minute.
	PublishTries      int           `json:"publishTries"`
	CleanTries        int           `json:"cleanTries"`
	PublishRetryAfter time.Duration `json:"publishRetryAfter"`
	PublishRetryMax   time.Duration `json:"publishRetryMax"`
	// StoreFullMax is how long a job waits in all for room in the store of its outputs, since
	// that took files last, before it fails; default 30 minutes. What met a full store is tried
	// again after StoreFullRetryAfter, doubling up to StoreFullRetryMax; defaults 5 s and 1 minute.
	StoreFullMax        time.Duration `json:"storeFullMax"`
	StoreFullRetryAfter time.Duration `json:"storeFullRetryAfter"`
	StoreFullRetryMax   time.Duration `json:"storeFullRetryMax"`
	// FinishersMax is how many groups that publish or clean run on a launcher at once, beside
	// its slots; default 4.
	FinishersMax int `json:"finishersMax"`
	// CleanMax is how long a job's cleaning may wait for a launcher before the job
	// ends without it, with a note; default 5 minutes.
	CleanMax time.Duration `json:"cleanMax"`

	// Version is the number of the configuration that these settings are of; default 0: it has
	// none. Nothing is decided by it: it is shown with jobs.
	Version uint64 `json:"version,omitempty"`
	// Access are the site's access rules; default nil: everybody may do everything. They are
	// never changed.
	Access *access.Rules `json:"access,omitempty"`

	// JobsWaitingMax is how many of the live jobs may wait for other jobs to end, so that others
	// still find room; default 5,000.
	JobsWaitingMax int `json:"jobsWaitingMax"`
	// JobsMax bounds jobs that live, default 10,000; JobsKept summaries of those
	// that ended, default 1000; PreparedMax ids handed out and not submitted,
	// default 10,000, of one user PreparedUserMax, default 1000, which expire after
	// PreparedFor, default 1 hour.
	JobsMax         int           `json:"jobsMax"`
	JobsKept        int           `json:"jobsKept"`
	PreparedMax     int           `json:"preparedMax"`
	PreparedUserMax int           `json:"preparedUserMax"`
	PreparedFor     time.Duration `json:"preparedFor"`
	// UserLimits bound what one user may have: jobs, and the slots, the memory and the countable
	// resources that its attempts hold; default: no user has bounds of its own.
	UserLimits UserLimits `json:"userLimits"`
	// Schedules bound schedules and their runs.
	Schedules ScheduleLimits `json:"schedules"`
	// NotesKept and AttemptsKept bound what status shows of one job; defaults 50
	// and 1000.
	NotesKept    int `json:"notesKept"`
	AttemptsKept int `json:"attemptsKept"`
	// ReasonBytes bounds each note and each reason of an attempt's end, as status shows
	// and policies learn them, in bytes; default 1024. What is longer is cut. The failure
	// that ends a job keeps more.
	ReasonBytes int `json:"reasonBytes"`
	// LaunchersMax bounds launchers that are up, default 20,000; LaunchersKept
	// the names of lost ones that keep their id, default 10,000.
	LaunchersMax  int `json:"launchersMax"`
	LaunchersKept int `json:"launchersKept"`
	// RequestsMax bounds requests for a policy's pages under way, default 100;
	// each is answered within RequestTimeout, default 10 s. A settings version
	// is answered within SettingsTimeout, default 30 s.
	RequestsMax     int           `json:"requestsMax"`
	RequestTimeout  time.Duration `json:"requestTimeout"`
	SettingsTimeout time.Duration `json:"settingsTimeout"`
	// PolicyStallAfter is how long a policy may leave a job without attempts though its work is
	// ready and fits free slots; default 1 minute; 0 is for ever. Then it is a problem in status, and
	// if nothing at all runs the policy counts as broken. The waiting reasons "budget spent",
	// "at its limit", "slots are held back", "no free capacity", "launchers excluded" and
	// "waiting for admission" excuse a job for ever, others for ten times as long.
	PolicyStallAfter time.Duration `json:"policyStallAfter"`
	// NotesMax bounds the notes that wait for a round; default 10,000.
	NotesMax int `json:"notesMax"`
}

// Cluster returns the unique identity of the cluster.
func (s *Settings) Cluster() string { return cmp.Or(s.Identity, s.TokenSeed) }

// TakesKind says whether the site may have slots of a kind: it declares the kind, or declares
// none.
func (s *Settings) TakesKind(kind string) bool {
	return len(s.Kinds) == 0 || slices.Contains(s.Kinds, kind)
}

// DefaultSettings returns the settings of a site that sets none.
func DefaultSettings() Settings {
	return Settings{
		AttemptsMax: 4, LostMax: 20, MemoryDefault: 256 << 20, Graph: graph.DefaultLimits(),
		CommandBytes: 128 << 10, StepWork: 4096, RoundEvents: 1 << 16, RoundGap: 500 * time.Microsecond, LaunchedGap: 2 * time.Millisecond, RefusedGapMax: time.Second, WakeMin: 10 * time.Millisecond, Heartbeat: time.Second, Seed: 1,
		PolicyLimits: scheduler.Limits{
			AnswerBytes: 4 << 20, CheckpointBytes: 1 << 20, Decisions: 1_000_000,
			GraceMax: time.Minute, RoundDeadline: 10 * time.Second,
		},
		CommandTimeout: 10 * time.Second, CommandTimeoutMax: time.Minute, CommandTries: 6,
		Speculation: true, SpeculationMin: 15 * time.Second, SpeculationPercent: 150,
		SpeculationAfterPercent: 50, SpeculationSharePercent: 10, SpeculationEvery: time.Second,
		ReservationsMax: 64, PastStagesMax: 1000, ReserveMax: time.Minute, ProtectFor: 30 * time.Second, SuspendMax: 10 * time.Minute, SuspendedMax: 8, SuspendedPercent: 50, ReclaimAfter: 5 * time.Second,
		AheadMax: 4, AheadBelow: 50 * time.Millisecond, AheadFor: 250 * time.Millisecond,
		AdmissionMax: 10 * time.Second, UnplaceableAfter: time.Minute,
		ExcludeAfter: 3, ExcludeJobs: 3, ExcludeFor: 10 * time.Minute, ExcludeSharePercent: 50, AvoidMax: 8,
		PublishTries: 100, CleanTries: 3, FinishersMax: 4, PublishRetryAfter: time.Second, PublishRetryMax: time.Minute, CleanMax: 5 * time.Minute,
		StoreFullMax: 30 * time.Minute, StoreFullRetryAfter: 5 * time.Second, StoreFullRetryMax: time.Minute,
		JobsWaitingMax: 5000, JobsMax: 10_000, JobsKept: 1000, PreparedMax: 10_000, PreparedUserMax: 1000, PreparedFor: time.Hour,
		NotesKept: 50, AttemptsKept: 1000, ReasonBytes: 1024, LaunchersMax: 20_000, LaunchersKept: 10_000,
		RequestsMax: 100, RequestTimeout: 10 * time.Second, SettingsTimeout: 30 * time.Second, NotesMax: 10_000,
		PolicyStallAfter: time.Minute, Schedules: DefaultScheduleLimits(),
	}
}

// Limits returns the bounds that a policy gets.
func (s *Settings) Limits() scheduler.Limits {
	l := s.PolicyLimits
	l.SuspendedMax, l.SuspendedPercent, l.ReservationsMax, l.SpeculationPercent = s.SuspendedMax, s.SuspendedPercent, s.ReservationsMax, s.SpeculationSharePercent
	return l
}

// percentMax bounds every setting in percent.
const percentMax = 100_000

// Check returns an error that names every setting that can't work.
func (s *Settings) Check() error {
	var errs []error
	atLeast := func(name string, v, least int64) {
		if v < least {
			errs = append(errs, fmt.Errorf("%s is %d: use %d or more", name, v, least))
		}
	}
	for _, n := range s.counts() {
		atLeast(n.name, int64(n.value), 1)
	}
	for _, d := range s.durations() {
		atLeast(d.name, int64(d.value), 1)
		if d.value > DurationMax {
			errs = append(errs, fmt.Errorf("%s is %v: use %v or less", d.name, d.value, DurationMax))
		}
	}
	for _, p := range s.percents() {
		if p.value < 0 || p.value > percentMax {
			errs = append(errs, fmt.Errorf("%s is %d: use 0 to %d", p.name, p.value, percentMax))
		}
	}
	if s.SuspendedPercent < 1 || s.SuspendedPercent > 100 {
		errs = append(errs, fmt.Errorf("suspendedPercent is %d: use 1 to 100", s.SuspendedPercent))
	}
	atLeast("memoryDefault", s.MemoryDefault, 0)
	atLeast("aheadMax", int64(s.AheadMax), 0)
	atLeast("speculationSuspended", int64(s.SpeculationSuspended), 0)
	if s.MemoryDefault > s.Graph.Memory {
		errs = append(errs, fmt.Errorf("memoryDefault is %d: use %d or less, which is graph.memory", s.MemoryDefault, s.Graph.Memory))
	}
	if s.Graph.Nodes > math.MaxInt32/2 {
		errs = append(errs, fmt.Errorf("graph.Nodes is %d: use %d or less", s.Graph.Nodes, math.MaxInt32/2))
	}
	errs = append(errs, s.UserLimits.check()...)
	errs = append(errs, s.Schedules.check()...)
	if slices.Contains(s.Kinds, "") {
		errs = append(errs, errors.New("kinds holds an empty name: name the kind or leave it out"))
	}
	return errors.Join(errs...)
}

// DurationMax keeps sums of times and durations from overflowing.
const DurationMax = 10 * 365 * 24 * time.Hour

type namedInt struct {
	name  string
	value int
}

type namedDuration struct {
	name  string
	value time.Duration
}

func (s *Settings) counts() []namedInt {
	return []namedInt{
		{"stepWork", s.StepWork},
		{"roundEvents", s.RoundEvents},
		{"attemptsMax", s.AttemptsMax},
		{"lostMax", s.LostMax},
		{"commandTries", s.CommandTries},
		{"commandBytes", s.CommandBytes},
		{"excludeAfter", s.ExcludeAfter},
		{"excludeJobs", s.ExcludeJobs},
		{"avoidMax", s.AvoidMax},
		{"suspendedMax", s.SuspendedMax},
		{"reservationsMax", s.ReservationsMax},
		{"pastStagesMax", s.PastStagesMax},
		{"publishTries", s.PublishTries},
		{"cleanTries", s.CleanTries},
		{"finishersMax", s.FinishersMax},
		{"jobsWaitingMax", s.JobsWaitingMax},
		{"jobsMax", s.JobsMax},
		{"jobsKept", s.JobsKept},
		{"preparedMax", s.PreparedMax},
		{"preparedUserMax", s.PreparedUserMax},
		{"notesKept", s.NotesKept},
		{"attemptsKept", s.AttemptsKept},
		{"reasonBytes", s.ReasonBytes},
		{"launchersMax", s.LaunchersMax},
		{"launchersKept", s.LaunchersKept},
		{"requestsMax", s.RequestsMax},
		{"notesMax", s.NotesMax},
		{"policyLimits.AnswerBytes", s.PolicyLimits.AnswerBytes},
		{"policyLimits.CheckpointBytes", s.PolicyLimits.CheckpointBytes},
		{"policyLimits.Decisions", s.PolicyLimits.Decisions},
		{"graph.Stages", s.Graph.Stages},
		{"graph.Nodes", s.Graph.Nodes},
		{"graph.Slots", s.Graph.Slots},
	}
}

func (s *Settings) durations() []namedDuration {
	return []namedDuration{
		{"roundGap", s.RoundGap},
		{"launchedGap", s.LaunchedGap},
		{"refusedGapMax", s.RefusedGapMax},
		{"wakeMin", s.WakeMin},
		{"heartbeat", s.Heartbeat},
		{"commandTimeout", s.CommandTimeout},
		{"commandTimeoutMax", s.CommandTimeoutMax},
		{"speculationMin", s.SpeculationMin},
		{"speculationEvery", s.SpeculationEvery},
		{"reserveMax", s.ReserveMax},
		{"protectFor", s.ProtectFor},
		{"suspendMax", s.SuspendMax},
		{"reclaimAfter", s.ReclaimAfter},
		{"aheadBelow", s.AheadBelow},
		{"aheadFor", s.AheadFor},
		{"admissionMax", s.AdmissionMax},
		{"unplaceableAfter", s.UnplaceableAfter},
		{"excludeFor", s.ExcludeFor},
		{"publishRetryAfter", s.PublishRetryAfter},
		{"publishRetryMax", s.PublishRetryMax},
		{"cleanMax", s.CleanMax},
		{"storeFullMax", s.StoreFullMax},
		{"storeFullRetryAfter", s.StoreFullRetryAfter},
		{"storeFullRetryMax", s.StoreFullRetryMax},
		{"preparedFor", s.PreparedFor},
		{"requestTimeout", s.RequestTimeout},
		{"settingsTimeout", s.SettingsTimeout},
		{"policyLimits.GraceMax", s.PolicyLimits.GraceMax},
		{"policyLimits.RoundDeadline", s.PolicyLimits.RoundDeadline},
	}
}

func (s *Settings) percents() []namedInt {
	return []namedInt{
		{"speculationPercent", s.SpeculationPercent},
		{"speculationAfterPercent", s.SpeculationAfterPercent},
		{"speculationSharePercent", s.SpeculationSharePercent},
		{"excludeSharePercent", s.ExcludeSharePercent},
	}
}

// ParseSettings reads settings from JSON, over the defaults, and checks them.
func ParseSettings(b []byte) (Settings, error) {
	s := DefaultSettings()
	if err := json.Unmarshal(b, &s); err != nil {
		return Settings{}, fmt.Errorf("settings of the core: %w", err)
	}
	if err := s.Check(); err != nil {
		return Settings{}, fmt.Errorf("settings of the core: %w", err)
	}
	return s, nil
}

// JSON returns the settings for a wire.SiteSettings.
func (s Settings) JSON() []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic("core: settings are plain values: " + err.Error())
	}
	return b
}
