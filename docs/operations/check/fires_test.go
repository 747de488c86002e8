package check

import (
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

// quiet are the series of a healthy cluster, a sample every 30 seconds. Counters rise as they do
// there.
var quiet = map[string]string{
	`up{job="hamadryad-manager",instance="m1"}`:                                     `1x150`,
	`up{job="hamadryad-launchers",instance="n1"}`:                                   `1x150`,
	`hamadryad_policy_state{state="starting",instance="m1"}`:                        `0x150`,
	`hamadryad_policy_state{state="failed",instance="m1"}`:                          `0x150`,
	`hamadryad_policy_state{state="fallback",instance="m1"}`:                        `0x150`,
	`hamadryad_policy_state{state="running",instance="m1"}`:                         `1x150`,
	`hamadryad_policy_restarts_total{instance="m1"}`:                                `1x150`,
	`hamadryad_rounds_slow_total{instance="m1"}`:                                    `4x150`,
	`hamadryad_log_stalled{instance="m1"}`:                                          `0x150`,
	`hamadryad_log_sync_seconds_bucket{le="0.5",instance="m1"}`:                     `0+100x150`,
	`hamadryad_log_sync_seconds_bucket{le="1",instance="m1"}`:                       `0+100x150`,
	`hamadryad_log_sync_seconds_bucket{le="+Inf",instance="m1"}`:                    `0+100x150`,
	`hamadryad_checkpoints_failed_total{instance="m1"}`:                             `1x150`,
	`hamadryad_inbox_entries{instance="m1"}`:                                        `10x150`,
	`hamadryad_inbox_max_entries{instance="m1"}`:                                    `100x150`,
	`hamadryad_inbox_bytes{instance="m1"}`:                                          `10x150`,
	`hamadryad_inbox_max_bytes{instance="m1"}`:                                      `100x150`,
	`hamadryad_audit_stalled{instance="m1"}`:                                        `0x150`,
	`hamadryad_history_behind_seconds{instance="m1"}`:                               `0x150`,
	`hamadryad_history_removed_for_room_total{instance="m1"}`:                       `8x150`,
	`hamadryad_history_damaged_files{instance="m1"}`:                                `0x150`,
	`hamadryad_history_store_behind_seconds{instance="m1"}`:                         `0x150`,
	`hamadryad_history_tails_behind_seconds{instance="m1"}`:                         `0x150`,
	`hamadryad_history_store_older_bytes{instance="m1"}`:                            `0x150`,
	`hamadryad_launchers{state="excluded",instance="m1"}`:                           `0x150`,
	`hamadryad_launchers{state="up",instance="m1"}`:                                 `20x150`,
	`hamadryad_launchers_lost_total{instance="m1"}`:                                 `3x150`,
	`hamadryad_launchers_left_total{instance="m1"}`:                                 `0+1x150`,
	`hamadryad_jobs_waiting{fits="yes",instance="m1"}`:                              `1x150`,
	`hamadryad_jobs_waiting{fits="no",instance="m1"}`:                               `4x150`,
	`hamadryad_slots_free{kind="default",instance="m1"}`:                            `0x150`,
	`hamadryad_pool_below_minimum_seconds{pool="etl",kind="default",instance="m1"}`: `0x150`,
	`hamadryad_pool_below_share_seconds{pool="etl",kind="default",instance="m1"}`:   `0x150`,
	`hamadryad_pool_slots_held{pool="etl",kind="default",instance="m1"}`:            `4x150`,
	`hamadryad_jobs{instance="m1"}`:                                                 `5x150`,
	`hamadryad_slots{kind="default",instance="m1"}`:                                 `8x150`,
	`hamadryad_schedule_late_seconds{instance="m1"}`:                                `1x150`,
	`hamadryad_schedule_due_without_run_total{reason="missed",instance="m1"}`:       `2x150`,
	`hamadryad_schedule_due_without_run_total{reason="skipped",instance="m1"}`:      `0+1x150`,
	`hamadryad_schedule_runs_ended_total{outcome="succeeded",instance="m1"}`:        `0+1x150`,
	`hamadryad_schedule_runs_ended_total{outcome="failed",instance="m1"}`:           `4x150`,
	`hamadryad_schedule_runs_ended_total{outcome="missed",instance="m1"}`:           `1x150`,
	`hamadryad_schedule_runs_ended_total{outcome="lost",instance="m1"}`:             `0x150`,
	`hamadryad_config_wrong{instance="m1"}`:                                         `0x150`,
	`hamadryad_launcher_config_wrong{instance="n1"}`:                                `0x150`,
	`hamadryad_certificate_expiry_timestamp_seconds{instance="m1"}`:                 `31536000x150`,
	`hamadryad_launcher_certificate_expiry_timestamp_seconds{instance="n1"}`:        `604800x150`,
}

// fires are changes to a well cluster, each by which an alert is to fire. "_" is no sample.
var fires = []struct {
	alert  string // or several
	series map[string]string
	says   string // in the summary, as it is sent
}{
	{"HamadryadManagerDown", map[string]string{`up{job="hamadryad-manager",instance="m1"}`: `1x39 0x40 1x40`}, "does not answer"},
	{"HamadryadManagerDown", map[string]string{`up{job="hamadryad-manager",instance="m1"}`: `1x39 stale _x39 1x40`}, "does not answer"},
	{"HamadryadNoPolicyDecides", map[string]string{`hamadryad_policy_state{state="failed",instance="m1"}`: `0x39 1x40 0x40`}, "The policy is failed"},
	{"HamadryadNoPolicyDecides", map[string]string{`hamadryad_policy_state{state="starting",instance="m1"}`: `0x39 1x40 0x40`}, "The policy is starting"},
	{"HamadryadPolicyFallback", map[string]string{`hamadryad_policy_state{state="fallback",instance="m1"}`: `0x39 1x40 0x40`}, "fallback"},
	{"HamadryadPolicyRestarts", map[string]string{`hamadryad_policy_restarts_total{instance="m1"}`: `1x39 2+1x5 7x75`}, "times in 15 minutes"},
	{"HamadryadSlowRounds", map[string]string{`hamadryad_rounds_slow_total{instance="m1"}`: `4x39 5+2x10 25x70`}, "slowly"},
	{"HamadryadLogStalled", map[string]string{`hamadryad_log_stalled{instance="m1"}`: `0x39 1x40 0x40`}, "disk is full"},
	{"HamadryadLogSlow", map[string]string{`hamadryad_log_sync_seconds_bucket{le="0.5",instance="m1"}`: `0+100x39 3900+95x40 7700+100x40`}, "half a second"},
	{"HamadryadCheckpointsFail", map[string]string{`hamadryad_checkpoints_failed_total{instance="m1"}`: `1x39 2+1x10 12x70`}, "Checkpoints can't be made"},
	{"HamadryadInboxNearItsBound", map[string]string{`hamadryad_inbox_entries{instance="m1"}`: `10x39 90x40 10x40`}, "90% full"},
	{"HamadryadInboxNearItsBound", map[string]string{`hamadryad_inbox_bytes{instance="m1"}`: `10x39 95x40 10x40`}, "95% full"},
	{"HamadryadAuditStalled", map[string]string{`hamadryad_audit_stalled{instance="m1"}`: `0x39 1x40 0x40`}, "no change is taken"},
	{"HamadryadHistoryBehind", map[string]string{`hamadryad_history_behind_seconds{instance="m1"}`: `0x39 30+30x39 0x40`}, "could not be written for"},
	{"HamadryadHistoryDiskFull", map[string]string{`hamadryad_history_removed_for_room_total{instance="m1"}`: `8x39 16x80`}, "disk is full"},
	{"HamadryadHistoryDamaged", map[string]string{`hamadryad_history_damaged_files{instance="m1"}`: `0x39 2x40 0x40`}, "2 files of history"},
	{"HamadryadHistoryStoreAway", map[string]string{`hamadryad_history_store_behind_seconds{instance="m1"}`: `0x9 30+30x80 0x60`}, "could not be used for"},
	{"HamadryadLogTailsBehind", map[string]string{`hamadryad_history_tails_behind_seconds{instance="m1"}`: `0x39 30+30x39 0x40`}, "could not be written for"},
	{"HamadryadHistoryStoreShared", map[string]string{`hamadryad_history_store_older_bytes{instance="m1"}`: `0x39 2048x40 0x40`}, "2kiB"},
	{"HamadryadLaunchersExcluded", map[string]string{`hamadryad_launchers{state="excluded",instance="m1"}`: `0x39 2x40 0x40`}, "2 launchers are excluded"},
	{"HamadryadLaunchersLost", map[string]string{`hamadryad_launchers_lost_total{instance="m1"}`: `3x39 4x80`}, "Launchers were lost"},
	{"HamadryadManyLaunchersLost HamadryadLaunchersLost", map[string]string{`hamadryad_launchers_lost_total{instance="m1"}`: `3x39 9x80`}, "were lost"},
	{"HamadryadSlotsIdle", map[string]string{`hamadryad_slots_free{kind="default",instance="m1"}`: `0x39 2x60 0x40`}, "1 jobs wait"},
	{"HamadryadPoolBelowMinimum", map[string]string{`hamadryad_pool_below_minimum_seconds{pool="etl",kind="default",instance="m1"}`: `0x39 0+30x39 0x40`}, "pool etl has had less than its minimum"},
	{"HamadryadPoolStarved", map[string]string{
		`hamadryad_pool_below_share_seconds{pool="etl",kind="default",instance="m1"}`: `0x9 0+30x100 0x40`,
		`hamadryad_pool_slots_held{pool="etl",kind="default",instance="m1"}`:          `4x9 0x140`,
	}, "pool etl has wanted default slots"},
	{"HamadryadNoLauncherIsUp", map[string]string{`hamadryad_slots{kind="default",instance="m1"}`: `8x39 0x40 8x40`}, "no launcher has a slot"},
	{"HamadryadNoLauncherIsUp", map[string]string{`hamadryad_slots{kind="default",instance="m1"}`: `8x39 stale _x39 8x40`}, "no launcher has a slot"},
	{"HamadryadScheduleRunsMissed", map[string]string{`hamadryad_schedule_runs_ended_total{outcome="missed",instance="m1"}`: `1x39 3x80`}, "About 2 runs of schedules were missed"},
	{"HamadryadScheduleRunsMissed", map[string]string{`hamadryad_schedule_due_without_run_total{reason="missed",instance="m1"}`: `2x39 7x80`}, "runs of schedules were missed"},
	{"HamadryadScheduleRunnerAway", map[string]string{`hamadryad_schedule_late_seconds{instance="m1"}`: `0x39 0+30x39 0x40`}, "has waited for a runner for"},
	{"HamadryadScheduleRunsFail", map[string]string{`hamadryad_schedule_runs_ended_total{outcome="failed",instance="m1"}`: `4x39 5x80`}, "About 1 runs of schedules ended as failed"},
	{"HamadryadScheduleRunsFail", map[string]string{`hamadryad_schedule_runs_ended_total{outcome="lost",instance="m1"}`: `0x39 1x80`}, "ended as lost"},
	{"HamadryadConfigurationWrong", map[string]string{`hamadryad_config_wrong{instance="m1"}`: `0x39 1x40 0x40`}, "configuration of m1"},
	{"HamadryadConfigurationWrong", map[string]string{`hamadryad_launcher_config_wrong{instance="n1"}`: `0x39 1x40 0x40`}, "configuration of n1"},
	{"HamadryadCertificateEnds", map[string]string{`hamadryad_certificate_expiry_timestamp_seconds{instance="m1"}`: `31536000x39 864000x40 31536000x40`}, "ends in 9d"},
	{"HamadryadLauncherCertificateEnds", map[string]string{`hamadryad_launcher_certificate_expiry_timestamp_seconds{instance="n1"}`: `604800x1 43200x130 604800x20`}, "launcher n1 ends in"},
}

// Each alert fires for its own cause, and for no other; none fires while a cluster is healthy.
func TestAlertsFire(t *testing.T) {
	if fired := firing(t, nil, time.Hour); len(fired) > 0 {
		t.Errorf("in a cluster that is well: %v", fired)
	}
	var silent []string
	for _, r := range load(t, rules.ManagerOptions{}) {
		silent = append(silent, r.Name())
	}
	for _, f := range fires {
		length := time.Hour
		if strings.Contains(f.alert, "LauncherCertificate") {
			length = 70 * time.Minute // it waits an hour
		}
		fired := firing(t, f.series, length)
		alerts := strings.Fields(f.alert)
		for _, name := range alerts {
			if !strings.Contains(fired[name], f.says) || len(fired) != len(alerts) {
				t.Errorf("%s by %v: fired are %v", f.alert, f.series, fired)
			}
		}
		silent = slices.DeleteFunc(silent, func(name string) bool { return slices.Contains(alerts, name) })
	}
	if len(silent) > 0 {
		t.Errorf("no series here are for %v", silent)
	}
}

// load reads the rules as Prometheus does.
func load(t *testing.T, o rules.ManagerOptions) (all []*rules.AlertingRule) {
	t.Helper()
	o.Logger, o.Context, o.Parser = slog.New(slog.DiscardHandler), t.Context(), parser.NewParser(parser.Options{})
	groups, errs := rules.NewManager(&o).LoadGroups(every, labels.EmptyLabels(), "", nil, false, "../alerts.yaml")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		for _, r := range groups[name].Rules() {
			all = append(all, r.(*rules.AlertingRule))
		}
	}
	return all
}

