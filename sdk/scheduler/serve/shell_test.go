package serve

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
)

// round gives the policy a round of these events.
func round(t *testing.T, c rpc.TaskSchedulerClient, number uint64, events ...scheduler.Event) {
	t.Helper()
	m, err := schedwire.NewRound(&scheduler.Round{Number: number, Events: events})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.AssignTasks(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

func durable(t *testing.T, c rpc.TaskSchedulerClient, number uint64) {
	t.Helper()
	if _, err := c.Durable(t.Context(), &rpc.DurableRound{Round: number}); err != nil {
		t.Fatal(err)
	}
}

// A note reaches the shell once the policy has received it and the manager has it on disk, neither
// sooner nor twice.
func TestNotesReachTheShellWhenTheyAreDurable(t *testing.T) {
	var got []string
	shell := func(ctx context.Context, of Surroundings) error {
		for {
			select {
			case n := <-of.Notes:
				got = append(got, n.Name)
			case <-ctx.Done():
				return nil
			}
		}
	}
	connected(t, ShellFunc(shell), func(t *testing.T, c rpc.TaskSchedulerClient, _ *policy) {
		if _, err := begin(t, c, 0); err != nil {
			t.Fatal(err)
		}
		note := func(name string) scheduler.Event { return scheduler.Noted{Note: scheduler.Note{Name: name}} }
		for _, step := range []struct {
			do   func()
			want []string
		}{
			{func() { round(t, c, 1, note("a"), scheduler.TimePassed{}, note("b")) }, nil},
			{func() { round(t, c, 2, note("c")) }, nil},
			{func() { durable(t, c, 1) }, []string{"a", "b"}},
			{func() { durable(t, c, 1) }, []string{"a", "b"}},
			{func() { round(t, c, 3, note("d")) }, []string{"a", "b"}},
			{func() { durable(t, c, 3) }, []string{"a", "b", "c", "d"}},
			{func() { durable(t, c, 5) }, []string{"a", "b", "c", "d"}}, // before the policy gets the round
			{func() { round(t, c, 5, note("e")) }, []string{"a", "b", "c", "d", "e"}},
			{func() { round(t, c, 6, note("f")) }, []string{"a", "b", "c", "d", "e"}},
		} {
			step.do()
			synctest.Wait()
			if !slices.Equal(got, step.want) {
				t.Fatalf("the shell has %q, want %q", got, step.want)
			}
		}
	})
}

// startWith starts the policy in an environment, with settings.
func startWith(t *testing.T, c rpc.TaskSchedulerClient, env scheduler.Environment, config scheduler.Config) scheduler.Description {
	t.Helper()
	e, err := schedwire.NewEnvironment(env)
	if err != nil {
		t.Fatal(err)
	}
	k, err := schedwire.NewConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := schedwire.NewSnapshot(&scheduler.Snapshot{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := c.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&rpc.StartPart{Config: k, Environment: e, Page: pages[0]}); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.CloseAndRecv()
	if err != nil {
		t.Fatal(err)
	}
	d, err := answer.GetDescription().Decode()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// guard is an authenticator that lets one name in.
type guard struct {
	of   chan Surroundings // Run's argument
	with chan scheduler.Config
}

func (g *guard) Run(ctx context.Context, of Surroundings) error {
	g.of <- of
	for {
		select {
		case c := <-of.Settings:
			g.with <- c
		case <-ctx.Done():
			return nil
		}
	}
}

func (g *guard) Prove(_ context.Context, c scheduler.Credentials) (scheduler.Proof, error) {
	switch c.Authorization {
	case "alice":
		return scheduler.Proof{Principal: scheduler.Principal{Name: "alice", Proof: "word", Role: "user"}}, nil
	case "panic":
		panic("on purpose")
	case "down":
		return scheduler.Proof{}, errors.New("the list of keys can't be read")
	}
	return scheduler.Proof{Denied: &scheduler.Answer{Status: 500, Body: []byte("ACCESS DENIED")}}, nil
}

func TestGate(t *testing.T) {
	g := &guard{of: make(chan Surroundings, 1), with: make(chan scheduler.Config, 1)}
	connected(t, g, func(t *testing.T, c rpc.TaskSchedulerClient, p *policy) {
		d := startWith(t, c, scheduler.Environment{Store: "/store"}, scheduler.Config{Text: []byte("a: 1")})
		if !d.Abilities.Has(scheduler.AbilityAuthenticator) {
			t.Errorf("abilities %b are without the authenticator", d.Abilities)
		}
		if of := <-g.of; of.Environment.Store != "/store" || string(of.Config.Text) != "a: 1" {
			t.Errorf("the shell was given %+v", of)
		}
		ask := func(who string) (scheduler.Proof, error) {
			m, err := schedwire.NewCredentials(scheduler.Credentials{Purpose: scheduler.PurposeSubmit, Authorization: who})
			if err != nil {
				t.Fatal(err)
			}
			answer, err := c.Prove(t.Context(), m)
			if err != nil {
				return scheduler.Proof{}, err
			}
			return answer.Decode()
		}
		if proof, err := ask("alice"); err != nil || proof.Principal.Name != "alice" || proof.Denied != nil {
			t.Errorf("alice: %+v, %v", proof, err)
		}
		if proof, err := ask("mallory"); err != nil || proof.Denied == nil || proof.Denied.Status != 500 {
			t.Errorf("mallory: %+v, %v", proof, err)
		}
		for _, who := range []string{"down", "panic"} {
			if _, err := ask(who); status.Code(err) != codes.Unavailable {
				t.Errorf("%s: %v", who, err)
			}
		}
		// Only settings that the policy accepts reach the shell.
		p.verdicts = []scheduler.SettingsVerdict{
			{Version: 1, Problems: []scheduler.Problem{{Message: "no"}}}, {Version: 2, Abilities: scheduler.AbilityLoggedRequests},
		}
		round(t, c, 1, scheduler.SettingChanged{Version: 1, Config: scheduler.Config{Text: []byte("b: 1")}},
			scheduler.SettingChanged{Version: 2, Config: scheduler.Config{Text: []byte("c: 1")}})
		if with := <-g.with; string(with.Text) != "c: 1" {
			t.Errorf("the shell was told of settings %q", with.Text)
		}
		if p.answered.Settings[1].Abilities != scheduler.AbilityLoggedRequests|scheduler.AbilityPageHandler|scheduler.AbilityAuthenticator {
			t.Errorf("the verdict's abilities are %b", p.answered.Settings[1].Abilities)
		}
	})
}

// Where nothing real may be touched no shell runs, and so nothing is proved.
func TestNoShellInSimulations(t *testing.T) {
	for _, env := range []scheduler.Environment{{Simulated: true}, {Replayed: true}} {
		g := &guard{of: make(chan Surroundings, 1)}
		connected(t, g, func(t *testing.T, c rpc.TaskSchedulerClient, _ *policy) {
			if d := startWith(t, c, env, scheduler.Config{}); d.Abilities.Has(scheduler.AbilityAuthenticator) {
				t.Errorf("%+v: an authenticator that does not run was declared", env)
			}
			synctest.Wait()
			if len(g.of) > 0 {
				t.Errorf("%+v: the shell runs", env)
			}
		})
	}
}

func TestPages(t *testing.T) {
	connected(t, nil, func(t *testing.T, c rpc.TaskSchedulerClient, p *policy) {
		m, err := schedwire.NewPageAsked(scheduler.PageAsked{Path: "/price", Query: "a=b"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Page(t.Context(), m); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("a page before the start: %v", err)
		}
		if d := startWith(t, c, scheduler.Environment{}, scheduler.Config{}); !d.Abilities.Has(scheduler.AbilityPageHandler) {
			t.Errorf("abilities %b are without pages", d.Abilities)
		}
		answer, err := c.Page(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		if a, err := answer.Decode(); err != nil || a.Status != 200 || string(a.Body) != "/price?a=b" {
			t.Errorf("page %+v, %v", a, err)
		}
		p.pageFails = errors.New("no price yet")
		if _, err := c.Page(t.Context(), m); status.Code(err) != codes.Aborted || !strings.Contains(err.Error(), "no price yet") {
			t.Errorf("a page that fails: %v", err)
		}
	})
}

// TestAPageThatIsMadeLater holds no round up, and one that panics then ends nothing.
func TestAPageThatIsMadeLater(t *testing.T) {
	connected(t, nil, func(t *testing.T, c rpc.TaskSchedulerClient, p *policy) {
		startWith(t, c, scheduler.Environment{}, scheduler.Config{})
		p.later, p.played = make(chan struct{}), make(chan struct{})
		later := p.later
		type result struct {
			page *schedwire.Page
			err  error
		}
		done := make(chan result, 1)
		page := func(path string) (*schedwire.Page, error) {
			m, err := schedwire.NewPageAsked(scheduler.PageAsked{Path: path})
			if err != nil {
				return nil, err
			}
			return c.Page(t.Context(), m)
		}
		go func() {
			a, err := page("/later")
			done <- result{a, err}
		}()
		<-later
		round(t, c, 1)
		r := <-done
		if r.err != nil {
			t.Fatal(r.err)
		}
		if a, err := r.page.Decode(); err != nil || a.Status != 200 || string(a.Body) != "/later?" {
			t.Errorf("%+v, %v", a, err)
		}
		if _, err := page("/panics"); status.Code(err) != codes.Aborted || !strings.Contains(err.Error(), "it panicked: no page") {
			t.Errorf("a page that panics: %v", err)
		}
		round(t, c, 2)
	})
}
