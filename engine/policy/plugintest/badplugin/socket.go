package main

import (
	"encoding/binary"
	"net"
	"os"

	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/direct"
)

// greeted is closed when the socket of rounds is the plug-in's.
var greeted = make(chan struct{})

// answerOnSocket breaks the format of the socket of rounds, written down here without the package
// that has it.
func answerOnSocket(b plugintest.Behaviour) {
	file := os.NewFile(3, "rounds") // as direct.Key says
	socket, err := net.FileConn(file)
	if err != nil {
		panic(err)
	}
	file.Close()
	if _, err := socket.Write([]byte(direct.Greeting)); err != nil {
		panic(err)
	}
	close(greeted)
	round := make([]byte, 64<<10)
	for {
		if _, err := socket.Read(round); err != nil {
			return
		}
		if b == plugintest.SocketClosed {
			socket.Close()
			return
		}
		if _, err := socket.Write(answers[b]); err != nil {
			return
		}
	}
}

// answers are a code, a length and the content.
var answers = map[plugintest.Behaviour][]byte{
	plugintest.SocketGarbage: append(words(0, 5), "\xff\xff\xff\xff\xff"...),
	plugintest.SocketHuge:    words(0, 1<<32-1),
	plugintest.SocketLong:    words(10, 1<<32-1),
	plugintest.SocketHalf:    append(words(0, 100), "half"...),
}

func words(all ...uint32) (b []byte) {
	for _, n := range all {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}
