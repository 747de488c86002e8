package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Edges reads the state of the components around the core at a scrape: queues, folders, the event
// log, the policy's processes. No read waits for the core.
type Edges struct {
	Inbox       func() (entries, bytes Fill)     // inputs waiting for the core
	Shown       func() Fill                      // rows waiting to be applied to the read model
	Programs    func() (uploads, bytes Fill)     // uploads of submitters
	Log         func() Log                       // the event log
	Audit       func() (lines int, wrong error)  // lines waiting to be written, and why
	Deciding    func() (p Policy, decides bool)  // the policy
	Certificate func() (end time.Time, has bool) // the manager's own
	History     func() History                   // of ended jobs
	Schedules   func() Schedules                 // of users
	Term        uint64                           // of this life
}

// Fill is the use and the bound of a resource.
type Fill struct{ Now, Max int64 }

// Log is the state of the event log.
type Log struct {
	Unsynced, File, Checkpoint int64         // bytes
	Made                       time.Time     // when the checkpoint was begun
	Stalled                    time.Duration // since the manager began
}

// History is the state of the kept history.
type History struct {
	Jobs, Damaged int           // jobs, and unreadable files
	Bytes         int64         // of the jobs' files
	Behind        time.Duration // for how long it could not be written; 0: it can
	Missed        uint64        // attempts and jobs that it could not take
	Freed         uint64        // jobs removed since its disk was full
	StoreWaiting  int           // files to be copied to its store
	StoreBehind   time.Duration // for how long the store has been unusable; 0: it is usable
	StoreOlder    int64         // bytes of older copies there
	Tails         Tails
}

// Tails is the state of the kept ends of attempts' logs.
type Tails struct {
	Bytes, Waiting int64         // of files, and of the data waiting to be written
	Dropped        uint64        // dropped because of a bound
	Behind         time.Duration // for how long they could not be written; 0: they can
}

// Policy is one start of a policy.
type Policy struct {
	Name, Version string
	Transport     string    // of its rounds
	Start         uint64    // its number in this manager's life, from 1 on
	Since         time.Time // it decides
}

var (
	inboxEntries     = describe("inbox_entries", "Entries that wait for the core: inputs, and looks at it.")
	inboxEntriesMax  = describe("inbox_max_entries", "Bound of hamadryad_inbox_entries: who brings more has to wait.")
	inboxBytes       = describe("inbox_bytes", "Bytes of inputs that wait for the core, or are in the step at hand.")
	inboxBytesMax    = describe("inbox_max_bytes", "Bound of hamadryad_inbox_bytes: who brings more has to wait.")
	shownRows        = describe("shown_waiting_rows", "Rows of what changed that wait to be taken into what is shown of the cluster.")
	shownRowsMax     = describe("shown_waiting_max_rows", "Bound of hamadryad_shown_waiting_rows: beyond it the core has to wait.")
	uploadsDesc      = describe("uploads", "Programs, plans and large graphs that are being sent to the manager.")
	uploadsMax       = describe("max_uploads", "Bound of hamadryad_uploads: a submission beyond it tries again later.")
	programBytes     = describe("programs_bytes", "Bytes of programs, plans and large graphs that the manager keeps.")
	programBytesMax  = describe("programs_max_bytes", "Bound of hamadryad_programs_bytes: what was not used for longest goes.")
	logUnsynced      = describe("log_unsynced_bytes", "Bytes of the event log that wait to be written to the disk.")
	logFile          = describe("log_file_bytes", "Bytes of the event log's newest file, with its checkpoint.")
	logStalled       = describe("log_stalled_seconds_total", "For how long the event log's disk was full, since this manager began.")
	checkpointBytes  = describe("checkpoint_bytes", "Bytes of the last checkpoint, with which the event log's newest file begins.")
	checkpointMade   = describe("checkpoint_timestamp_seconds", "When the last checkpoint was begun, in seconds since 1970.")
	auditWaiting     = describe("audit_lines_waiting", "Lines of the audit that wait to be written.")
	auditStalled     = describe("audit_stalled", "1 while the audit can't be written, and no change is taken.")
	historyJobs      = describe("history_jobs", "Jobs that ended and that history keeps.")
	historyBytes     = describe("history_bytes", "Bytes of these jobs' files.")
	historyDamaged   = describe("history_damaged_files", "Files of history that turned out to be damaged since this manager began, a hundred at most.")
	historyBehind    = describe("history_behind_seconds", "For how long history could not be written; 0 while it can.")
	historyWaiting   = describe("history_store_waiting_files", "Files of history that are to be copied to manager.history.store; 0 when there is none.")
	historyAway      = describe("history_store_behind_seconds", "For how long the store of history's copy could not be used; 0 while it can.")
	historyOlder     = describe("history_store_older_bytes", "Bytes of older files in manager.history.store of jobs that have newer ones there: of another cluster that has the same store, mostly.")
	tailsBytes       = describe("history_tails_bytes", "Bytes of the ends of attempts' logs that history keeps.")
	tailsWaiting     = describe("history_tails_waiting_bytes", "Bytes of ends of logs that came from launchers and wait to be written, 64 MiB at most.")
	tailsDropped     = describe("history_tails_dropped_total", "Ends of logs that manager.history.tails.jobBytes or manager.history.bytesMax did not let be kept, since this manager began.")
	tailsBehind      = describe("history_tails_behind_seconds", "For how long ends of logs could not be written; 0 while they can.")
	historyFreed     = describe("history_removed_for_room_total", "Jobs that history removed before their time since its disk was full, since this manager began.")
	historyMissed    = describe("history_missed_total", "Attempts and jobs that history could not take, since this manager began.")
	policyInfo       = describe("policy_info", "Always 1: the policy that decides, by its name in the configuration, or fallback, its version, and how rounds reach it: socket, grpc, or none in the manager's process.", "name", "version", "transport")
	policyGeneration = describe("policy_generation", "Which start of a policy decides, counted since this manager began.")
	policySince      = describe("policy_start_timestamp_seconds", "Since when this start of the policy decides, in seconds since 1970.")
	termDesc         = describe("manager_term", "Which life of the manager this is: larger after each start.")
	certificateEnd   = describe("certificate_expiry_timestamp_seconds", "When the manager's own certificate ends, in seconds since 1970; missing where it has none.")
)

