package layout

import (
	"fmt"
	"strconv"

	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// site holds the launcher's settings for all its workers' channels.
type site struct {
	fileCodec block.Codec // of file channels that choose none
	tcpCodec  block.Codec // of tcp channels that choose none
	tcpPorts  Ports       // on which groups listen for tcp channels
	spillMax  int64       // bytes of spills of one shm channel, and of all tcp channels of a group; 0: the channels' defaults
}

// parseSite reads the properties "file-codec", "tcp-codec", "tcp-ports" and "spill-max".
func parseSite(properties []*wire.Property) (site, error) {
	s := site{fileCodec: block.DefaultCodec, tcpCodec: block.None}
	for _, p := range properties {
		var err error
		switch p.Name {
		case "file-codec":
			s.fileCodec, err = block.ParseCodec(p.Value)
		case "tcp-codec":
			s.tcpCodec, err = block.ParseCodec(p.Value)
		case "tcp-ports":
			s.tcpPorts, err = ParsePorts(p.Value)
		case "spill-max":
			s.spillMax, err = strconv.ParseInt(p.Value, 10, 64)
		default:
			err = fmt.Errorf("unknown name; a launcher of this release sets file-codec, tcp-codec, tcp-ports and spill-max")
		}
		if err != nil {
			return s, fmt.Errorf("worker setting %s=%s: %w", p.Name, p.Value, err)
		}
	}
	return s, nil
}

// FileCodec is the codec of a file channel.
func (l *Layout) FileCodec(c Connection) block.Codec { return codecOf(c.Codec, l.site.fileCodec) }

// TCPCodec is the codec of a tcp channel.
func (l *Layout) TCPCodec(c Connection) block.Codec { return codecOf(c.Codec, l.site.tcpCodec) }

// TCPPorts are the ports on which groups listen for tcp channels.
func (l *Layout) TCPPorts() Ports { return l.site.tcpPorts }

// SpillMax is how many bytes one shm channel may spill, and all tcp channels that a group reads
// together; 0 for the channels' defaults.
func (l *Layout) SpillMax() int64 { return l.site.spillMax }

func codecOf(c wire.Codec, site block.Codec) block.Codec {
	switch c {
	case wire.Codec_CODEC_NONE:
		return block.None
	case wire.Codec_CODEC_LZ4:
		return block.LZ4
	case wire.Codec_CODEC_ZSTD:
		return block.ZSTD
	}
	return site
}
