package policytest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// pagesOnce is the number of pages requested at once, besides Explain and Status.
const pagesOnce = 3

// An authenticator runs in a plug-in's shell, which the kit does not start. The policy gets its
// possible results all the same: proved and unproved names, roles that authenticators give, and an
// unknown role.
var askers = []scheduler.Principal{
	{Name: "reader", Proof: scheduler.Unproven},
	{Proof: scheduler.Unproven},
	{Name: "user-0", Proof: "kit", Role: "user"},
	{Name: "user-1", Proof: "kit", Role: "user"},
	{Name: "root", Proof: "kit", Role: "admin"},
	{Name: "root", Proof: "kit", Role: "no-such-role"},
	{Name: "<b>&\"' \u00e9", Proof: "kit", Role: "user"},
}

// queries are such as any client may send; the manager has checked that they are UTF-8.
var queries = []string{
	"", "x=1&x=2", "=", "&&&", "%", "%zz", "%00", "%ff%fe", "a=%0a%0d", "<script>", "q=" + strings.Repeat("9", 400),
	strings.Repeat("a=1&", 10_000),
}

var (
	pagePaths = []string{"/", "/", "/no/such/page", "/../x", "/%2e%2e/", "/" + strings.Repeat("p", 2000)}
	accepts   = []string{"", "*/*", "application/json", "text/html, application/json;q=0.5", "\u00e9;;,"}
	methods   = []string{"GET", "GET", "HEAD", "POST"}
)

// asked draws a request, now and then with the policy's own queries.
func (o Options) asked(rng *rand.Rand, now scheduler.Time) scheduler.PageAsked {
	q := scheduler.PageAsked{
		At: now, Principal: pick(rng, askers), Method: pick(rng, methods), Path: pick(rng, pagePaths), Query: pick(rng, queries), Accept: pick(rng, accepts),
	}
	if len(o.Queries) > 0 && rng.IntN(3) > 0 {
		q.Path, q.Query = "/", pick(rng, o.Queries)
	}
	if q.Method == "POST" && rng.IntN(2) == 0 {
		q.Body, q.Query = []byte(q.Query), ""
	}
	switch rng.IntN(6) {
	case 0:
		q.At = now.Add(-time.Minute) // before the last round
	case 1:
		q.At = now.Add(time.Minute)
	}
	return q
}

func pick[T any](rng *rand.Rand, of []T) T { return of[rng.IntN(len(of))] }

// requests plans the logged requests to the policy.
func (p *planner) requests() {
	rng := rand.New(rand.NewPCG(p.seed, 6)) //nolint:gosec // seeded on purpose
	var times []time.Duration
	for range 8 {
		times = append(times, time.Duration(rng.Int64N(int64(2*span))))
	}
	slices.Sort(times)
	for _, at := range times {
		q := p.o.asked(rng, 0)
		p.at(at, 0, fmt.Sprintf("%s %.60s?%.60s is requested", q.Method, q.Path, q.Query), func(c *cluster.Cluster, _ Options) {
			c.Ask(scheduler.Requested{
				At: c.Now() + q.At, Principal: q.Principal, Method: q.Method, Path: q.Path, Query: q.Query, Accept: q.Accept, Body: q.Body,
			})
		})
	}
}

// pages requests unlogged pages. They must change nothing, which a second play of the game without
// them checks, and must be the same when requested twice.
func (p *player) pages() {
	if !p.c.Has(scheduler.AbilityPageHandler) {
		return
	}
	for range pagesOnce {
		q := p.options.asked(p.asks, p.c.Now())
		var first scheduler.Answer
		for i := range 2 {
			a, err := p.driver.Page(p.ctx, q)
			p.report.Pages++
			if err == nil {
				err = a.Check()
			}
			if err == nil {
				err = checkPage(a)
			}
			switch {
			case err != nil:
				p.report.problem(p.game.name, "the page %s %.60s?%.60s, asked for by %q: %v", q.Method, q.Path, q.Query, q.Principal.Name, err)
				return
			case i == 0:
				first = a
			case a.Status != first.Status || a.ContentType != first.ContentType || !bytes.Equal(a.Body, first.Body):
				p.report.problem(p.game.name, "the page %s %.60s?%.60s, asked for twice between two rounds, is\n%d %.500s\nand\n%d %.500s",
					q.Method, q.Path, q.Query, first.Status, first.Body, a.Status, a.Body)
				return
			}
		}
	}
}
