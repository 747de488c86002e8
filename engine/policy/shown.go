package policy

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// shownStatus is a policy's status in the form that may be shown: within its
// bounds, and without characters that would steer a terminal.
func shownStatus(s scheduler.Status) (scheduler.Status, error) {
	if err := s.Check(); err != nil {
		return scheduler.Status{}, newError(Unfit, "Status", err)
	}
	for i := range s.Pools {
		p := &s.Pools[i]
		p.Name, p.Parent, p.Kind = scheduler.Printable(p.Name), scheduler.Printable(p.Parent), scheduler.Printable(p.Kind)
	}
	for i := range s.Queue {
		s.Queue[i].Why = scheduler.Printable(s.Queue[i].Why)
	}
	showFacts(s.Facts)
	return s, nil
}

// shownExplanation is the same for an explanation.
func shownExplanation(e scheduler.Explanation) (scheduler.Explanation, error) {
	if err := e.Check(); err != nil {
		return scheduler.Explanation{}, newError(Unfit, "Explain", err)
	}
	e.Detail = scheduler.Printable(e.Detail)
	showFacts(e.Facts)
	return e, nil
}

// shownPage is a policy's page, if it can be sent as a page.
func shownPage(a scheduler.Answer) (scheduler.Answer, error) {
	if err := a.Check(); err != nil {
		return scheduler.Answer{}, newError(Unfit, "Page", err)
	}
	return a, nil
}

func noPages() error         { return errorf(Invalid, "Page", "the policy has no pages beside the log") }
func noAuthenticator() error { return errorf(Invalid, "Prove", "the policy has no authenticator") }

func showFacts(facts []scheduler.Property) {
	for i, f := range facts {
		facts[i] = scheduler.Property{Name: scheduler.Printable(f.Name), Value: scheduler.Printable(f.Value)}
	}
}

// tooLargeToShow turns the refusal of an oversized answer into one that does no harm to the policy:
// an answer for display must not end it.
func tooLargeToShow(op string, err error) error {
	if status.Code(err) != codes.ResourceExhausted {
		return err
	}
	return newError(Unfit, op, fmt.Errorf("the answer is larger than %d bytes: the policy must show less", answerBytesDefault))
}