// every is how often rules are evaluated, and series have a sample.
const every = 30 * time.Second

// firing has Prometheus evaluate all rules over the series of a cluster that is well but for some,
// and returns the summaries of the alerts that fired.
func firing(t *testing.T, changed map[string]string, length time.Duration) map[string]string {
	t.Helper()
	series := maps.Clone(quiet)
	maps.Copy(series, changed)
	var text strings.Builder
	text.WriteString("load 30s\n")
	for _, name := range slices.Sorted(maps.Keys(series)) {
		text.WriteString("  " + name + " " + series[name] + "\n")
	}
	storage := promqltest.LoadedStorage(t, text.String())
	ask := rules.EngineQueryFunc(promqltest.NewTestEngine(t, false, 0, 1_000_000), storage)
	all, fired := load(t, rules.ManagerOptions{QueryFunc: ask, Queryable: storage}), map[string]string{}
	for passed := time.Duration(0); passed <= length; passed += every {
		for _, r := range all {
			if _, err := r.Eval(t.Context(), 0, time.Unix(0, 0).Add(passed), ask, &url.URL{}, 0); err != nil {
				t.Fatal(r.Name(), err)
			}
			for _, a := range r.ActiveAlerts() {
				if a.State == rules.StateFiring {
					fired[r.Name()] = a.Annotations.Get("summary")
				}
			}
		}
	}
	return fired
}
