package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
)

// gated is the policy of Gated.
type gated struct{ plugintest.Policy }

// Start begins as the good one does.
func (p *gated) Start(c scheduler.Config, s scheduler.Snapshot, env scheduler.Environment) (scheduler.Description, error) {
	d, err := p.Policy.Start(c, s, env)
	d.Name, d.Abilities = "gated", scheduler.AbilityLoggedRequests
	return d, err
}

// AssignTasks answers changes, each with a note.
func (p *gated) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	d, err := p.Policy.AssignTasks(r)
	for _, e := range r.Events {
		if q, ok := e.(scheduler.Requested); ok {
			d.Notes = append(d.Notes, scheduler.Note{Name: "changed", Body: []byte(q.Query)})
			d.Answers = append(d.Answers, scheduler.Answer{
				Request: q.Request, Status: 200, Body: fmt.Appendf(nil, "%s for %s, %s", q.Query, q.Principal.Name, q.Principal.Role),
			})
		}
	}
	return d, err
}

// Page answers.
func (p *gated) Page(q scheduler.PageAsked) (scheduler.Answer, error) {
	if q.Query == "fail" {
		return scheduler.Answer{}, errors.New("no page on purpose")
	}
	return scheduler.Answer{Status: 200, Body: fmt.Appendf(nil, "%s?%s for %s, %s", q.Path, q.Query, q.Principal.Name, q.Principal.Role)}, nil
}

// authenticator is its shell.
type authenticator struct{}

// Run appends notes to a file.
func (*authenticator) Run(ctx context.Context, of serve.Surroundings) error {
	if of.Environment.Store == "" {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(of.Environment.Store, "notes"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		select {
		case n := <-of.Notes:
			if _, err := fmt.Fprintf(f, "%s\n", n.Body); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// Prove judges.
func (*authenticator) Prove(ctx context.Context, c scheduler.Credentials) (scheduler.Proof, error) {
	word, name := "", c.Principal.Name
	if c.Purpose == scheduler.PurposeSubmit {
		for _, p := range c.Properties {
			if p.Name == scheduler.ProofSignature {
				var other string
				if word, other, _ = strings.Cut(p.Value, " "); other != "" {
					name = other
				}
			}
		}
	} else {
		word, name, _ = strings.Cut(c.Authorization, " ")
	}
	query, _, _ := strings.Cut(c.Request.Query, "&secret=")
	if strings.HasPrefix(query, "set=known") && c.Principal.Proof != scheduler.Unproven && word == "" {
		word, name = "sesame", c.Principal.Name
	}
	switch word {
	case "sesame":
		return scheduler.Proof{
			Principal: scheduler.Principal{Name: name, Proof: "word", Role: "user"}, Query: query, Changes: strings.HasPrefix(query, "set"),
		}, nil
	case "sleep":
		<-ctx.Done()
		return scheduler.Proof{}, ctx.Err()
	case "down":
		return scheduler.Proof{}, errors.New("the keys can't be read on purpose")
	}
	return scheduler.Proof{Denied: &scheduler.Answer{Status: 500, Body: []byte("ACCESS DENIED: " + query)}}, nil
}
