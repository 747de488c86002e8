// Equijoin joins orders with their customers, in the reduce. It has two inputs with a mapper each,
// and keys that sort a customer before its orders.
//
//	hamadryad local -- equijoin CUSTOMERS ORDERS OUTPUT
//
// A line of CUSTOMERS is "id,name", one of ORDERS is "order,customer id". A line of output is an
// order, a tab, and its customer's name. Orders of unknown customers are counted (ORDERS_OF_NOBODY)
// and left out.
package main

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func main() { app.Main(joined) }

var joined = job.Definition{
	Name: "equijoin",
	Help: "CUSTOMERS ORDERS OUTPUT  name the customer of each order",
	Build: func(g *job.Graph, args []string) error {
		if len(args) != 3 {
			return errors.New("give two inputs and the output folder: CUSTOMERS ORDERS OUTPUT")
		}
		j := mapreduce.Bytes{Reduce: join, Partition: byCustomer, Group: compareCustomers}
		return j.Add(g, args[2],
			mapreduce.Source{Patterns: args[:1], Map: mapLines(0, isCustomer)},
			mapreduce.Source{Patterns: args[1:2], Map: mapLines(1, isOrder)})
	},
}

// ordersOfNobody counts orders of unknown customers.
const ordersOfNobody = "ORDERS_OF_NOBODY"

// A key is the customer's id, a zero byte, and the value's source. So the customer, if there is
// one, is the first value of its group.
const (
	isCustomer = 'c'
	isOrder    = 'o'
)

func customerOf(key []byte) []byte { return key[:len(key)-2] }

func compareCustomers(a, b []byte) int { return bytes.Compare(customerOf(a), customerOf(b)) }

func byCustomer(key []byte, n int) int { return job.Partition(customerOf(key), n) }

// mapLines reads lines of two fields; field id is the customer's id.
func mapLines(id int, from byte) func(*mapreduce.Task, *mapreduce.Emitter) error {
	return func(t *mapreduce.Task, emit *mapreduce.Emitter) error {
		var key []byte
		for line, err := range t.Lines() {
			if err != nil {
				return err
			}
			fields := bytes.SplitN(line.Text, []byte(","), 2)
			if len(fields) != 2 || bytes.IndexByte(fields[id], 0) >= 0 {
				return fmt.Errorf("%q has no two fields with a comma between", line.Text)
			}
			key = append(append(key[:0], fields[id]...), 0, from)
			emit.Pair(key, fields[1-id])
		}
		return nil
	}
}

func join(t *mapreduce.Task, _ []byte, values *mapreduce.Values, out *mapreduce.Writer) error {
	var name []byte
	known := false
	for v, ok := values.Next(); ok; v, ok = values.Next() {
		key := values.Key()
		switch {
		case key[len(key)-1] == isCustomer && known:
			return fmt.Errorf("customer %q is there twice: %q and %q", customerOf(key), name, v)
		case key[len(key)-1] == isCustomer:
			name, known = bytes.Clone(v), true
		case known:
			out.Pair(v, name)
		default:
			t.Count(ordersOfNobody, 1)
		}
	}
	return nil
}
