package show

import (
	"encoding/json"
	"fmt"
)

// Queues is an answer of the policy dynamic-priority: the price, or the queues.
type Queues struct {
	Price  *json.Number `json:"price"`
	Queues []Queue      `json:"queues"`
	Error  string       `json:"error"` // why it does not
}

// Queue is the account of one user, as the policy writes it.
type Queue struct {
	Name     string      `json:"name"`
	Budget   json.Number `json:"budget"`   // credits
	Spending json.Number `json:"spending"` // credits that it bids for a slot and an interval
	Share    json.Number `json:"share"`    // of all slots, 0 to 1
	Used     int         `json:"used"`     // slots
	Pending  int         `json:"pending"`  // slots that it could use now
}

// Queues shows the policy's answer. Where it has no queues, it prints empty, unless that is "".
func (c *Printer) Queues(q *Queues, empty string) error {
	switch {
	case c.structured() && q.Price != nil:
		return c.value(struct {
			Price json.Number `json:"price"`
		}{*q.Price})
	case c.structured():
		return c.value(append([]Queue{}, q.Queues...))
	case q.Price != nil:
		_, err := fmt.Fprintln(c.Out, *q.Price)
		return err
	case len(q.Queues) == 0 && empty == "":
		return nil
	case len(q.Queues) == 0:
		return c.none(empty)
	}
	t := c.table("QUEUE", "BUDGET", "SPENDING", "SHARE", "USED", "PENDING")
	for _, x := range q.Queues {
		t.row(x.Name, x.Budget.String(), x.Spending.String(), x.Share.String(), count(x.Used), count(x.Pending))
	}
	return t.end()
}
