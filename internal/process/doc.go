// Package process runs external commands for nodes, each in a process group of its own. They are
// fed and read through pipes. A command is ended softly, then hard, and nothing of it is left
// behind. It is for engines; a program calls job.Node.Run.
package process
