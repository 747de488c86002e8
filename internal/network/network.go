// Package network gives tests separate machines as far as the network goes: network namespaces that
// a switch joins. Their addresses are unused elsewhere. Links are cut without notice to either end,
// as a broken switch or a firewall cuts them.
//
//	net, err := network.New("manager", "launcher0")
//	defer net.Close()
//	err = net.Inside("manager", cmd.Start)
//	err = net.Cut("launcher0")    // silence, both ways
//	err = net.Mend("launcher0")
//
// It needs Linux, root, and ip, tc and ss of iproute2.
package network

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Network is a switch with machines. Its methods are safe for concurrent use on
// different machines.
type Network struct {
	prefix   string
	machines []string
}

// count makes the names of this process's networks differ.
var count atomic.Int64

// machinesMax is how many addresses a network has.
const machinesMax = 250

// New makes a network with those machines. Close removes it; the processes inside
// must have ended.
func New(machines ...string) (*Network, error) {
	if len(machines) > machinesMax {
		return nil, fmt.Errorf("a network has at most %d machines, not %d", machinesMax, len(machines))
	}
	n := &Network{prefix: fmt.Sprintf("hamadryad-%d-%d-", os.Getpid(), count.Add(1)), machines: machines}
	if err := n.build(); err != nil {
		n.Close()
		return nil, fmt.Errorf("make network namespaces: %w: it needs root, and ip, tc and ss of iproute2, which \"make deps\" installs", err)
	}
	return n, nil
}

func (n *Network) build() error {
	var spaces, ports strings.Builder
	fmt.Fprintf(&spaces, "netns add %s\n", n.namespace("switch"))
	ports.WriteString("link add switch type bridge\nlink set switch up\n")
	for i, m := range n.machines {
		fmt.Fprintf(&spaces, "netns add %s\n", n.namespace(m))
		fmt.Fprintf(&ports, "link add %s type veth peer name eth0 netns %s\nlink set %[1]s master switch up\n", port(i), n.namespace(m))
	}
	if err := batch("", spaces.String()); err != nil {
		return err
	}
	if err := batch(n.namespace("switch"), ports.String()); err != nil {
		return err
	}
	for _, m := range n.machines {
		up := fmt.Sprintf("link set lo up\naddress add %s/24 dev eth0\nlink set eth0 up\n", n.Address(m))
		if err := batch(n.namespace(m), up); err != nil {
			return err
		}
	}
	return nil
}

// Close removes the network.
func (n *Network) Close() {
	for _, m := range append([]string{"switch"}, n.machines...) {
		_ = batch("", fmt.Sprintf("netns delete %s\n", n.namespace(m))) // it may never have been made
	}
}

func (n *Network) namespace(machine string) string { return n.prefix + machine }

// port is the switch's end of a machine's cable.
func port(i int) string { return fmt.Sprintf("port%d", i) }

func (n *Network) port(machine string) string { return port(slices.Index(n.machines, machine)) }

// Address is a machine's.
func (n *Network) Address(machine string) string {
	return fmt.Sprintf("10.9.8.%d", 1+slices.Index(n.machines, machine))
}

// Inside runs do on a machine: the processes that it starts, and the sockets that its goroutine
// makes, are there.
func (n *Network) Inside(machine string, do func() error) error {
	runtime.LockOSThread()
	own, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(own)
	there, err := unix.Open(filepath.Join("/run/netns", n.namespace(machine)), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(there)
	if err := unix.Setns(there, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace of %s: %w", machine, err)
	}
	err = do()
	if back := unix.Setns(own, unix.CLONE_NEWNET); back != nil {
		return errors.Join(err, back) // the thread stays locked: it ends with its goroutine
	}
	runtime.UnlockOSThread()
	return err
}

// nowhere is a hardware address that no machine has.
const nowhere = "02:00:00:00:00:99"

// Cut drops all traffic between a machine and all others.
func (n *Network) Cut(machine string) error {
	return errors.Join(n.Deafen(machine), n.Mute(machine, n.machines...))
}

// Deafen drops all traffic to a machine; what it sends arrives.
func (n *Network) Deafen(machine string) error {
	return n.setPort(machine, "flood off mcast_flood off bcast_flood off learning off fdb_flush")
}

// Mute drops the traffic from a machine to others; what they send arrives.
func (n *Network) Mute(machine string, to ...string) error {
	return n.neighbours(machine, to, func(address string) string {
		return fmt.Sprintf("neighbour replace %s lladdr %s dev eth0 nud permanent\n", address, nowhere)
	})
}

// Mend undoes Cut, Deafen and Mute of a machine.
func (n *Network) Mend(machine string) error {
	err := n.setPort(machine, "flood on mcast_flood on bcast_flood on learning on")
	return errors.Join(err, n.neighbours(machine, n.machines, func(address string) string {
		return fmt.Sprintf("neighbour flush to %s dev eth0 nud permanent\n", address)
	}))
}

// Slow delays and throttles the traffic from a machine; Hasten undoes it.
func (n *Network) Slow(machine string) error {
	return run("tc", "-n", n.namespace(machine), "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", "2mbit", "burst", "16kb", "latency", "200ms")
}

// Hasten undoes Slow.
func (n *Network) Hasten(machine string) error {
	return run("tc", "-n", n.namespace(machine), "qdisc", "delete", "dev", "eth0", "root")
}

// Reset breaks all connections of a machine, with a word to both ends.
func (n *Network) Reset(machine string) error {
	return run("ss", "-N", n.namespace(machine), "-K", "-t", "state", "established")
}

func (n *Network) setPort(machine, flags string) error {
	return batch(n.namespace("switch"), fmt.Sprintf("link set dev %s type bridge_slave %s\n", n.port(machine), flags))
}

func (n *Network) neighbours(machine string, to []string, line func(address string) string) error {
	var b strings.Builder
	for _, other := range to {
		if other != machine {
			b.WriteString(line(n.Address(other)))
		}
	}
	return batch(n.namespace(machine), b.String())
}

// batch runs lines of ip in a namespace, "" for this process's own.
func batch(namespace, lines string) error {
	args := []string{"-batch", "-"}
	if namespace != "" {
		args = append([]string{"-n", namespace}, args...)
	}
	cmd := exec.Command(program("ip"), args...)
	cmd.Stdin = strings.NewReader(lines)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// program finds a program, also where only root's PATH may lead.
func program(name string) string {
	if _, err := exec.LookPath(name); err == nil {
		return name
	}
	return filepath.Join("/usr/sbin", name)
}

func run(name string, args ...string) error {
	if out, err := exec.Command(program(name), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