// Describe implements prometheus.Collector.
func (e Edges) Describe(c chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		inboxEntries, inboxEntriesMax, inboxBytes, inboxBytesMax, shownRows, shownRowsMax, uploadsDesc, uploadsMax, programBytes, programBytesMax,
		logUnsynced, logFile, logStalled, checkpointBytes, checkpointMade, auditWaiting, auditStalled,
		historyJobs, historyBytes, historyDamaged, historyBehind, historyWaiting, historyAway, historyOlder, historyMissed, historyFreed,
		tailsBytes, tailsWaiting, tailsDropped, tailsBehind, policyInfo, policyGeneration, policySince, termDesc, certificateEnd,
		schedulesDesc, scheduleRuns, scheduleLate, scheduleDue, scheduleWithout, scheduleStarts, scheduleRunsOver,
	} {
		c <- d
	}
}

// Collect implements prometheus.Collector.
func (e Edges) Collect(out chan<- prometheus.Metric) {
	to := metric(out)
	entries, bytes := e.Inbox()
	to.fill(inboxEntries, inboxEntriesMax, entries)
	to.fill(inboxBytes, inboxBytesMax, bytes)
	to.fill(shownRows, shownRowsMax, e.Shown())
	uploads, kept := e.Programs()
	to.fill(uploadsDesc, uploadsMax, uploads)
	to.fill(programBytes, programBytesMax, kept)
	e.log(to)
	lines, wrong := e.Audit()
	to.gauge(auditWaiting, float64(lines))
	to.gauge(auditStalled, flag(wrong != nil))
	e.history(to)
	e.schedules(to)
	to.gauge(termDesc, float64(e.Term))
	if p, decides := e.Deciding(); decides {
		to.gauge(policyInfo, 1, p.Name, p.Version, p.Transport)
		to.gauge(policyGeneration, float64(p.Start))
		to.gauge(policySince, seconds(p.Since))
	}
	if end, has := e.Certificate(); has {
		to.gauge(certificateEnd, seconds(end))
	}
}

func (e Edges) log(to metric) {
	l := e.Log()
	to.gauge(logUnsynced, float64(l.Unsynced))
	to.gauge(logFile, float64(l.File))
	to.gauge(checkpointBytes, float64(l.Checkpoint))
	to.gauge(checkpointMade, seconds(l.Made))
	to <- prometheus.MustNewConstMetric(logStalled, prometheus.CounterValue, l.Stalled.Seconds())
}

func (e Edges) history(to metric) {
	h := e.History()
	to.gauge(historyJobs, float64(h.Jobs))
	to.gauge(historyBytes, float64(h.Bytes))
	to.gauge(historyDamaged, float64(h.Damaged))
	to.gauge(historyBehind, h.Behind.Seconds())
	to.gauge(historyWaiting, float64(h.StoreWaiting))
	to.gauge(historyAway, h.StoreBehind.Seconds())
	to.gauge(historyOlder, float64(h.StoreOlder))
	to.gauge(tailsBytes, float64(h.Tails.Bytes))
	to.gauge(tailsWaiting, float64(h.Tails.Waiting))
	to.gauge(tailsBehind, h.Tails.Behind.Seconds())
	to <- prometheus.MustNewConstMetric(tailsDropped, prometheus.CounterValue, float64(h.Tails.Dropped))
	to <- prometheus.MustNewConstMetric(historyFreed, prometheus.CounterValue, float64(h.Freed))
	to <- prometheus.MustNewConstMetric(historyMissed, prometheus.CounterValue, float64(h.Missed))
}

func (m metric) fill(now, most *prometheus.Desc, of Fill) {
	m.gauge(now, float64(of.Now))
	m.gauge(most, float64(of.Max))
}

// seconds is a time as Prometheus has it.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
