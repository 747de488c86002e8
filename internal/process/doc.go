// Package process runs external commands for nodes: in a process group of their
// own, fed and read through pipes, ended softly and then hard, with nothing left
// behind. It is for engines; a program calls job.Node.Run.
package process
