package layout

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"syscall"
)

// portMax is the largest port of TCP.
const portMax = 65535

// Ports are the ports on which groups listen for tcp channels. The zero value is any free port.
type Ports struct{ First, Last int }

// ParsePorts reads "FIRST-LAST", such as 20000-20999; "" is any free port.
func ParsePorts(text string) (Ports, error) {
	if text == "" {
		return Ports{}, nil
	}
	first, last, _ := strings.Cut(text, "-")
	var p Ports
	var errs [2]error
	p.First, errs[0] = strconv.Atoi(first)
	p.Last, errs[1] = strconv.Atoi(last)
	if errors.Join(errs[:]...) != nil || p.First < 1 || p.Last < p.First || p.Last > portMax {
		return Ports{}, fmt.Errorf("%q are no ports: write the first and the last, such as 20000-20999", text)
	}
	return p, nil
}

// Listen listens on a free port of the range. Groups begin their search at random, so that groups
// that start together rarely try the same port.
func (p Ports) Listen(host string) (net.Listener, error) {
	if p == (Ports{}) {
		return net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	all := p.Last - p.First + 1
	begin := rand.IntN(all)
	for i := range all {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(p.First+(begin+i)%all)))
		if !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
	}
	return nil, fmt.Errorf("all ports of launcher.channelPorts (%d-%d) are in use: give it one for each group that reads tcp channels at the same time, and a few more", p.First, p.Last)
}
