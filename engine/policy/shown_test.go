package policy_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// A panic in a call that only reads is reported with that call, its text and its stack, also by
// later calls. It ends the policy, since its state may be inconsistent.
func TestPanicIsBlamedOnItsCall(t *testing.T) {
	for b, want := range map[plugintest.Behaviour][]string{
		plugintest.PanicInExplain: {"policy Explain: panic", "no word on purpose", "main.(*policy).Explain"},
		plugintest.PanicInStatus:  {"policy Status: panic", "no status on purpose", "main.(*policy).Status"},
	} {
		t.Run(string(b), func(t *testing.T) {
			h, _ := launch(t, b)
			start(t, h)
			first := look(h, b)
			mustEnd(t, h)
			_, later := h.AssignTasks(within(t), smallRound(1))
			for who, err := range map[string]error{"the call": first, "the end": h.Err(), "a later round": later} {
				if policy.KindOf(err) != policy.Panicked {
					t.Errorf("%s: %v", who, err)
				}
				for _, w := range want {
					if !strings.Contains(fmt.Sprint(err), w) {
						t.Errorf("%s does not say %q: %v", who, w, err)
					}
				}
			}
		})
	}
}

func look(h policy.Host, b plugintest.Behaviour) error {
	if b == plugintest.PanicInExplain {
		_, err := h.Explain(context.Background(), 1)
		return err
	}
	_, err := h.Status(context.Background())
	return err
}

// What can't be shown is refused with its place, and costs nothing but the view.
func TestStatusThatCannotBeShown(t *testing.T) {
	for b, want := range map[plugintest.Behaviour]string{
		plugintest.NaNStatus:     `policy Status: unfit answer: pool 0 ("pool-a"): FairShare is NaN: it must be a finite number`,
		plugintest.HugeStatus:    "policy Status: unfit answer: the answer is larger than 4194304 bytes",
		plugintest.ErrorInStatus: "policy Status: policy fault: Status: no status on purpose",
	} {
		t.Run(string(b), func(t *testing.T) {
			h, _ := launch(t, b)
			start(t, h)
			if _, err := h.Status(within(t)); !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%v; want %q", err, want)
			}
			if _, err := h.AssignTasks(within(t), smallRound(1)); err != nil {
				t.Errorf("a round after it: %v", err)
			}
		})
	}
	t.Run("bell", func(t *testing.T) {
		h, _ := launch(t, plugintest.BellStatus)
		start(t, h)
		s, err := h.Status(within(t))
		if err != nil || s.Pools[0].Name != `a\x1b[2J\a\xff\n` {
			t.Errorf("%+v, error %v", s.Pools, err)
		}
	})
}

// A child that left the plug-in's group and session does not outlive it, whether the
// plug-in is closed or killed.
func TestDaemonDoesNotOutliveThePlugIn(t *testing.T) {
	for name, end := range map[string]func(policy.Host){
		"closed": policy.Host.Close,
		"killed": func(h policy.Host) {
			if p, err := os.FindProcess(h.PID()); err == nil {
				_ = p.Kill()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, book := launch(t, plugintest.Daemon)
			start(t, h)
			pid := daemonOf(t, book)
			end(h)
			mustEnd(t, h)
			eventually(t, "the child is gone", func() bool {
				_, err := os.Stat("/proc/" + pid + "/exe")
				exe, _ := os.Readlink("/proc/" + pid + "/exe")
				return err != nil || exe == ""
			})
		})
	}
}

var daemonSaid = regexp.MustCompile(`daemon pid=(\d+)`)

func daemonOf(t *testing.T, book *proctest.Output) string {
	t.Helper()
	eventually(t, "the child is named", func() bool { return daemonSaid.MatchString(book.String()) })
	return daemonSaid.FindStringSubmatch(book.String())[1]
}

// Memory and checksum of what runs are known.
func TestHostTellsOfItsProgram(t *testing.T) {
	h, _ := launch(t, plugintest.Good)
	start(t, h)
	eventually(t, "its memory is known", func() bool { used, bound := h.Memory(); return used > 1<<20 && bound == 256<<20 })
	if len(h.Checksum()) != 64 {
		t.Errorf("checksum %q", h.Checksum())
	}
}
